"""The path below the mount point."""

from __future__ import annotations

import pytest

from dovetail.transports.asgi.messages import mount_point, relative_path


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        ("", "/mcp", "/mcp"),
        ("/tools", "/tools/mcp", "/mcp"),
        ("/tools/", "/tools/mcp/", "/mcp/"),
        ("/tools", "/tools", ""),
        # A server that removes the mount point.
        ("/tools", "/mcp", "/mcp"),
        ("/tools", "/toolshed", "/toolshed"),
    ],
)
def test_the_mount_point_is_removed_once(root: str, path: str, expected: str) -> None:
    assert relative_path({"path": path, "root_path": root}) == expected


def test_an_application_at_the_root_has_no_mount_point() -> None:
    assert mount_point({}) == ""
    assert mount_point({"root_path": "/tools/"}) == "/tools"
