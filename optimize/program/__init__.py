"""The integer program: one file per constraint family, `solve` for the answer, `fluid` for the bound with ideal loads."""
