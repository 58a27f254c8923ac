"""Loading the server from a file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Host, Mount, Route

from dovetail import Server
from dovetail.cli.loading import find_endpoints, is_asgi_app, is_inside, load, load_server
from dovetail.errors import MissingPackageError, TransportError, UsageError
from dovetail.transports.wrappers import PathRouter

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
    ("text", "found"),
    [
        ("a = Server('inner')\nb = Server('outer')\nb.mount(a, 'x')\n", "outer"),
        ("one = Server('1')\nmcp = Server('2')\n", "2"),
        ("app = Server('1')\nserver = Server('2')\nthird = Server('3')\n", "2"),
        ("server = Server('1')\nouter = Server('2')\nouter.mount(server, 'x')\n", "2"),
    ],
)
def test_one_of_several_servers_is_preferred(tmp_path: Path, text: str, found: str) -> None:
    assert load_server(write(tmp_path, text)).name == found


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("", "", "no Server at its top level; add `server = dovetail.Server"),
        ("_s = Server('s')", "", "no Server at its top level; its servers: _s"),
        ("s = Server('s')", ":x", "has no Server named 'x'; its servers: s"),
        ("s = Server('s')\nx = 5", ":x", "has no Server named 'x': it is an int; its servers: s"),
    ],
)
def test_a_missing_server_is_reported_with_the_alternatives(
    tmp_path: Path, text: str, name: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        load_server(write(tmp_path, text) + name)


FACTORIES = """
def create_server() -> Server:
    return Server('made')

async def later():
    return Server('later')

class Own(Server):
    def __init__(self):
        super().__init__('own')

def wrong():
    return 5

def needs(name):
    return Server(name)

def broken():
    raise LookupError('lost')
"""


@pytest.mark.parametrize(
    ("name", "found"),
    [("", "made"), (":create_server", "made"), (":later", "later"), (":Own", "own")],
)
def test_a_factory_is_called(tmp_path: Path, name: str, found: str) -> None:
    assert load_server(write(tmp_path, FACTORIES) + name).name == found


def test_an_async_factory_runs_where_the_caller_says(tmp_path: Path) -> None:
    text = (
        "import asyncio\nasync def make():\n    return Server(str(id(asyncio.get_running_loop())))"
    )
    with asyncio.Runner() as runner:
        loaded = load(write(tmp_path, text) + ":make", runner.run)
        assert loaded.server.name == str(id(runner.get_loop()))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (":wrong", r"wrong\(\) in .* returned an int; expected a Server or an ASGI application"),
        (":needs", "has no Server named 'needs': it is a function; its factories: create_server"),
    ],
)
def test_a_factory_that_does_not_fit_is_reported(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        load_server(write(tmp_path, FACTORIES) + name)


def test_a_factory_that_fails_is_reported_with_its_own_frames(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="LookupError: lost") as caught:
        load_server(write(tmp_path, FACTORIES) + ":broken")
    assert "loading.py" not in str(caught.value)


def test_several_factories_need_a_name(tmp_path: Path) -> None:
    text = f"{FACTORIES}\ncreate_app = lambda: Server('app')\n"
    with pytest.raises(UsageError, match=r"2 factories; choose one: .*:create_server, .*:create_a"):
        load_server(write(tmp_path, text))


APP = """
from fastapi import FastAPI

def build(*names):
    api = FastAPI()
    for name in names:
        api.mount(f"/{name}", Server(name).http_app())
    return api
"""


def test_an_application_is_loaded_with_its_server(tmp_path: Path) -> None:
    text = f"{APP}\napp = build('inner')\nplain = FastAPI()\n"
    file = write(tmp_path, text)
    for name in ("", ":app"):
        loaded = load(file + name)
        assert loaded.server.name == "inner"
        assert loaded.app is not None
        assert [endpoint.path for endpoint in loaded.endpoints] == ["/inner/mcp"]
    with pytest.raises(UsageError, match=r"'plain' in .* contains no server; mount"):
        load(f"{file}:plain")


def test_the_outermost_application_is_chosen(tmp_path: Path) -> None:
    wrapped = "from starlette.middleware.gzip import GZipMiddleware\nouter = GZipMiddleware(app)\n"
    loaded = load(write(tmp_path, f"{APP}\napp = build('inner')\n{wrapped}"))
    assert type(loaded.app).__name__ == "GZipMiddleware"


def test_several_applications_need_a_name(tmp_path: Path) -> None:
    text = f"{APP}\none = build('1')\ntwo = build('2', '3')\n"
    file = write(tmp_path, text)
    with pytest.raises(UsageError, match=r"has 2 applications; choose one: .*:one, .*:two"):
        load(file)
    assert len(load(f"{file}:two").servers) == 2
    with pytest.raises(UsageError, match=r"contains 2 servers \(2, 3\); name one of them"):
        load_server(f"{file}:two")


def test_a_server_comes_before_factories_and_applications(tmp_path: Path) -> None:
    text = f"{FACTORIES}{APP}\napp = build('inner')\nserver = Server('first')\n"
    assert load_server(write(tmp_path, text)).name == "first"
    text = f"{FACTORIES}{APP}\napp = build('inner')\n"
    assert load_server(write(tmp_path, text)).name == "made"


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


def test_a_missing_extra_is_named_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "server.py"
    file.write_text("from dovetail.observability import Traces\nTraces()\n")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'dovetail-mcp\[traces\]'$"):
        load(str(file))


ONE, TWO = Server("one").http_app(), Server("two").http_app("/two")


async def front(scope: Any, receive: Any, send: Any) -> None:
    """As in front of Django: another application of the module, chosen by path."""
    await (ONE if scope["path"] == "/mcp" else elsewhere)(scope, receive, send)


async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404})


def closed_over(app: Any) -> Any:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    return inner


def make_fastapi() -> FastAPI:
    api = FastAPI()
    api.router.routes.append(Route("/mcp", ONE))
    api.mount("/tools", TWO)
    api.add_middleware(GZipMiddleware)
    api.get("/health")(lambda: "well")
    return api


@pytest.mark.parametrize(
    ("app", "paths"),
    [
        (ONE, ["/mcp"]),
        (make_fastapi(), ["/mcp", "/tools/two"]),
        (Starlette(routes=[Mount("/a", Starlette(routes=[Mount("/b", ONE)]))]), ["/a/b/mcp"]),
        (Starlette(routes=[Mount("/a", routes=[Route("/mcp", ONE)])]), ["/a/mcp"]),
        (Starlette(routes=[Host("a.example", ONE)]), ["/mcp"]),
        (GZipMiddleware(GZipMiddleware(ONE)), ["/mcp"]),
        (PathRouter({"/two": TWO}), ["/two"]),
        (front, ["/mcp"]),
        (closed_over(closed_over(TWO)), ["/two"]),
        (elsewhere, []),
        (FastAPI(), []),
    ],
)
def test_endpoints_are_found_with_their_paths(app: Any, paths: list[str]) -> None:
    assert is_asgi_app(app)
    assert [endpoint.path for endpoint in find_endpoints(app)] == paths


def test_an_application_that_contains_itself_is_walked_once() -> None:
    site = Starlette(routes=[Mount("/mcp", ONE)])
    site.router.routes.append(Mount("/again", site))
    assert [endpoint.path for endpoint in find_endpoints(site)] == ["/mcp/mcp"]


@pytest.mark.parametrize(
    "value", [None, 5, Server("x"), Server, FastAPI, make_fastapi, print, lambda a, b, c: None]
)
def test_other_values_are_no_applications(value: Any) -> None:
    assert not is_asgi_app(value)


def test_an_inner_application_is_known_from_its_outer_one() -> None:
    wrapped = GZipMiddleware(ONE)
    assert is_inside(ONE, wrapped)
    assert not is_inside(wrapped, wrapped)
    assert not is_inside(TWO, wrapped)
