"""Which models may answer which task, by a table or by evaluations."""
