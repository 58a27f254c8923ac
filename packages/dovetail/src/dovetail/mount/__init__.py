"""`server.mount()`: serve the tools, prompts and resources of another server."""

from dovetail.mount.view import ArgumentTransform, ToolTransform

__all__ = ["ArgumentTransform", "ToolTransform"]
