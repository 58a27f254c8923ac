"""Files inside packages, modules as targets, and the arguments of a server."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.loading import load, load_server
from dovetail.cli.sources import parse_source
from dovetail.client import Client
from dovetail.errors import TransportError, UsageError

UTIL = "NAME = 'from util'\n"
SERVER = """
import sys
from dovetail import Server
from .util import NAME
from shopkit.deep import OTHER

server = Server(NAME)
other = Server(OTHER)


@server.tool
def arguments() -> str:
    return " ".join(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `shopkit`, in the folder that the process is in."""
    folder = tmp_path / "shopkit"
    (folder / "deep").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "util.py").write_text(UTIL)
    (folder / "server.py").write_text(SERVER)
    (folder / "deep" / "__init__.py").write_text("OTHER = 'deep'\n")
    (folder / "deep" / "inner.py").write_text(
        "from dovetail import Server\nfrom ..util import NAME\nserver = Server('inner ' + NAME)\n"
    )
    (folder / "pair.py").write_text(
        "from dovetail import Server\na, b = Server('a'), Server('b')\n"
    )
    (folder / "bare.py").write_text("import util\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    path, modules = list(sys.path), set(sys.modules)
    yield folder
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def dovetail(*words: str, command: list[str] | None = None) -> Result:
    return CliRunner().invoke(app, list(words), obj=command or [])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("shopkit/server.py:server", "from util"),
        ("shopkit/deep/inner.py", "inner from util"),
        ("shopkit.server:server", "from util"),
        ("shopkit.deep.inner", "inner from util"),
    ],
)
def test_a_server_inside_a_package_has_relative_imports(text: str, name: str) -> None:
    assert load_server(text).name == name


def test_a_file_in_a_package_is_found_from_elsewhere(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    assert load_server(f"{package}/server.py:other").name == "deep"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("shopkit.sever", r"no module 'sever' in 'shopkit'; expected FILE\.py"),
        ("shopkit.util.more", r"no module 'shopkit\.util\.more': 'shopkit\.util' is no package"),
        ("nowhere.to.be:found", r"There is no module 'nowhere' in '/"),
        ("nowhere.to", r"not a Python file, nor a module in this folder; expected"),
        ("shopkit.pair", r"'shopkit\.pair' has 2 servers; choose one: shopkit\.pair:a, shopkit"),
        ("shopkit.util", r"'shopkit\.util' has no Server at its top level"),
    ],
)
def test_a_wrong_module_is_reported(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        load_server(text)


def test_a_neighbour_that_is_imported_by_its_bare_name_is_explained() -> None:
    with pytest.raises(TransportError, match=r"No module named 'util'") as caught:
        load_server("shopkit/bare.py")
    assert str(caught.value).endswith(
        "bare.py belongs to the package 'shopkit'; write: from . import util"
    )


def test_a_package_that_is_hidden_by_another_one_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "email"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "message.py").write_text("")
    with pytest.raises(UsageError, match=r"Python knows another module of that name.*rename"):
        load_server(str(folder / "message.py"))


@pytest.mark.parametrize("words", [["shopkit.server:server"], ["-m", "shopkit.server:server"]])
def test_client_commands_take_modules(words: list[str]) -> None:
    result = dovetail("call", *words, "arguments")
    assert (result.exit_code, result.stdout) == (0, "\n")


def test_a_module_is_started_as_a_process_too() -> None:
    result = dovetail("call", "--stdio", "shopkit.server:server", "arguments")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_name_on_the_path_is_a_command_unless_m_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Path("bin/shopkit.server")
    found.parent.mkdir()
    found.write_text("#!/bin/sh\nexit 3\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", f"{found.parent.resolve()}:{os.environ['PATH']}")
    assert "exited" in dovetail("list", "shopkit.server").stderr
    assert "arguments()" in dovetail("list", "-m", "shopkit.server").stdout


@pytest.mark.parametrize("words", [["run", "-m", "a.py"], ["list", "-m", "http://127.0.0.1/mcp"]])
def test_m_needs_a_module(words: list[str]) -> None:
    result = dovetail(*words)
    assert result.exit_code == 2
    assert "-m needs PACKAGE.MODULE[:NAME]" in result.stderr


def test_the_arguments_after_the_dashes_are_those_of_the_server() -> None:
    load("shopkit.server:server", arguments=["--repository", "x y"])
    assert sys.argv == ["shopkit.server", "--repository", "x y"]
    command = [sys.executable, "-m", "dovetail", "run", "-m", "shopkit.server:server"]

    async def use() -> str:
        async with Client([*command, "--", "--repository", "x"]) as client:
            return (await client.call("arguments")).text

    assert asyncio.run(use()) == "--repository x"
    # For commands that use a server it is the command that starts one.
    words = [*command, "--", "a", "b"]
    assert dovetail("call", "arguments", command=words).stdout == "a b\n"


def test_the_folder_of_a_module_is_that_of_its_package(package: Path) -> None:
    for text in ("shopkit.deep.inner", "shopkit/deep/inner.py"):
        source = parse_source(text)
        assert source is not None
        assert source.folder == package.resolve()
