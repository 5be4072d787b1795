"""One scenario asked many times: grids, samples, one input at a time, risk, levers. Each point is a full search with its proof."""
