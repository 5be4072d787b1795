"""sim/catalog/refresh."""
