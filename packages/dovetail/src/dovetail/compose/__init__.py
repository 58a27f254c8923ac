"""Servers made of other servers: mounts, proxies, OpenAPI, tool search."""

from dovetail.compose.mount.transform import ArgumentTransform, ToolTransform

__all__ = ["ArgumentTransform", "ToolTransform"]
