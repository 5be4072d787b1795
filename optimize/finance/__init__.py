"""optimize/finance."""
