"""sim/scenario/schema."""
