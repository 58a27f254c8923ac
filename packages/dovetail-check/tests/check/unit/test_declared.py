from __future__ import annotations

from typing import Any

import pytest

from dovetail_check.declared import declares


@pytest.mark.parametrize(
    ("capabilities", "capability", "expected"),
    [
        ({"tools": {}}, "tools", True),
        ({"tools": {}}, "prompts", False),
        ({"tools": None}, "tools", False),
        ({"tools": False}, "tools", False),
        ({"resources": {"subscribe": True}}, "resources.subscribe", True),
        ({"resources": {"subscribe": False}}, "resources.subscribe", False),
        ({"resources": {}}, "resources.subscribe", False),
        ({"resources": 5}, "resources.subscribe", False),
        (None, "tools", False),
        (["tools"], "tools", False),
    ],
)
def test_what_is_declared(capabilities: Any, capability: str, expected: bool) -> None:
    assert declares(capabilities, capability) is expected
