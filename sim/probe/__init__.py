"""Measure a live endpoint: latency, limits, errors, cost; within caps that are agreed before the first request."""
