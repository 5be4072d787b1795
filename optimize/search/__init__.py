"""optimize/search."""
