"""The loop from program to measurement and back, until the plan holds: capacity, evidence, caches."""
