"""Benchmark files that people already have: one small reader per format, all giving `Measurement` records."""
