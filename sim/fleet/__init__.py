"""Pools and relays joined under one SimPy environment: requests in, request log out."""
