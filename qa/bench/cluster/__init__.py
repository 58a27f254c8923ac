"""What a cluster adds to a call."""
