"""The protocol as data."""
