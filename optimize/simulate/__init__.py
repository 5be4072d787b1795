"""A named or saved fleet simulated, and tried under stress."""
