"""Stores for state outside a request: interfaces and in-process implementations."""
