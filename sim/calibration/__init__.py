"""Step costs fitted to measured serving points, and validated against them."""
