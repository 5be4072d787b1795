"""optimize/audit."""
