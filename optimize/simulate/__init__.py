"""optimize/simulate."""
