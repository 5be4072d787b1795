"""sim/fleet."""
