"""A remote API: latency draws, limits, retries, outages, cache and token meter."""
