"""optimize/program/rows."""
