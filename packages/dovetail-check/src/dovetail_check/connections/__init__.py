"""Connections to a server that record every byte in both directions."""
