"""`Proxy`: a server that forwards everything to another server, of either era."""

from dovetail.compose.proxy.proxy import Proxy

__all__ = ["Proxy"]
