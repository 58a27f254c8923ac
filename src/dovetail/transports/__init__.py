"""What carries the bytes."""

from dovetail.transports.stdio import serve_stdio

__all__ = ["serve_stdio"]
