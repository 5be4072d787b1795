"""Why this plan, and why none: what binds, what one unit more is worth, who causes which cost, what limits each pool, what flips it."""
