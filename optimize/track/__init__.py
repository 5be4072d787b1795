"""A month after the plan: what engines and gateway measured, held against what was planned. Reads only."""
