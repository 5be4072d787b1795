"""One replica: memory, step cost, the compiled scheduler kernel, the pool."""
