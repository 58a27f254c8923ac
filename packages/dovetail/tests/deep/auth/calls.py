"""Requests to a guarded server, and tokens for it."""

from __future__ import annotations

import json
import ssl
import time
from typing import Any

import httpx
import jwt

from tests.patience import CAP

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
# Made once: it takes longer than a call.
TLS = ssl.create_default_context()
ACCEPT = {"accept": "application/json, text/event-stream"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def modern(
    url: str, method: str, headers: dict[str, str] | None = None, **params: Any
) -> httpx.Response:
    """One request of 2026-07-28."""
    named = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if "name" in params or "uri" in params:
        named["mcp-name"] = params.get("name") or params["uri"]
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return httpx.post(
        url, json=message, headers={**ACCEPT, **named, **(headers or {})}, verify=TLS, timeout=CAP
    )


def call_tool(url: str, name: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
    return modern(url, "tools/call", headers, name=name, arguments=arguments)


def names_listed(url: str, headers: dict[str, str]) -> list[str]:
    listed = modern(url, "tools/list", headers).json()["result"]["tools"]
    return [tool["name"] for tool in listed]


def initialize(url: str, headers: dict[str, str] | None = None) -> httpx.Response:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return httpx.post(
        url, json=message, headers={**ACCEPT, **(headers or {})}, verify=TLS, timeout=CAP
    )


def get_token(issuer: str, resource: str, scope: str, client: str = "robot") -> str:
    """A token from the authorization server, for a program."""
    form = {"grant_type": "client_credentials", "scope": scope, "resource": resource}
    answer = httpx.post(
        f"{issuer}/token/", data=form, auth=(client, f"{client}-secret"), verify=TLS
    )
    assert answer.status_code == 200, answer.text
    token: str = answer.json()["access_token"]
    return token


def sign(key: Any, issuer: str, resource: str, *, algorithm: str = "RS256", **changes: Any) -> str:
    """A token that is right in everything but what `changes` says; None takes a claim away."""
    kid = changes.pop("kid", None)
    now = int(time.time())
    claims = {
        "iss": issuer,
        "aud": resource,
        "sub": "mallory",
        "scope": "notes:read notes:write notes:admin",
        "iat": now,
        "exp": now + 600,
        **changes,
    }
    claims = {name: value for name, value in claims.items() if value is not None}
    head = {"typ": "at+jwt", **({} if kid is None else {"kid": kid})}
    return jwt.encode(claims, key, algorithm, headers=head)


def error_in(response: httpx.Response) -> Any:
    return json.loads(response.content)["error"]
