"""Checks of servers that other people wrote: `make audit`."""
