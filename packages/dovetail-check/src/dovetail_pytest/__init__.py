"""A pytest plugin that costs nothing where it is not used: dovetail is imported by the fixture.

It lies beside the package because importing anything inside it would import the package, before
pytest has begun to measure coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["mcp_check"]


@pytest.fixture
def mcp_check() -> Callable[..., Any]:
    """Check an MCP server against the specification; fails where it is broken.

    `mcp_check("python server.py", revision="latest", fail_on="should", skip=["tools.*"])`
    """
    __tracebackhide__ = True
    from dovetail_check.pytest_plugin import check_server  # noqa: PLC0415 - only where it is used

    def check(*targets: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        problem = ""
        try:
            return check_server(*targets, **options)
        except AssertionError as error:
            problem = str(error)
        # Outside of `except`, or the report would be printed twice.
        pytest.fail(problem, pytrace=False)

    return check
