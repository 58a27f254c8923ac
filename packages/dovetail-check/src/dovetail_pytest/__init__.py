"""The pytest plugin. It imports the checker only when the fixture is used.

It is a package of its own: pytest imports plugins at startup, and importing a module of
`dovetail_check` then would happen before coverage is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["mcp_check"]


@pytest.fixture
def mcp_check() -> Callable[..., Any]:
    """Check an MCP server against the specification; fails the test if there are findings.

    `mcp_check("python server.py", revision="latest", fail_on="should", skip=["tools.*"])`
    """
    __tracebackhide__ = True
    from dovetail_check.pytest_plugin import check_server  # noqa: PLC0415 - keeps pytest startup fast

    def check(*targets: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        problem = ""
        try:
            return check_server(*targets, **options)
        except AssertionError as error:
            problem = str(error)
        # Outside `except`, so that the report is not printed twice.
        pytest.fail(problem, pytrace=False)

    return check
