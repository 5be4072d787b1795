"""How a program whose hours are nearly separable is solved: base hosts first, then each hour alone."""
