"""sim/relay."""
