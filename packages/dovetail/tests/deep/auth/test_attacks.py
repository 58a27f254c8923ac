"""The attack table: each attack gets the right status, and responses and logs reveal nothing.

attack                                    status
no token                                  401 with the metadata URL
any invalid token                         401 invalid_token, always the same message
a malformed header                        400 invalid_request
a scope that can be requested             403 insufficient_scope with the scopes
a tool without permission                 the same error as an unknown tool
the session of another principal          404
the issuer is not available               503 (test_issuer_down.py)
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from dovetail.auth.api_keys import KeyFile
from dovetail.auth.credentials import INVALID_TOKEN, MAX_TOKEN
from tests.deep.auth.calls import (
    ACCEPT,
    TLS,
    bearer,
    call_tool,
    error_in,
    get_token,
    initialize,
    modern,
    names_listed,
    sign,
)
from tests.deep.auth.conftest import Place
from tests.deep.auth.processes import notes_server
from tests.patience import CAP

# The first test starts both servers.


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _kid(place: Place) -> str:
    keys = httpx.get(
        f"{place.provider.issuer}/.well-known/jwks.json", verify=TLS, timeout=CAP
    ).json()["keys"]
    return str(keys[0]["kid"])


def _signed(place: Place, **changes: Any) -> str:
    return sign(place.provider.key, place.provider.issuer, place.url, kid=_kid(place), **changes)


def _unsigned(place: Place, algorithm: str) -> str:
    _, claims, _ = _signed(place).split(".")
    return f"{_part({'alg': algorithm, 'typ': 'at+jwt', 'kid': _kid(place)})}.{claims}."


def _confused(place: Place) -> str:
    """Signed with HMAC, and the public key as the secret."""
    public = place.provider.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head = _part({"alg": "HS256", "typ": "at+jwt", "kid": _kid(place)})
    _, claims, _ = _signed(place).split(".")
    algorithm = jwt.get_algorithm_by_name("HS256")
    # The library refuses to take a public key for a secret, so it is called below that.
    signature = algorithm.sign(f"{head}.{claims}".encode(), public)
    tail = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
    return f"{head}.{claims}.{tail}"


def _tampered(place: Place) -> str:
    token = get_token(place.provider.issuer, place.url, "notes:read")
    head, claims, signature = token.split(".")
    read = json.loads(base64.urlsafe_b64decode(claims + "=="))
    return f"{head}.{_part({**read, 'scope': 'notes:admin'})}.{signature}"


def _embedded(place: Place) -> str:
    """Brings its own key along."""
    own = rsa.generate_private_key(65537, 2048)
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key()))
    claims = jwt.decode(_signed(place), options={"verify_signature": False})
    head = {"kid": _kid(place), "jwk": jwk, "jku": "http://127.0.0.1:1/keys"}
    return jwt.encode(claims, own, "RS256", headers=head)


def _id_token(place: Place) -> str:
    return _signed(place, nonce="n", at_hash="h")


ATTACKS: dict[str, Callable[[Place], str]] = {
    "garbage": lambda place: "garbage",
    "garbage with dots": lambda place: "gar.ba.ge",
    "expired": lambda place: _signed(place, exp=int(time.time()) - 3600),
    "without an expiry": lambda place: _signed(place, exp=None),
    "not yet": lambda place: _signed(place, nbf=int(time.time()) + 3600),
    "wrong issuer": lambda place: _signed(place, iss="https://evil.example"),
    "wrong audience": lambda place: _signed(place, aud="https://other.example/mcp"),
    "no audience": lambda place: _signed(place, aud=None),
    "audience that begins like ours": lambda place: _signed(place, aud=f"{place.url}.evil"),
    "alg none": lambda place: _unsigned(place, "none"),
    "alg None": lambda place: _unsigned(place, "NoNe"),
    "without a signature": lambda place: _unsigned(place, "RS256"),
    "key confusion HS/RS": _confused,
    "another key": lambda place: sign(
        rsa.generate_private_key(65537, 2048), place.provider.issuer, place.url, kid=_kid(place)
    ),
    "a key nobody knows": lambda place: sign(
        place.provider.key, place.provider.issuer, place.url, kid="unheard-of"
    ),
    "changed after signing": _tampered,
    "brings its own key": _embedded,
    "an ID token": _id_token,
    # replay: a real token of the same issuer for another server
    "for another resource": lambda place: get_token(
        place.provider.issuer, "http://127.0.0.1:1/mcp", "notes:read"
    ),
    "oversized": lambda place: "a" * (MAX_TOKEN + 1),
    "an unknown key": lambda place: f"dtk_000000000000_{secrets.token_urlsafe(32)}",
    "a wrong secret": lambda place: f"dtk_{place.key_id}_{secrets.token_urlsafe(32)}",
    "half a key": lambda place: place.key[:-1],
    "an empty key": lambda place: "dtk_",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_invalid_token_gets_a_generic_error(attack: str, place: Place) -> None:
    token = ATTACKS[attack](place)
    with httpx.Client(headers=ACCEPT, verify=TLS, timeout=CAP) as client:
        answers = [call_tool(place.url, "who", bearer(token)), initialize(place.url, bearer(token))]
        # Once more on a connection that is known, where the short way is taken.
        good = bearer(place.key)
        for headers in (good, bearer(token)):
            message = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            answers.append(client.post(place.url, json=message, headers=headers))
    del answers[2]
    for answer in answers:
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        assert 'error="invalid_token"' in challenge
        assert "resource_metadata=" in challenge
        assert error_in(answer)["message"] == INVALID_TOKEN
        assert token not in answer.text
    assert_nothing_is_written(place, token)


def assert_nothing_is_written(place: Place, token: str) -> None:
    for path in (place.log, place.audit):
        text = path.read_text()
        assert token[:MAX_TOKEN] not in text
        # Neither the part that matters.
        assert len(token) < 40 or token[-20:] not in text


def test_without_a_token_the_challenge_has_the_metadata_url(place: Place) -> None:
    for answer in (call_tool(place.url, "who"), initialize(place.url)):
        assert answer.status_code == 401
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith("Bearer ")
        assert 'scope="notes:read"' in challenge
        assert "error" not in challenge
        assert "result" not in answer.json()
    parts = urlsplit(place.url)
    where = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{where}"' in challenge
    assert httpx.get(where, timeout=CAP).json() == {
        "resource": place.url,
        "authorization_servers": [place.provider.issuer],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["notes:read", "notes:write"],
    }


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Bearer a,b"])
def test_a_malformed_header_is_a_bad_request(header: str, place: Place) -> None:
    answer = call_tool(place.url, "who", {"authorization": header})
    assert answer.status_code == 400
    assert 'error="invalid_request"' in answer.headers["www-authenticate"]


def test_two_tokens_are_rejected(place: Place) -> None:
    headers = [
        *ACCEPT.items(),
        ("authorization", f"Bearer {place.key}"),
        ("authorization", "Bearer x"),
    ]
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert httpx.post(place.url, json=message, headers=headers, timeout=CAP).status_code == 400


@pytest.mark.parametrize("name", ["access_token", "api_key", "x-api-key", "authorization"])
def test_a_key_in_the_query_string_is_ignored(name: str, place: Place) -> None:
    answer = call_tool(f"{place.url}?{name}={place.key}", "who")
    assert answer.status_code == 401
    assert_nothing_is_written(place, place.key)


def test_a_key_in_the_arguments_is_ignored(place: Place) -> None:
    assert call_tool(place.url, "who", api_key=place.key).status_code == 401
    # Also of somebody who is let in: it is an argument like others, and not written down.
    call_tool(place.url, "read_note", bearer(place.key), title=place.key)
    assert_nothing_is_written(place, place.key)


def test_a_missing_step_up_scope_is_named(place: Place) -> None:
    token = get_token(place.provider.issuer, place.url, "notes:read")
    answer = call_tool(place.url, "write_note", bearer(token), title="a", text="b")
    assert answer.status_code == 403
    challenge = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="notes:read notes:write"' in challenge
    assert "resource_metadata=" in challenge
    more = get_token(place.provider.issuer, place.url, "notes:read notes:write")
    answer = call_tool(place.url, "write_note", bearer(more), title="a", text="b")
    assert (answer.status_code, "wrote 1" in answer.text) == (200, True)


def test_tools_without_permission_do_not_exist_for_the_caller(place: Place) -> None:
    headers = bearer(place.key)
    assert "burn_everything" not in names_listed(place.url, headers)
    hidden = error_in(call_tool(place.url, "burn_everything", headers))
    absent = error_in(call_tool(place.url, "burn_somethings", headers))
    assert hidden["code"] == absent["code"] == -32602
    assert hidden["message"].partition(";")[2] == absent["message"].partition(";")[2]
    assert "burn_everything" not in absent["message"]
    hidden = error_in(modern(place.url, "prompts/get", headers, name="confess"))
    assert hidden["message"].startswith("Unknown prompt: 'confess'; there are no prompts")
    hidden = error_in(modern(place.url, "resources/read", headers, uri="notes://secret"))
    absent = error_in(modern(place.url, "resources/read", headers, uri="notes://absent"))
    assert hidden["code"] == absent["code"] == -32602
    assert "notes://secret" not in absent["message"]


def test_a_session_does_not_replace_authentication_and_belongs_to_one_principal(
    place: Place,
) -> None:
    opened = initialize(place.url, bearer(place.key))
    session = {"mcp-session-id": opened.headers["mcp-session-id"]}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

    def send(headers: dict[str, str]) -> int:
        return httpx.post(
            place.url, json=ping, headers={**ACCEPT, **session, **headers}
        ).status_code

    other = get_token(place.provider.issuer, place.url, "notes:read")
    assert send(bearer(place.key)) == 200
    assert send({}) == 401
    assert send(bearer(other)) == 404
    for method in ("GET", "DELETE"):
        headers = {**session, "accept": "text/event-stream"}
        assert httpx.request(method, place.url, headers=headers, timeout=CAP).status_code == 401
        refused = httpx.request(
            method, place.url, headers={**headers, **bearer(other)}, timeout=CAP
        )
        assert refused.status_code == 404
    assert send(bearer(place.key)) == 200


def test_the_http_sse_stream_is_guarded(place: Place) -> None:
    stream = place.url.replace("/mcp", "/sse")
    assert (
        httpx.get(stream, headers={"accept": "text/event-stream"}, timeout=CAP).status_code == 401
    )
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert httpx.post(f"{stream}/messages?session=x", json=ping, timeout=CAP).status_code == 401


@pytest.mark.slow
def test_ten_thousand_wrong_keys_are_rejected_without_leaks(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    record, good = keys.add("anna")
    audit = tmp_path / "audit.jsonl"
    setup = {"keys": str(keys.path), "audit": str(audit)}
    with notes_server(tmp_path / "server", **setup) as running:
        wrong = [f"dtk_{record.id}_{secrets.token_urlsafe(32)}" for _ in range(10_000)]
        statuses = asyncio.run(_send_all(running.ready, wrong))
        assert statuses == {b"401": 10_000}
        assert call_tool(running.ready, "who", bearer(good)).status_code == 200
        metrics = httpx.get(running.ready.replace("/mcp", "/metrics"), timeout=CAP).text
        assert 'dovetail_refused_total{status="401"} 10000' in metrics
        # Strangers cannot fill the disk, and what they sent is nowhere.
        lines = audit.read_text().splitlines()
        assert len(lines) < 500
        assert sum(1 + json.loads(line).get("more", 0) for line in lines) > 500
        written = audit.read_text() + running.log.read_text()
        assert not any(key in written for key in (good, *wrong))


async def _send_all(url: str, keys: list[str]) -> dict[bytes, int]:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    counts: dict[bytes, int] = {}
    for key in keys:
        writer.write(
            f"POST /mcp HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ")[1]
        counts[status] = counts.get(status, 0) + 1
        length = next(line for line in head.lower().split(b"\r\n") if b"content-length" in line)
        await reader.readexactly(int(length.split(b":")[1]))
    writer.close()
    return counts
