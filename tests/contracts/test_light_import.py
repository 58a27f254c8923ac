"""`import dovetail` loads no library that only some servers need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = frozenset(
    {
        "attr",
        "attrs",
        "click",
        "cryptography",
        "httpx",
        "jsonschema_rs",
        "mcp",
        "pydantic",
        "rich",
        "starlette",
        "uvicorn",
    }
)

_PROBE = """
import sys
before = set(sys.modules)
{statement}
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}}))
"""


def loaded_by(statement: str) -> set[str]:
    """The top-level packages that a statement brings into a fresh interpreter."""
    probe = [sys.executable, "-c", _PROBE.format(statement=statement)]
    return set(subprocess.run(probe, capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = loaded_by("import dovetail")
    assert "dovetail" in loaded
    assert not HEAVY & loaded


def test_a_heavy_import_is_seen() -> None:
    assert HEAVY & loaded_by("import click.testing") == {"click"}
