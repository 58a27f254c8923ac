"""Loading the server from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.cli.loading import load_server
from dovetail.errors import TransportError, UsageError

HEAD = "from dovetail import Server\n"


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "app.py") -> str:
    file = folder / name
    file.write_text(HEAD + text)
    return str(file)


def test_the_only_server_is_found_under_any_name(tmp_path: Path) -> None:
    file = write(tmp_path, "_spare = Server('spare')\nthing = other = Server('found')\n")
    assert load_server(file).name == "found"
    assert load_server(f"{file}:_spare").name == "spare"


def test_a_file_finds_its_neighbours_and_may_be_named_like_a_module(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_random.py").write_text("NAME = 'next door'\n")
    text = "from neighbour_of_random import NAME\nimport random\nserver = Server(NAME)\n"
    file = write(tmp_path, text, "random.py")
    assert load_server(file).name == "next door"


def test_several_servers_need_a_name(tmp_path: Path) -> None:
    file = write(tmp_path, "one = Server('1')\ntwo = Server('2')\n")
    with pytest.raises(
        UsageError, match=r"has 2 servers; choose one: .*app\.py:one, .*app\.py:two"
    ):
        load_server(file)
    assert load_server(f"{file}:two").name == "2"


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("", "", "no Server at its top level; add `server = dovetail.Server"),
        ("_s = Server('s')", "", "no Server at its top level; its servers: _s"),
        ("s = Server('s')", ":x", "has no Server named 'x', but nothing; its servers: s"),
        ("s = Server('s')\nx = 5", ":x", "has no Server named 'x', but a int; its servers: s"),
    ],
)
def test_a_missing_server_is_reported_with_the_alternatives(
    tmp_path: Path, text: str, name: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        load_server(write(tmp_path, text) + name)


@pytest.mark.parametrize("text", ["nope.py", "/no/such/folder/x.py:app"])
def test_a_missing_file_is_reported(text: str) -> None:
    with pytest.raises(UsageError, match="There is no file"):
        load_server(text)


def test_other_file_types_are_rejected() -> None:
    with pytest.raises(UsageError, match=r"'README\.md' is not a Python file"):
        load_server("README.md")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 +", "SyntaxError"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("def f():\n    raise LookupError('lost')\nf()", "LookupError: lost"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_the_traceback_of_a_broken_file_shows_only_its_frames(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(TransportError, match="failed to load") as caught:
        load_server(write(tmp_path, text))
    assert told in str(caught.value)
    assert "importlib" not in str(caught.value)
    assert "loading.py" not in str(caught.value)
