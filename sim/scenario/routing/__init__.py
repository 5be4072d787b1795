"""sim/scenario/routing."""
