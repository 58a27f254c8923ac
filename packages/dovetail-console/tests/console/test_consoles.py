from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail import Server
from dovetail.auth import Guard, Limits
from dovetail.cli.run_http import add_console, make_app, watch_guard
from dovetail.cli.settings import HttpSettings, WorkerSettings
from dovetail.errors import MissingPackageError, UsageError
from dovetail_console.app import ConsoleApp
from dovetail_console.watching import WatchedAuth


def build(settings: HttpSettings, guard: Any = None) -> Any:
    server = Server("shop", guard=guard)
    app = server.http_app()
    return add_console(app, {"": (server, app)}, settings, "shop.py")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, True),
        ({"console": True}, True),
        ({"console": False}, False),
        ({"host": "::1"}, True),
        ({"host": "localhost"}, True),
        ({"app": {"allowed_hosts": ["localhost"]}}, True),
        # Another name or several processes: this is a deployment.
        ({"app": {"allowed_hosts": ["shop.example"]}}, False),
        ({"app": {"allowed_hosts": ["shop.example"]}, "console": True}, True),
        ({"workers": 2}, False),
        ({"host": "0.0.0.0"}, False),
        ({"host": "shop.example"}, False),
    ],
)
def test_the_console_is_on_where_only_this_machine_can_connect(
    settings: dict[str, Any], expected: bool
) -> None:
    assert isinstance(build(HttpSettings(**settings)), ConsoleApp) is expected


class FakeGuard(Guard):
    requires_auth = True


def test_elsewhere_it_needs_a_guard_that_authenticates() -> None:
    settings = HttpSettings(host="0.0.0.0", console=True)
    for guard in (None, Guard(limits=Limits())):
        with pytest.raises(UsageError, match="open to everybody"):
            build(settings, guard)
    assert isinstance(build(settings, FakeGuard()), ConsoleApp)


def test_an_endpoint_at_the_path_of_the_page_turns_it_off() -> None:
    server = Server("shop")
    app = server.http_app("/console")
    served = {"": (server, app)}
    assert add_console(app, served, HttpSettings()) is None
    with pytest.raises(UsageError, match="another one"):
        add_console(app, served, HttpSettings(console=True))


def test_watching_needs_the_console_and_one_process() -> None:
    with pytest.raises(UsageError, match="add --console"):
        build(HttpSettings(console=False, watch=True))
    with pytest.raises(UsageError, match="leave out --workers"):
        build(HttpSettings(console=True, watch=True, workers=2))
    assert isinstance(build(HttpSettings(watch=True)), ConsoleApp)


def test_all_workers_have_the_same_token() -> None:
    def build_with(key: str) -> Any:
        worker = WorkerSettings(
            listener=3, report=4, state_key=key, folder="/tmp", log_format="text"
        )
        return build(HttpSettings(console=True, workers=2, worker=worker))

    one, other, third = build_with("00" * 32), build_with("00" * 32), build_with("01" * 32)
    tokens = [app._site.token for app in (one, other, third)]
    assert tokens[0] == tokens[1] != tokens[2]
    assert all(app._site.is_shared for app in (one, other))


def test_a_guard_is_watched_if_there_is_one() -> None:
    assert watch_guard(None) is None
    assert isinstance(watch_guard(Guard()), WatchedAuth)


def test_a_client_that_starts_servers_gets_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [server] = build(HttpSettings())._site.servers
    assert server.file == "shop.py"
    assert server.command == (sys.executable, "-m", "dovetail", "run", str(tmp_path / "shop.py"))


@pytest.fixture
def _not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dovetail_console.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dovetail_console", None)


@pytest.mark.usefixtures("_not_installed")
def test_without_the_package_there_is_no_console_and_no_error_by_default() -> None:
    assert build(HttpSettings()) is None


@pytest.mark.usefixtures("_not_installed")
@pytest.mark.parametrize("settings", [{"console": True}, {"watch": True}])
def test_without_the_package_the_options_say_what_to_install(settings: dict[str, Any]) -> None:
    with pytest.raises(MissingPackageError, match=r"pip install dovetail-console$"):
        build(HttpSettings(**settings))
    with pytest.raises(MissingPackageError, match=r"pip install dovetail-console$"):
        make_app(Server("shop"), "/mcp", Guard(), HttpSettings(watch=True))


@pytest.mark.usefixtures("_not_installed")
def test_without_the_package_an_application_has_no_console() -> None:
    server = Server("shop")
    server.http_app()
    with pytest.raises(MissingPackageError, match=r"pip install dovetail-console$"):
        server.http_app(console=True)
