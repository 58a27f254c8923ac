"""The page for users of FastMCP: its names are complete, ours exist, and both servers agree."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.cli.app import app as command_line
from dovetail.client import Client
from dovetail.errors import DovetailError, InvalidParamsError
from tests.contracts.documents import read_blocks
from tests.contracts.source_tree import ROOT
from tests.patience import CAP, wait_until

PAGE = ROOT / "docs" / "coming_from_fastmcp.md"
TEXT = PAGE.read_text("utf-8")
# A row of a table with three columns; its first column has names.
ROW = re.compile(r"^\| (`.+?) \| (.+?) \| (.*?) ?\|$", re.M)
ROWS = [(match[1], match[2], match[3]) for match in ROW.finditer(TEXT)]
NAME = re.compile(r"`([^`]+)`")

# -- our names ----------------------------------------------------------------------------------

OURS = sorted({name for _, ours, _ in ROWS for name in NAME.findall(ours)})
# Keywords that a function passes on as `**options: Unpack[...]`.
KEYWORDS = {
    "ToolOptions": dovetail.ToolOptions,
    "PromptOptions": dovetail.PromptOptions,
    "ResourceOptions": dovetail.ResourceOptions,
    "HttpAppOptions": dovetail.HttpAppOptions,
    "OpenApiOptions": importlib.import_module("dovetail_openapi").OpenApiOptions,
}


def find(path: str) -> Any:
    """Return what a dotted name of dovetail, or a name of another package, stands for."""
    first, _, rest = path.partition(".")
    if first.startswith("dovetail_"):
        return getattr(importlib.import_module(first), rest)
    found: Any = dovetail
    for step in path.split("."):
        if found is dovetail.Server and not hasattr(found, step):
            found = dovetail.Server("page")  # an attribute that `__init__` sets
        if inspect.ismodule(found) and not hasattr(found, step):
            importlib.import_module(f"{found.__name__}.{step}")
        found = getattr(found, step)
    return found


def takes(function: Any, keyword: str) -> bool:
    parameters = inspect.signature(function).parameters
    passed_on = re.findall(
        r"Unpack\[(\w+)\]", " ".join(str(p.annotation) for p in parameters.values())
    )
    return keyword in parameters or any(
        keyword in KEYWORDS[name].__annotations__ for name in passed_on
    )


@pytest.mark.parametrize("name", OURS)
def test_every_name_of_ours_exists(name: str) -> None:
    words = name.split()
    if words[0] == "dovetail":
        command = command_line.get_command(None, words[1])  # type: ignore[arg-type]
        assert command is not None
        options = {option for each in command.params for option in each.opts}
        subcommands = getattr(command, "commands", {})
        for word in words[2:]:
            assert word in options or word in subcommands, f"{name}: {word}"
        return
    match = re.fullmatch(r"([\w.]+)(?:\((\w+)=\))?", name)
    assert match is not None, f"{name} is neither a name nor a command"
    found = find(match[1])
    assert match[2] is None or takes(found, match[2]), name


def test_rows_without_a_counterpart_say_so() -> None:
    for theirs, ours, note in ROWS:
        assert NAME.search(ours) or ours == "no equivalent", (theirs, ours)
        assert NAME.search(ours) or note, f"{theirs}: say what to do instead"


# -- their names --------------------------------------------------------------------------------

VERSION = re.findall(r"FastMCP (\d+\.\d+)", TEXT)[0]
THEIRS = [name for theirs, _, _ in ROWS for name in NAME.findall(theirs)]
# Modules whose `__all__` is on the page.
MODULES = (
    "fastmcp",
    "fastmcp.server",
    "fastmcp.server.auth",
    "fastmcp.server.middleware",
    "fastmcp.server.providers",
    "fastmcp.server.providers.openapi",
    "fastmcp.server.transforms",
    "fastmcp.server.transforms.search",
    "fastmcp.client",
    "fastmcp.client.auth",
    "fastmcp.client.sampling",
    "fastmcp.client.transports",
    "fastmcp.apps",
    "fastmcp.dependencies",
    "fastmcp.prompts",
    "fastmcp.resources",
    "fastmcp.skills",
    "fastmcp.tools",
    "fastmcp.types",
)
# Folders without `__all__`: the classes of each module, by the end of their names.
FOLDERS = {
    "fastmcp.server.middleware": ("Middleware",),
    "fastmcp.server.auth.providers": ("Provider", "Verifier"),
}
# Modules without `__all__`, and the base of the classes that count.
EXCEPTIONS = "fastmcp.exceptions"
PARAMETERS = (
    "tool", "resource", "prompt", "mount", "run", "http_app", "custom_route", "from_openapi",
    "from_fastapi",
)  # fmt: skip


def _own_classes(module: Any) -> Iterator[type]:
    for name, value in vars(module).items():
        if inspect.isclass(value) and value.__module__ == module.__name__ and name[0] != "_":
            yield value


def _keywords(prefix: str, function: Any) -> Iterator[str]:
    for name, parameter in inspect.signature(function).parameters.items():
        if name != "self" and parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield f"{prefix}({name}=)"


def _commands(group: Any, path: str) -> Iterator[str]:
    for name in group:
        if not name.startswith("-"):
            commands = list(_commands(group[name], f"{path} {name}"))
            yield from commands or [f"{path} {name}"]


def collect_their_names() -> set[str]:
    fastmcp = pytest.importorskip("fastmcp")
    if not fastmcp.__version__.startswith(f"{VERSION}."):
        pytest.skip(f"the page is about FastMCP {VERSION}, installed is {fastmcp.__version__}")
    found: set[str] = set()
    for path in MODULES:
        found.update(importlib.import_module(path).__all__)
    for path, ends in FOLDERS.items():
        folder = Path(importlib.import_module(path).__path__[0])
        for file in folder.glob("[a-z]*.py"):
            module = importlib.import_module(f"{path}.{file.stem}")
            found.update(e.__name__ for e in _own_classes(module) if e.__name__.endswith(ends))
    errors = _own_classes(importlib.import_module(EXCEPTIONS))
    found.update(each.__name__ for each in errors if issubclass(each, Exception))
    found.update(("Audio", "File", "Image"))  # fastmcp.utilities.types
    for kind in (fastmcp.FastMCP, fastmcp.Context, fastmcp.Client):
        members = [name for name in dir(kind) if not name.startswith("_")]
        found.update(f"{kind.__name__}.{name}" for name in members)
    middleware = importlib.import_module("fastmcp.server.middleware").Middleware
    found.update(f"Middleware.{name}" for name in dir(middleware) if name.startswith("on_"))
    for kind in (fastmcp.FastMCP, fastmcp.Client):
        found.update(_keywords(kind.__name__, kind))
    for method in PARAMETERS:
        found.update(_keywords(f"FastMCP.{method}", getattr(fastmcp.FastMCP, method)))
    found.update(f"settings.{name}" for name in type(fastmcp.settings).model_fields)
    found.update(_commands(importlib.import_module("fastmcp.cli.cli").app, "fastmcp"))
    return found


def test_every_public_name_of_fastmcp_is_on_the_page() -> None:
    theirs = collect_their_names()
    assert sorted(theirs - set(THEIRS)) == []
    assert sorted(set(THEIRS) - theirs) == []
    assert sorted({name for name in THEIRS if THEIRS.count(name) > 1}) == []


# -- the two servers ----------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=CAP) as response:
            return bool(response.read() == b"ok")
    except OSError:
        return False


@contextmanager
def served(file: Path) -> Iterator[str]:
    port = _free_port()
    env = {**os.environ, "PORT": str(port), "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen([sys.executable, str(file)], env=env, stderr=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: process.poll() is not None or _answers(f"http://127.0.0.1:{port}/health")
        )
        assert process.poll() is None, f"{file.name} did not start"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    pytest.importorskip("fastmcp")
    folder = tmp_path_factory.mktemp("library")
    names = ("fastmcp_library.py", "library.py")
    for name in names:
        [block] = [b for b in read_blocks(TEXT) if b.text.startswith(f"# {name}\n")]
        (folder / name).write_text(block.text, "utf-8")
    with ExitStack() as stack:
        first, second = (stack.enter_context(served(folder / name)) for name in names)
        yield first, second


async def visit(url: str, mode: str) -> dict[str, Any]:
    """Return what a client of one server gets."""
    seen: dict[str, Any] = {"progress": [], "logs": 0}

    def on_log(message: Any) -> None:
        seen["logs"] += 1

    def on_progress(report: Any) -> None:
        seen["progress"].append((report.progress, report.total))

    ada, bob = ({"Authorization": f"Bearer token-of-{name}"} for name in ("ada", "bob"))
    async with Client(url, mode=mode, headers=ada, on_log=on_log, timeout=CAP) as client:
        seen["instructions"] = client.instructions
        seen["tools"] = {
            tool.name: (tool.description, tool.input_schema["properties"].keys())
            for tool in await client.list_tools()
        }
        seen["find"] = (await client.call("find", {"text": "m"}, progress=on_progress)).data
        for book in ("1", "9"):
            lent = await client.call("lend", {"book": book})
            seen[f"lend {book}"] = (lent.is_error, lent.text)
        seen["menu"] = (await client.call("cafe_menu")).data
        seen["recent"] = (await client.call("recent")).data[-5:]
        seen["resources"] = [each.uri for each in await client.list_resources()]
        seen["templates"] = [each.uri_template for each in await client.list_templates()]
        for uri in ("library://hours", "library://books/2"):
            read = await client.read(uri)
            seen[uri] = (read.text, read.contents[0].mime_type)
        seen["prompt"] = (await client.get_prompt("review", {"title": "Emma"})).messages
    async with Client(url, mode=mode, headers=bob, timeout=CAP) as client:
        seen["tools of bob"] = sorted(tool.name for tool in await client.list_tools())
        try:
            seen["bob lends"] = (await client.call("lend", {"book": "1"})).is_error
        except InvalidParamsError:
            seen["bob lends"] = True  # FastMCP answers with a result, dovetail with an error
    try:
        async with Client(url, mode=mode, timeout=CAP):
            seen["anonymous"] = "in"
    except DovetailError as error:
        seen["anonymous"] = "401" in str(error)
    return seen


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
def test_both_servers_give_the_same_results(mode: str, urls: tuple[str, str]) -> None:
    theirs, ours = (asyncio.run(visit(url, mode)) for url in urls)
    assert ours == theirs
    assert ours["find"] == ["Emma", "Middlemarch"]
    assert ours["progress"] == [(1, 3), (2, 3), (3, 3)] and ours["logs"] == 1
    assert ours["recent"] == ["find", "lend", "lend", "cafe_menu", "recent"]
    assert ours["tools of bob"] == ["cafe_menu", "find", "recent"]
    assert (ours["bob lends"], ours["anonymous"]) == (True, True)
