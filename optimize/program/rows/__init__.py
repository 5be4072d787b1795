"""The rows of the program, one file per family, each with its inequality in the docstring."""
