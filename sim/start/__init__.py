"""sim/start."""
