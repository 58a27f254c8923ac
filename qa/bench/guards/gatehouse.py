"""The same call through the HTTP application without a guard and with several; prints CPU as JSON.

    python gatehouse.py CALLS ROUNDS

No socket carries the bytes: a request is handed over as the server's own protocol does. The ways
take turns, and the best round of each counts.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from dovetail import Server
from dovetail.auth import ApiKeys, Guard, Limits, OAuth, Rate
from dovetail.auth.api_keys import KeyFile
from dovetail.observability import AuditLog

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARAMS = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": META}
BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": PARAMS}).encode()
HEADERS = {
    b"host": b"127.0.0.1",
    b"content-type": b"application/json",
    b"accept": b"application/json, text/event-stream",
    b"mcp-protocol-version": b"2026-07-28",
    b"mcp-method": b"tools/call",
    b"mcp-name": b"add",
}
ISSUER, RESOURCE = "https://id.example", "https://me.example/mcp"


class Asked:
    """A request whose body is there."""

    def __init__(self, **more: bytes) -> None:
        self.scope: Any = {"type": "http"}
        self.headers = {**HEADERS, **{name.encode(): value for name, value in more.items()}}

    async def receive(self) -> Any:
        return {"type": "http.disconnect"}

    async def transmit(self, message: Any) -> None:
        raise AssertionError("it is answered at once")


def make_server() -> Server:
    server = Server("bench")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


def ways(folder: Path) -> dict[str, tuple[Any, Asked]]:
    """Each way with a request that it lets pass."""
    server = make_server()
    found = {"none": (server.http_app(), Asked())}
    file = KeyFile(folder / "keys.json")
    _, key = file.add("bench")
    keyed = Asked(authorization=f"Bearer {key}".encode())
    limits = Limits(per_principal=Rate(1e9), total=Rate(1e9))
    found["open"] = server.http_app(guard=Guard()), Asked()
    found["key"] = server.http_app(guard=Guard(ApiKeys(file.path))), keyed
    found["rate"] = server.http_app(guard=Guard(limits=limits)), Asked()
    found["audit"] = server.http_app(guard=Guard(audit=AuditLog(folder / "one"))), Asked()
    guard = Guard(ApiKeys(file.path), limits=limits, audit=AuditLog(folder / "two"))
    found["key, rate, audit"] = server.http_app(guard=guard), keyed
    oauth, token = _oauth()
    signed = Asked(authorization=b"Bearer " + token)
    found["jwt"] = server.http_app(guard=Guard(oauth)), signed
    guard = Guard(oauth, limits=limits, audit=AuditLog(folder / "three"))
    found["jwt, rate, audit"] = server.http_app(guard=guard), signed
    return found


def _oauth() -> tuple[Any, bytes]:
    key = rsa.generate_private_key(65537, 2048)
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    oauth = OAuth(ISSUER, RESOURCE, remember=3600)

    async def fetch() -> dict[str, Any]:
        return {"keys": [{**jwk, "kid": "k"}]}

    oauth._keys._fetch = fetch
    claims = {"iss": ISSUER, "aud": RESOURCE, "sub": "bench", "exp": time.time() + 3600}
    claims["scope"] = "notes:read notes:write"
    return oauth, jwt.encode(claims, key, "RS256", headers={"kid": "k"}).encode()


def wrong_keys(folder: Path) -> dict[str, tuple[Any, Asked]]:
    """Keys that are refused for different reasons, two of them for the same one."""
    file = KeyFile(folder / "wrong.json")
    known, key = file.add("kept")
    gone, revoked = file.add("gone")
    file.revoke(gone.id)
    other = key[:-1] + ("x" if key[-1] != "x" else "y")
    unknown = [
        key.replace(known.id, "".join(reversed(known.id)), 1),
        key.replace(known.id, "0" * len(known.id), 1),
    ]
    app = make_server().http_app(guard=Guard(ApiKeys(file.path)))
    given = {
        "no such key": unknown[0],
        "no such key, another": unknown[1],
        "a known key, its last letter wrong": other,
        "a revoked key": revoked,
    }
    return {
        name: (app, Asked(authorization=f"Bearer {each}".encode())) for name, each in given.items()
    }


async def measure(calls: int, rounds: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        return {
            "passed": await _measure(ways(Path(folder)), 200, calls, rounds),
            "refused": await _measure(wrong_keys(Path(folder)), 401, calls, rounds),
        }


async def _measure(
    all_ways: dict[str, tuple[Any, Asked]], status: int, calls: int, rounds: int
) -> dict[str, float]:
    best: dict[str, float] = {}
    for app, asked in all_ways.values():
        # The first goes the long way: keys are fetched, tokens are checked.
        begun = app.begin(asked, BODY)
        if asyncio.iscoroutine(begun):
            asked.transmit = _ignore  # type: ignore[method-assign]
            await begun
        assert app.begin(asked, BODY).status == status
    for _ in range(rounds):
        for name, (app, asked) in all_ways.items():
            begin = app.begin
            started = time.process_time()
            for _ in range(calls):
                begin(asked, BODY)
            took = (time.process_time() - started) / calls * 1e6
            best[name] = min(best.get(name, took), took)
    return best


async def _ignore(message: Any) -> None:
    """The answer of the first."""


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(measure(int(sys.argv[1]), int(sys.argv[2])))))
