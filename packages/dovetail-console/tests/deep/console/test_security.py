"""What the console refuses, over real HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.console.console_client import ConsoleClient
from tests.console.serving import Served, serve_file, serve_source
from tests.patience import CAP

MARKUP = "<img src=x onerror=alert(1)></script><script>alert(1)</script>"
SOURCE = f"""
from dovetail import Server

server = Server("shop", version={MARKUP!r}, title={MARKUP!r})

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""
FRAMES = {"frames": [], "revision": "2025-11-25"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_source(SOURCE, tmp_path_factory.mktemp("shop")) as served:
        yield served


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[ConsoleClient]:
    client = ConsoleClient(served.base)
    yield client
    client.close()


def test_a_browser_is_redirected_and_other_clients_are_not(served: Served) -> None:
    html = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = httpx.get(f"{served.base}/", headers=html, timeout=CAP)
    assert (answer.status_code, answer.headers["location"]) == (302, "console/")
    assert httpx.get(f"{served.base}/", timeout=CAP).status_code == 404
    stream = {"Accept": "text/html, text/event-stream"}
    assert httpx.get(f"{served.base}/", headers=stream, timeout=CAP).status_code == 404


@pytest.mark.parametrize(
    "path", ["/console/", "/console/api/config", "/console/none.js", "/console/callback"]
)
def test_every_response_forbids_framing_foreign_scripts_and_sniffing(
    client: ConsoleClient, path: str
) -> None:
    headers = client.http.get(path, headers={"X-Console-Token": client.token}).headers
    policy = headers["content-security-policy"].split("; ")
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "base-uri 'none'" in policy
    assert "form-action 'self'" in policy
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_markup_of_a_server_is_json_and_never_in_the_page(client: ConsoleClient) -> None:
    answer = client.get("config")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.text)["servers"][0]["title"] == MARKUP
    assert MARKUP not in client.http.get("/console/").text


@pytest.mark.parametrize("name", ["config", "traffic", "check", "evidence", "sign-in", "test"])
def test_a_request_without_the_token_is_refused(client: ConsoleClient, name: str) -> None:
    for headers in ({}, {"X-Console-Token": "wrong"}, {"X-Console-Token": client.token + "x"}):
        for method in ("GET", "POST"):
            answer = client.http.request(method, f"/console/api/{name}", headers=headers)
            assert answer.status_code == 403
            assert "X-Console-Token" in answer.json()["error"]


def test_a_page_of_another_site_cannot_post(client: ConsoleClient) -> None:
    # As a form of another site would: without the token, and with any content type.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json"):
        headers = {"Origin": "https://evil.example", "Content-Type": kind}
        answer = client.http.post("/console/api/evidence", content=b"{}", headers=headers)
        assert answer.status_code == 403
    own = {"X-Console-Token": client.token}
    # Even with the token.
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = client.http.post("/console/api/evidence", json=FRAMES, headers={**own, **headers})
        assert answer.status_code == 403
    assert client.http.get("/console/", headers={"Origin": "null"}).status_code == 403
    preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = client.http.options("/console/api/evidence", headers=preflight)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_api_takes_json_only(client: ConsoleClient) -> None:
    headers = {"X-Console-Token": client.token, "Content-Type": "text/plain"}
    answer = client.http.post("/console/api/evidence", content=b"{}", headers=headers)
    assert answer.status_code == 415


@pytest.mark.parametrize("path", ["/", "/console/", "/console/style.css", "/console/api/config"])
def test_a_name_that_is_bound_to_this_address_is_refused(client: ConsoleClient, path: str) -> None:
    headers = {"Host": "evil.example", "Accept": "text/html", "X-Console-Token": client.token}
    answer = client.http.get(path, headers=headers)
    assert answer.status_code == 403
    assert client.token not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/console/../app.py",
        "/console/..%2fapp.py",
        "/console/%2e%2e/app.py",
        "/console//etc/passwd",
        "/console/js/../../app.py",
        "/console/..\\app.py",
        "/console/js",
        "/console/index.html/",
        "/console/%00",
    ],
)
def test_a_path_cannot_leave_the_files_of_the_page(served: Served, path: str) -> None:
    host, port = served.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=CAP) as raw:
        # By hand, because clients normalize paths.
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := raw.recv(65536):
            answer += piece
    assert answer.split(b" ")[1] == b"404"
    assert b"ConsoleApp" not in answer
    assert b"root:" not in answer


def test_another_address_needs_a_guard(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    command = [sys.executable, "-m", "dovetail", "run", str(file), "--http", "0.0.0.0:0"]
    refused = subprocess.run(
        [*command, "--console"], capture_output=True, text=True, timeout=CAP, check=False
    )
    assert refused.returncode == 2
    assert "would be open to everybody" in refused.stderr
    assert "--keys" in refused.stderr


def test_another_address_has_no_console_by_default(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    with serve_file(file, port="0.0.0.0:0") as served:
        port = served.base.rpartition(":")[2]
        answer = httpx.get(f"http://127.0.0.1:{port}/console/", timeout=CAP)
        assert answer.status_code == 404
        assert not any("Console:" in line for line in served.lines)


def test_the_guard_applies_to_the_api(tmp_path: Path) -> None:
    file, keys = tmp_path / "shop.py", tmp_path / "keys.toml"
    file.write_text(SOURCE)
    made = subprocess.run(
        [sys.executable, "-m", "dovetail", "keys", "add", "me", "--file", str(keys), "--json"],
        capture_output=True,
        text=True,
        timeout=CAP,
        check=True,
    )
    key = json.loads(made.stdout)["key"]
    with serve_file(file, "--keys", str(keys), "--console", port="0.0.0.0:0") as served:
        base = f"http://127.0.0.1:{served.base.rpartition(':')[2]}"
        stranger = ConsoleClient(base)
        guard = stranger.config()["servers"][0]["guard"]
        assert guard == {"keys": True, "key_header": "Authorization", "oauth": False}
        for name in ("evidence", "check", "test"):
            answer = stranger.post(name, FRAMES)
            assert answer.status_code == 401
            assert "www-authenticate" in answer.headers
        known = ConsoleClient(base, {"Authorization": f"Bearer {key}"})
        assert known.post("evidence", FRAMES).status_code == 200
        stranger.close()
        known.close()


WITHOUT = """
import asyncio, sys
from dovetail import Server
from dovetail.cli.run_http import add_console
from dovetail.cli.settings import HttpSettings

server = Server("shop")
app = server.http_app()
assert add_console(app, {"": (server, app)}, HttpSettings(console=False)) is None
loaded = [name for name in sys.modules if name.startswith("dovetail_console")]
assert not loaded, loaded
import dovetail.cli.app, dovetail.transports.http_server
loaded = [name for name in sys.modules if name.startswith("dovetail_console")]
assert not loaded, loaded
"""


def test_nothing_of_the_console_is_loaded_if_it_is_off() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=CAP, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_path_of_the_console_exists_if_it_is_off(tmp_path: Path) -> None:
    with serve_source(SOURCE, tmp_path, "--no-console") as served:
        for path in ("/", "/console", "/console/", "/console/api/config", "/console/index.html"):
            answer = httpx.get(f"{served.base}{path}", headers={"Accept": "text/html"}, timeout=CAP)
            assert answer.status_code == 404
