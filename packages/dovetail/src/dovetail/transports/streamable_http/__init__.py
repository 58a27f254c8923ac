"""Streamable HTTP: one URL, both eras."""
