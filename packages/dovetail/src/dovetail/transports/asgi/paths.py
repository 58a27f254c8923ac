"""Paths of requests to an application that may be mounted in another one."""

from __future__ import annotations

from dovetail.transports.asgi.messages import Scope

__all__ = ["mount_point", "relative_path"]


def mount_point(scope: Scope) -> str:
    """The path at which the application is mounted, without a slash at its end."""
    root: str = scope.get("root_path", "")
    return root.rstrip("/")


def relative_path(scope: Scope) -> str:
    """The path of a request below the mount point; its slashes are kept."""
    path: str = scope["path"]
    root = mount_point(scope)
    # Some servers keep the mount point in the path, others remove it.
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root) :]
    return path
