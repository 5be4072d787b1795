"""optimize/tables."""
