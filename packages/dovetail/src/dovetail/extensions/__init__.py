"""Extensions of the protocol: what a client and a server can agree on beyond it."""

from dovetail.extensions.extension import Extension, method

__all__ = ["Extension", "method"]
