"""A first scenario from what people have: answers to a few questions, a bill, a log or a usage export."""
