"""A scenario from what people have: options, a bill, a log."""
