"""What carries the bytes."""
