"""What callers send to the API costs a bounded amount of work, and does not hold up others."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from dovetail.auth import BearerTokens, Guard, Limits, Principal, Rate
from tests.console.pages import LOCAL, browse, make_server, token_of
from tests.patience import CAP

KEY = "k" * 32
# Merging its parts compares every value with every other: hours.
HOSTILE = {"allOf": [{"enum": list(range(60_000))}, {"enum": list(range(60_000, 120_000))}]}
CALL = {"server": "shop", "tool": "add", "revision": "2025-11-25", "result": {}}
FRAMES = {"frames": [], "revision": "2025-11-25"}


def nested(levels: int, innermost: Any) -> Any:
    for _ in range(levels):
        innermost = {"properties": {"a": innermost}}
    return innermost


def post(name: str, body: Any, app: Any = None) -> httpx.Response:
    async def use(client: httpx.AsyncClient) -> httpx.Response:
        headers = await token_of(client)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
        return await client.post(f"/console/api/{name}", content=data, headers=headers)

    return browse(app or make_server().http_app(console=True), use)


def come_from(app: Any, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url=LOCAL, timeout=CAP)


@pytest.mark.slow
def test_a_caller_who_sends_hostile_schemas_keeps_the_forms_from_nobody() -> None:
    app = make_server().http_app(console=True)

    async def run() -> None:
        async with come_from(app, "127.0.0.2") as one, come_from(app, "127.0.0.3") as other:
            headers = await token_of(one)
            hostile = [
                asyncio.create_task(
                    one.post("/console/api/form", json={"schema": HOSTILE}, headers=headers)
                )
                for _ in range(9)
            ]
            # One of them is more than a caller may have waiting.
            done, waiting = await asyncio.wait(hostile, return_when=asyncio.FIRST_COMPLETED)
            assert [each.result().status_code for each in done] == [429]
            for _ in range(3):
                body = {"schema": {"type": "string"}}
                answer = await other.post("/console/api/form", json=body, headers=headers)
                assert answer.json()["field"]["kind"] == "string"
            assert not any(each.done() for each in list(waiting)[1:])
            # Their work ends with them.
            for each in waiting:
                each.cancel()
            await asyncio.wait(waiting)
            answer = await one.post("/console/api/form", json={"schema": {}}, headers=headers)
            assert answer.json()["field"]["kind"] == "any"

    asyncio.run(run())


@pytest.mark.slow
def test_a_schema_that_takes_too_long_is_an_editor_for_json() -> None:
    answer = post("form", {"schema": HOSTILE}).json()
    assert answer["field"] == {"kind": "any", "type": "any JSON"}
    assert answer["unchecked"] == "its schema is too large"


@pytest.mark.parametrize(
    "schema",
    [
        nested(120, {"type": "string"}),
        {"properties": {f"p{number}": {} for number in range(60_000)}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#"}]}}},
        {
            "allOf": [
                {"properties": {f"p{n}": {"minimum": i} for n in range(200)}} for i in range(60)
            ]
        },
        {"$ref": "#" + "/a" * 100_000},
    ],
    ids=["deep", "wide", "recursive", "merged", "pointer"],
)
def test_odd_schemas_have_a_form(schema: Any) -> None:
    assert "field" in post("form", {"schema": schema}).json()
    assert "errors" in post("form", {"schema": schema, "value": {"a": 1}}).json()


@pytest.mark.parametrize("name", ["copy", "evidence", "form", "headers", "outline", "test", "uri"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"schema":' + b"[" * 300 + b"]" * 300 + b"}", 413),
        (b'{"schema":[' + b"0," * 500_000 + b"0]}", 413),
        (b'{"schema":' + b"[" * 100_000, 400),
    ],
    ids=["deep", "wide", "very deep"],
)
def test_the_size_and_depth_of_a_body_are_limited(name: str, body: bytes, status: int) -> None:
    assert post(name, body).status_code == status


@pytest.mark.parametrize(
    ("name", "size"), [("test", 4), ("form", 4), ("evidence", 32), ("check", 1), ("sign-in", 1)]
)
def test_a_body_is_limited_before_it_is_read(name: str, size: int) -> None:
    body = b'{"frames":"' + b"x" * size * 1024 * 1024 + b'"}'
    assert post(name, body).status_code == 413


def test_a_test_of_a_large_or_deep_result_is_refused() -> None:
    deep: Any = "x" * 1_000_000
    for _ in range(200):
        deep = [deep]
    for result in (deep, {"content": [0] * 30_000}):
        answer = post("test", {**CALL, "result": {"structuredContent": result}})
        assert answer.status_code == 413
        assert "too large for a test" in answer.json()["error"]


@pytest.mark.parametrize(
    ("name", "body", "is_counted"),
    [("test", CALL, True), ("evidence", FRAMES, True), ("form", {"schema": {}}, False)],
)
def test_work_is_counted_by_the_limits_of_the_guard(name: str, body: Any, is_counted: bool) -> None:
    limits = Limits(per_principal=Rate(2, per=3600, burst=2))
    guard = Guard(BearerTokens({KEY: Principal("me")}), limits=limits)
    app = make_server().http_app(console=True, guard=guard)

    async def use(client: httpx.AsyncClient) -> list[httpx.Response]:
        headers = {**await token_of(client), "Authorization": f"Bearer {KEY}"}
        url = f"/console/api/{name}"
        return [await client.post(url, json=body, headers=headers) for _ in range(3)]

    answers = browse(app, use)
    assert [each.status_code for each in answers[:2]] == [200, 200]
    if is_counted:
        assert answers[2].status_code == 429
        assert "Too many calls" in answers[2].json()["error"]
        assert int(answers[2].headers["retry-after"]) > 0
    else:
        assert answers[2].status_code == 200
