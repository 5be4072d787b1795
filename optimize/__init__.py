"""Which fleet to buy: market, program, search, and what surrounds a plan."""
