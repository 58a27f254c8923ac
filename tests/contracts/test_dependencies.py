"""Every library is declared by the packages that import it, and docs/dependencies.md says why."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Set
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from tests.contracts.source_tree import (
    ROOT,
    Kind,
    Module,
    assert_none,
    find_imports,
    load_packages,
    write_package,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

# An editable package does not say which modules it has.
DISTRIBUTIONS = {"dovetail": ["dovetail-mcp"]}
# Library -> why packages may import it without declaring it.
UNDECLARED = {"pytest": "dovetail_pytest is a plugin, which only pytest imports"}

Project = Mapping[str, Any]


def read_projects() -> dict[Path, Project]:
    """The pyproject.toml of each package, by the package's folder."""
    files = sorted(ROOT.glob("packages/*/pyproject.toml"))
    return {file.parent: tomllib.loads(file.read_text("utf-8")) for file in files}


def read_requirements(project: Project) -> Iterator[str]:
    """All requirements: dependencies, extras and groups."""
    table = project.get("project", {})
    yield from table.get("dependencies", ())
    for requirements in table.get("optional-dependencies", {}).values():
        yield from requirements
    for requirements in project.get("dependency-groups", {}).values():
        # A table includes another group.
        yield from (item for item in requirements if isinstance(item, str))


def read_name(requirement: str) -> str:
    """The normalized name of the library in a requirement."""
    found = _NAME.match(requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def find_unexplained(names: Set[str], page: str) -> set[str]:
    """Names that the page never sets in bold at the start of a row or paragraph."""
    explained = {read_name(name) for name in re.findall(r"^\|? ?\*\*([\w.-]+)\*\*", page, re.M)}
    return set(names) - explained


def find_undeclared(modules: Mapping[str, Module], declared: Set[str]) -> Iterator[str]:
    """Imports of libraries that are not in `declared`; imports for type checkers do not count."""
    distributions = {**packages_distributions(), **DISTRIBUTIONS}
    for module in modules.values():
        for found in find_imports(module):
            library = found.target.partition(".")[0]
            if found.kind is Kind.TYPING or library in sys.stdlib_module_names | modules.keys():
                continue
            names = {read_name(name) for name in distributions.get(library, [library])}
            if not names & declared and not names & UNDECLARED.keys():
                yield f"{found}, but pyproject.toml does not declare it"


def test_every_dependency_is_explained() -> None:
    projects = read_projects()
    own = {project["project"]["name"] for project in projects.values()}
    root = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = {
        read_name(requirement)
        for project in (root, *projects.values())
        for requirement in read_requirements(project)
    }
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    assert_none(
        f"docs/dependencies.md does not explain {name}"
        for name in sorted(find_unexplained(names - own, page))
    )


def test_every_imported_library_is_declared() -> None:
    for folder, project in read_projects().items():
        declared = {read_name(requirement) for requirement in read_requirements(project)}
        own = {
            name: module
            for name, module in load_packages().items()
            if module.path.is_relative_to(folder)
        }
        assert_none(find_undeclared(own, declared))


def test_a_library_has_the_same_range_in_every_package() -> None:
    ranges: dict[str, set[str]] = {}
    for project in read_projects().values():
        for requirement in read_requirements(project):
            found = re.fullmatch(r"[\w.-]+(?:\[[\w,-]+\])?(.*)", requirement)
            assert found is not None, requirement
            ranges.setdefault(read_name(requirement), set()).add(found[1])
    assert_none(f"{name}: {sorted(found)}" for name, found in ranges.items() if len(found) > 1)


def test_the_packages_require_each_other_at_their_own_version() -> None:
    projects = [project["project"] for project in read_projects().values()]
    versions = {project["version"] for project in projects}
    own = {project["name"] for project in projects}
    assert len(versions) == 1
    assert_none(
        f"{project['project']['name']}: {requirement}"
        for project in read_projects().values()
        for requirement in read_requirements(project)
        if read_name(requirement) in own and not requirement.endswith(f"=={min(versions)}")
    )


def test_a_dependency_without_an_explanation_is_caught() -> None:
    project = {
        "project": {
            "dependencies": ["msgspec>=0.22,<0.24"],
            "optional-dependencies": {"vault": ["PyYAML"]},
        },
        "dependency-groups": {"dev": ["jsonschema[format]>=4", "ruff", "jsonschema_rs"]},
    }
    names = {read_name(requirement) for requirement in read_requirements(project)}
    page = "**msgspec** decodes.\n\n| **ruff** | lints |\n**jsonschema-rs** is fast. Like pyyaml.\n"
    assert find_unexplained(names, page) == {"pyyaml", "jsonschema"}


def test_an_undeclared_import_is_caught(tmp_path: Path) -> None:
    source = (
        "import os, msgspec, click.testing\nfrom dovetail.wire import codec\nimport pytest\n"
        "if TYPE_CHECKING:\n    import pydantic\n\ndef run():\n    import yaml, ghost\n"
    )
    modules = write_package(tmp_path, {"__init__.py": "", "core/a.py": source})
    caught = [line.partition(": ")[2] for line in find_undeclared(modules, {"msgspec", "pyyaml"})]
    assert caught == [
        "dovetail.core.a imports click.testing, but pyproject.toml does not declare it",
        "dovetail.core.a imports ghost (lazy), but pyproject.toml does not declare it",
    ]
