"""Lines to a server: bytes out, bytes in, every one of them recorded."""
