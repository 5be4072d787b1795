"""optimize/finance/commitment."""
