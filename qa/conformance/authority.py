"""Our client and a guarded server with oidc-provider, an authorization server of another project.

usage: python qa/conformance/authority.py [--suite FOLDER]     (part of make conformance)

Login with dynamic registration, step-up, renewal, revocation, client credentials and tokens that
are bound to a key, in both eras. The user is a thread that opens the printed address.
"""

from __future__ import annotations

import argparse
import asyncio
import http.cookiejar
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dovetail import Client
from dovetail.client.auth import (
    AuthorizationCode,
    ClientCredentials,
    LoginRequiredError,
    LoopbackBrowser,
    MemoryStore,
    OAuth,
    logout,
)

ROOT = Path(__file__).resolve().parents[2]
_SERVER = ROOT / "packages" / "dovetail" / "tests" / "deep" / "auth" / "notes_server.py"
_SECONDS = 120.0


class Person:
    """Opens the address of the login page; the pages agree by themselves."""

    def __init__(self) -> None:
        self.visits = 0

    def read(self, url: str) -> None:
        """Open the address in a thread, with cookies."""
        self.visits += 1
        threading.Thread(target=self._open, args=(url,), daemon=True).start()

    def _open(self, url: str) -> None:
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        direct = urllib.request.ProxyHandler({})
        with urllib.request.build_opener(cookies, direct).open(url, timeout=_SECONDS) as page:
            page.read()


def _make_auth(person: Person, store: MemoryStore, **options: Any) -> OAuth:
    agent = LoopbackBrowser(open_browser=False, show=person.read, timeout=_SECONDS)
    return OAuth(grant=AuthorizationCode(agent), store=store, **options)


def _expire(store: MemoryStore) -> None:
    """Let the stored access token expire."""
    [key] = [key for key in store.list_keys() if key.startswith("login ")]
    record = json.loads(store.load(key) or b"")
    record["tokens"]["expires_at"] = 1.0
    store.save(key, json.dumps(record).encode())


async def _use_as_user(url: str, mode: str) -> None:
    """Login, step-up, renewal and logout."""
    person, store = Person(), MemoryStore()
    auth = _make_auth(person, store)
    async with Client(url, auth=auth, mode=mode, timeout=_SECONDS) as client:
        told = (await client.call("who")).data
        assert told["id"].endswith("#anna") and told["scopes"] == ["notes:read"], told
        written = await client.call("write_note", {"title": "a", "text": "bc"})
        assert written.text == "wrote 2 to a", written
        assert person.visits == 2, person.visits
    _expire(store)
    quiet = OAuth(store=store, interactive=False)
    async with Client(url, auth=quiet, mode=mode, timeout=_SECONDS) as client:
        told = (await client.call("who")).data
        assert told["scopes"] == ["notes:read", "notes:write"], told
    kept = {key: store.load(key) for key in store.list_keys()}
    assert await logout(url, auth) is True
    for key, record in kept.items():
        store.save(key, record or b"")
    _expire(store)
    try:
        async with Client(url, auth=quiet, mode=mode, timeout=_SECONDS):
            raise AssertionError("the login was not revoked")
    except LoginRequiredError:
        pass


async def _use_as_program(url: str, mode: str) -> None:
    """Client credentials, with step-up."""
    auth = OAuth(
        client_id="robot",
        client_secret="robot-secret-0123456789-0123456789",
        grant=ClientCredentials(),
        store=MemoryStore(),
    )
    async with Client(url, auth=auth, mode=mode, timeout=_SECONDS) as client:
        written = await client.call("write_note", {"title": "a", "text": "bc"})
        assert written.text == "wrote 2 to a", written


async def _bind_to_key(url: str, mode: str) -> None:
    """Tokens that the authorization server has bound to the client's key, with step-up."""
    auth = _make_auth(Person(), MemoryStore(), dpop=True)
    async with Client(url, auth=auth, mode=mode, timeout=_SECONDS) as client:
        assert (await client.call("who")).data["scopes"] == ["notes:read"]
        written = await client.call("write_note", {"title": "a", "text": "bc"})
        assert written.text == "wrote 2 to a", written


FLOWS: Mapping[str, Callable[[str, str], Awaitable[None]]] = {
    "login, step-up, renewal, revocation": _use_as_user,
    "client credentials": _use_as_program,
    "tokens bound to a key": _bind_to_key,
}


@contextmanager
def _running(command: Sequence[str], log: Path) -> Iterator[str]:
    """A process that prints a line when it is ready."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, "NO_PROXY": "*"}
        )
    assert process.stdout is not None
    watch = threading.Timer(_SECONDS, process.kill)
    watch.start()
    try:
        line = process.stdout.readline().decode()
        watch.cancel()
        if not line:
            raise RuntimeError(f"{command[1]} does not start: {log.read_text('utf-8')[-2000:]}")
        yield line
    finally:
        watch.cancel()
        process.terminate()
        process.wait(_SECONDS)
        process.stdout.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def check_authority(node: str, suite: Path, out: Path) -> list[str]:
    """Run every flow in both eras; the problems."""
    out.mkdir(parents=True, exist_ok=True)
    # Node looks for packages beside the file that imports them.
    script = shutil.copy(ROOT / "qa" / "conformance" / "authority.mjs", suite)
    port = _free_port()
    problems = []
    with _running([node, str(script), str(port)], out / "oidc-provider.log"):
        setup = json.dumps({"issuer": f"http://127.0.0.1:{port}", "oauth": {"dpop": True}})
        command = [sys.executable, str(_SERVER), setup]
        with _running(command, out / "notes-server.log") as ready:
            url = json.loads(ready)["ready"]
            for name, flow in FLOWS.items():
                for mode in ("legacy", "modern"):
                    try:
                        asyncio.run(_limit(flow(url, mode)))
                        print(f"oidc-provider, {mode}: {name}", flush=True)
                    except Exception as error:  # noqa: BLE001 - a flow may fail in any way
                        problems.append(f"oidc-provider, {mode}: {name}: {error!r}")
    return problems


async def _limit(work: Awaitable[None]) -> None:
    async with asyncio.timeout(_SECONDS):
        await work


def main() -> int:
    """Run the flows alone."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--suite", type=Path, default=ROOT / ".conformance")
    options.add_argument("--node", default=shutil.which("node") or "node")
    given = options.parse_args()
    problems = check_authority(given.node, given.suite, ROOT / ".conformance" / "out")
    print("\n".join(problems) or "as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
