"""Every command that installs something names a distribution of this project or a library that
docs/dependencies.md explains.

The package index has a `dovetail` that is not ours, so a wrong name runs a stranger's code.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT, assert_none

# What this project publishes, or will publish under a name that was free when it was chosen.
OURS = {
    f"dovetail-{name}"
    for name in (
        *("mcp", "check", "serverkit", "vault", "browser", "graph", "design"),
        *("console", "gateway", "openapi", "redis"),
    )
}
# Distribution -> why a line may name it although docs/dependencies.md does not explain it.
KNOWN = {
    "pip": "the installer itself",
    "build": "builds the releases",
}
PLACES = (
    *(
        "*.md",
        "Makefile",
        "action.yml",
        "pyproject.toml",
        ".github/**/*.yml",
        ".ci/*",
        "docs/**/*.md",
    ),
    *("examples/**/*", "tools/*", "qa/**/*.py", "qa/**/*.md"),
    *("packages/*/*.md", "packages/*/pyproject.toml", "packages/*/src/**/*.py"),
)
# qa/audits/requirements.txt is not among them: it lists the servers of other projects.

_COMMAND = re.compile(
    r"\b(?:pip3? install|uv add|uv tool (?:install|run)|pipx (?:run|install)|uvx)\b"
    # `uvx` and its arguments as a list, in JSON, TOML or Python
    r"(?P<list>\",?\s*(?:\"?args\"?\s*[:=]\s*)?\[?(?=\"))?"
)
_WORD = re.compile(r"""[ \t,]+(?:\\\n\s*)?|('[^'\n]*'|"[^"\n]*"|[^\s`'"#;&|)<>\]]+)""")
_REQUIREMENTS = re.compile(r"^(?:# )?(?:dependencies|requirements) = \[(.*?)\]", re.M | re.S)
_DISTRIBUTION = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*?)(?:\[(?P<extras>[\w,-]+)\])?(?:[<>=!~@; ].*)?"
)
_OPTIONS_WITH_VALUE = {
    "--group",
    "--constraint",
    "--requirement",
    "-r",
    "-c",
    "--prefix",
    "--python",
}
# These take one distribution; what follows are arguments of the program.
_RUNNERS = ("uvx", "run")


def find_requirements(text: str) -> Iterator[str]:
    """The requirements that a text installs or lists: `dovetail-mcp[all]>=1`."""
    for command in _COMMAND.finditer(text):
        words = _read_words(text[command.end() :])
        named = [word for word in words if not word.startswith(("{", "$", "."))]
        named = [word for word in named if "/" not in word]
        is_runner = command[0].split('"')[0].endswith(_RUNNERS)
        yield from named[:1] if is_runner else named
    for block in _REQUIREMENTS.finditer(text):
        yield from re.findall(r"\"([^\"]+)\"", block[1])


def _read_words(rest: str) -> Iterator[str]:
    position, is_value = 0, False
    while found := _WORD.match(rest, position):
        position = found.end()
        word = (found[1] or "").strip("'\"")
        if word.rstrip(".,:") and not is_value and not word.startswith("-"):
            yield word.rstrip(".,:")
        if word.endswith((".", ",", ":")):
            return
        is_value = word in _OPTIONS_WITH_VALUE or (is_value and not word)


def find_strange(requirement: str, known: Set[str], extras: Mapping[str, Set[str]]) -> str:
    """Why a requirement must not be installed; empty if it may be."""
    found = _DISTRIBUTION.fullmatch(requirement)
    name = "" if found is None else re.sub(r"[-_.]+", "-", found["name"]).lower()
    if found is None or name not in known:
        return f"{requirement!r} is neither ours nor in docs/dependencies.md"
    wanted = set((found["extras"] or "").split(",")) - {""}
    if name in extras and not wanted <= extras[name]:
        return f"{requirement!r}: {name} has no such extra"
    return ""


def read_texts(path: Path) -> Iterator[str]:
    """The text of a file; of Python files the strings, which are messages and docstrings."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Call) and "MissingPackageError" in ast.unparse(node.func):
            last = node.args[-1] if node.args else None
            if isinstance(last, ast.Constant) and isinstance(last.value, str):
                yield f"pip install '{last.value}'"


def read_known() -> tuple[set[str], dict[str, set[str]]]:
    """The names that may be installed, and the extras of our distributions."""
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    explained = {name.lower() for name in re.findall(r"^\|? ?\*\*([\w.-]+)\*\*", page, re.M)}
    projects = [
        tomllib.loads(file.read_text("utf-8"))["project"]
        for file in ROOT.glob("packages/*/pyproject.toml")
    ]
    extras = {each["name"]: set(each.get("optional-dependencies", ())) for each in projects}
    return OURS | KNOWN.keys() | explained, extras


def read_files() -> list[Path]:
    files = {path for place in PLACES for path in ROOT.glob(place) if path.is_file()}
    suffixes = {".md", ".yml", ".toml", ".py", ".sh", ".txt", ".json", ""}
    return sorted(path for path in files if path.suffix in suffixes)


def test_every_install_line_names_a_distribution_that_is_ours_or_known() -> None:
    known, extras = read_known()
    assert_none(
        f"{path.relative_to(ROOT)}: {reason}"
        for path in read_files()
        for text in read_texts(path)
        for requirement in find_requirements(text)
        if (reason := find_strange(requirement, known, extras))
    )


def test_what_is_published_is_in_the_list() -> None:
    assert read_known()[1].keys() <= OURS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$ pip install dovetail", ["dovetail"]),
        (
            "RUN pip install --no-cache-dir -r a.txt 'dovetail-mcp[all]' uvicorn && x",
            ["dovetail-mcp[all]", "uvicorn"],
        ),
        (
            "a cluster needs it: pip install 'dovetail-mcp[cluster]'. Then go on.",
            ["dovetail-mcp[cluster]"],
        ),
        ("`pip install dovetail-mcp` and a word", ["dovetail-mcp"]),
        ("a plain `pip install`. And more", []),
        ("uv add dovetail-mcp", ["dovetail-mcp"]),
        ("uvx --python 3.12 dovetail run dovetail-mcp", ["dovetail"]),
        ("pipx run dovetail check x", ["dovetail"]),
        ('{"command": "uvx", "args": ["dovetail", "run"]}', ["dovetail"]),
        ('command = "uvx"\nargs = ["dovetail", "run"]', ["dovetail"]),
        ('Proxy(["uvx", "dovetail", "run"])', ["dovetail"]),
        ("pip install ./packages/dovetail $PACKAGE {package}", []),
        ("pip install --quiet \\\n  dovetail", ["dovetail"]),
        ('# dependencies = ["dovetail>=1", "httpx"]', ["dovetail>=1", "httpx"]),
        ('dependencies = [\n  "dovetail",\n]\n', ["dovetail"]),
    ],
)
def test_requirements_are_found(text: str, found: list[str]) -> None:
    assert list(find_requirements(text)) == found


@pytest.mark.parametrize(
    "requirement",
    ["dovetail", "dovetail>=1", "dovetail[all]", "dovetail-mpc", "dovetail-mcp[al]", "!"],
)
def test_a_wrong_requirement_is_caught(requirement: str) -> None:
    assert find_strange(requirement, *read_known())


@pytest.mark.parametrize(
    "requirement", ["dovetail-mcp[all]>=0.1", "Dovetail_MCP", "httpx[http2]", "pyyaml"]
)
def test_a_known_requirement_passes(requirement: str) -> None:
    assert not find_strange(requirement, *read_known())
