"""sim/fleet/life."""
