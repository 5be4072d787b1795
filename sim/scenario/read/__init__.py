"""sim/scenario/read."""
