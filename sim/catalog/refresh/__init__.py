"""New list prices of relays from an installed price package, as a diff to review."""
