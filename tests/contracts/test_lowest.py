"""Constraints for the oldest allowed versions name every library that has a lower bound."""

from __future__ import annotations

import pytest

from tools.lowest import find_floors


def test_each_lower_bound_becomes_a_pin() -> None:
    project = {
        "project": {
            "dependencies": [
                "dovetail-mcp==0.1.0",
                "msgspec>=0.22,<0.24",
                "uvloop>=0.21,<1; sys_platform != 'win32'",
                "jsonschema[format]>=4.25",
            ],
            "optional-dependencies": {"traces": ["opentelemetry-api>=1.30,<2"]},
        }
    }
    assert list(find_floors(project)) == [
        "msgspec==0.22",
        "uvloop==0.21; sys_platform != 'win32'",
        "jsonschema==4.25",
        "opentelemetry-api==1.30",
    ]


def test_a_requirement_without_a_lower_bound_is_refused() -> None:
    with pytest.raises(SystemExit, match="'click<9' has no lower bound"):
        list(find_floors({"project": {"dependencies": ["click<9"]}}))
