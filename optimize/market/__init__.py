"""optimize/market."""
