"""An API that records what it is sent and answers as the test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx

from dovetail import Server
from dovetail.client import Client
from dovetail.client.results import CallResult

BASE = "https://api.example.com/v1"


class Seen(NamedTuple):
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class Backend:
    """The transport of an `httpx.AsyncClient`."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response] | None = None) -> None:
        self.seen: list[Seen] = []
        self.hosts: list[str] = []
        self._answer = answer or (lambda request: httpx.Response(200, text="done"))

    def client(self, **options: Any) -> httpx.AsyncClient:
        options.setdefault("base_url", BASE)
        return httpx.AsyncClient(transport=httpx.MockTransport(self._serve), **options)

    async def _serve(self, request: httpx.Request) -> httpx.Response:
        raw = request.url.raw_path.decode()
        path, _, query = raw.partition("?")
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.aread()
        self.hosts.append(request.url.host)
        self.seen.append(Seen(request.method, path, query, headers, body))
        return self._answer(request)


def document(paths: dict[str, Any], version: str = "3.1.0", **parts: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "Shop", "version": "2"}, "paths": paths, **parts}


def get(path: str, **operation: Any) -> dict[str, Any]:
    return document({path: {"get": {"operationId": "get", **operation}}})


def call(server: Server, name: str, arguments: dict[str, Any] | None = None) -> CallResult:
    async def run() -> CallResult:
        async with Client(server) as client:
            return await client.call(name, arguments)

    return asyncio.run(run())


def json_answer(value: Any, status: int = 200) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(
        status, content=json.dumps(value), headers={"content-type": "application/json"}
    )


__all__ = ["BASE", "Backend", "Seen", "call", "document", "get", "json_answer"]
