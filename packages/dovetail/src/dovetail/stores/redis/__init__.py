"""Stores on Redis, which several processes and machines share."""
