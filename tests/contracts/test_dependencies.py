"""Every library the project installs has its reason written down in docs/dependencies.md."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from tests.contracts.source_tree import ROOT, assert_none

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def required(project: dict[str, Any]) -> Iterator[str]:
    """The names of all requirements: run time, extras and groups."""
    extras = project["project"].get("optional-dependencies", {})
    groups = project.get("dependency-groups", {})
    for requirements in (project["project"]["dependencies"], *extras.values(), *groups.values()):
        for requirement in requirements:
            match = _NAME.match(requirement)
            if match is not None and match[0] != project["project"]["name"]:
                yield match[0].lower()


def unexplained(project: dict[str, Any], page: str) -> set[str]:
    """Requirements that the page never sets in bold at the start of a row or paragraph."""
    explained = {name.lower() for name in re.findall(r"^\|? ?\*\*([\w.-]+)\*\*", page, re.M)}
    return set(required(project)) - explained


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    assert_none(
        f"docs/dependencies.md does not explain {name}" for name in unexplained(project, page)
    )


def test_a_dependency_without_a_reason_is_caught() -> None:
    project = {
        "project": {
            "name": "dovetail",
            "dependencies": ["msgspec>=0.22,<0.24"],
            "optional-dependencies": {"vault": ["PyYAML"], "all": ["dovetail[vault]"]},
        },
        "dependency-groups": {"dev": ["jsonschema[format]>=4", "ruff"]},
    }
    page = "**msgspec** decodes.\n\n| **ruff** | lints |\nLike pyyaml in passing.\n"
    assert unexplained(project, page) == {"pyyaml", "jsonschema"}
