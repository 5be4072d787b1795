"""optimize/program/by_stages."""
