from __future__ import annotations

import json
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import LATEST_LEGACY, MODERN, Revision
from dovetail_check.probe_sessions import OPENING, ProbeSession
from dovetail_check.recording import Recording
from dovetail_check.rules.reading import (
    as_json,
    changes_by_itself,
    is_message,
    messages,
    still_answers,
    unmatched_responses,
)

URL = "http://127.0.0.1/mcp"
JSON = (("content-type", "application/json"),)


class Scene:
    """Builds a session from frames."""

    def __init__(self, transport: str = "stdio", revision: Revision = LATEST_LEGACY) -> None:
        self.recording = Recording()
        self.transport, self.revision = transport, revision
        self.name = f"{transport} {revision}"

    def sent(self, value: Any, tag: str, **more: Any) -> int:
        data = json.dumps(value).encode()
        return self.recording.add(self.name, "main", "sent", data, tag=tag, **more).n

    def got(self, value: Any, of: int | None = None, **more: Any) -> None:
        data = json.dumps(value).encode()
        self.recording.add(self.name, "main", "received", data, of=of, **more)

    def seen(self) -> ProbeSession:
        return ProbeSession(self.transport, self.revision, self.recording.frames)


def request(id: int, method: str = "ping", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def test_a_json_body_of_another_url_is_not_a_message() -> None:
    scene = Scene("http")
    opening = scene.sent(request(1, "initialize"), OPENING, method="POST", url=URL)
    scene.got(result(1), opening, status=200, headers=JSON)
    other = scene.sent(None, "auth", method="GET", url="http://127.0.0.1/.well-known/x")
    scene.got({"resource": URL}, other, status=200, headers=JSON)
    posted = scene.sent(request(2), "ping", method="POST", url=URL)
    scene.got({"resource": URL}, posted, status=200, headers=JSON)
    refused = scene.sent(request(3), "ping", method="POST", url=URL)
    scene.got({"detail": "no"}, refused, status=400, headers=JSON)
    seen = scene.seen()
    assert [is_message(seen, incoming) for incoming in seen.incoming] == [True, False, True, False]


def test_responses_of_the_other_era_are_ignored() -> None:
    [modern] = MODERN
    scene = Scene("stdio", modern)
    meta = {keys.PROTOCOL_VERSION: modern.date}
    asked = scene.sent(request(1, "server/discover", _meta=meta), OPENING)
    scene.got(result(1, resultType="complete"), asked)
    old = scene.sent(request(2, "initialize"), "eras")
    scene.got(result(2), old)
    assert [incoming.message["id"] for incoming in messages(scene.seen())] == [1]


def test_unmatched_responses_belong_to_the_last_message() -> None:
    scene = Scene()
    notice = scene.sent({"jsonrpc": "2.0", "method": "x"}, "notices/unknown")
    scene.sent(request(1), "fence")
    scene.got({"jsonrpc": "2.0", "id": "made up", "error": {}})
    scene.got(result(1))
    scene.sent(request(2), "ping")
    scene.got({"jsonrpc": "2.0", "id": None, "error": {}})
    seen = scene.seen()
    [exchange] = [exchange for exchange in seen.exchanges if exchange.sent.n == notice]
    assert [incoming.message["id"] for incoming in unmatched_responses(seen, exchange)] == [
        "made up"
    ]


def test_the_next_fence_shows_whether_the_server_still_answers() -> None:
    scene = Scene()
    scene.sent(request(1), "garbage/truncated")
    alive = scene.sent(request(2), "fence")
    scene.got(result(2), alive)
    scene.sent(request(3), "garbage/other")
    scene.sent(request(4), "fence")
    scene.sent(request(5), "last")
    seen = scene.seen()
    found = [
        still_answers(seen, exchange) for exchange in seen.exchanges if exchange.tag != "fence"
    ]
    assert found == [True, False, None]


def test_a_list_changes_by_itself_if_it_differs_from_the_walk() -> None:
    scene = Scene()
    for tag, tools in (("walk/tools", ["a"]), ("again", ["a"]), ("later", ["b"])):
        asked = scene.sent(request(len(tag), "tools/list"), tag)
        scene.got(result(len(tag), tools=tools, nextCursor=tag, _meta={"n": tag}), asked)
    seen = scene.seen()
    _, again, later = seen.exchanges
    assert not changes_by_itself(seen, again)
    assert changes_by_itself(seen, later)


def test_volatile_members_are_not_compared() -> None:
    assert as_json({"tools": [], "ttlMs": 5, "nextCursor": "x", "_meta": {}}) == {"tools": []}
    assert as_json(None) == {}
