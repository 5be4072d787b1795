"""Relay prices of the catalogue against a price package on this machine: what changed, as an edit of the file. No network."""
