"""What a cluster promises, measured with four processes behind haproxy: `make cluster`."""
