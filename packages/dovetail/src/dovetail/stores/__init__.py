"""What is kept or carried outside a request: interfaces and embedded defaults."""
