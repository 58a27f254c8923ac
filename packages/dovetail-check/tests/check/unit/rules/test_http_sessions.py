from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.wire import codec
from dovetail_check.frames import Frame
from dovetail_check.judging import judge_recording
from dovetail_check.recording import Recording
from dovetail_check.rules.http_sessions import weakness_of
from dovetail_check.verdicts import Verdict


@pytest.mark.parametrize(
    "make",
    [
        lambda n: str(uuid.uuid4()),
        lambda n: uuid.uuid4().hex,
        lambda n: secrets.token_urlsafe(32),
        lambda n: f"server-1.{secrets.token_hex(16)}.end",
        # A timestamp first, as in UUIDv7, followed by enough random characters.
        lambda n: f"0190163d-8694-7{secrets.token_hex(2)[1:]}-{secrets.token_hex(8)}",
    ],
)
def test_random_ids_are_strong(make: Callable[[int], str]) -> None:
    assert weakness_of([make(n) for n in range(5)]) is None


@pytest.mark.parametrize(
    "make",
    [
        str,
        lambda n: f"a-very-long-and-safe-session-{n:08}",
        lambda n: f"{n:032x}",
        # Only the timestamp of a UUIDv1 changes.
        lambda n: f"{0x5B6A0000 + n * 977:08x}-9f3c-11ee-8c90-0242ac120002",
    ],
)
def test_sequential_ids_are_weak(make: Callable[[int], str]) -> None:
    weakness = weakness_of([make(n) for n in range(5)])
    assert weakness is not None
    assert "characters change" in weakness


def test_repeated_ids_are_weak() -> None:
    strong = secrets.token_urlsafe(32)
    assert weakness_of([strong, strong]) == (
        "2 sessions have 1 different ids; each must have its own"
    )


def test_session_ids_that_are_not_required_are_noted() -> None:
    init = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    frames: list[Frame] = []
    sent: tuple[tuple[str, dict[str, Any], tuple[tuple[str, str], ...]], ...] = (
        ("opening", init, (("Mcp-Session-Id", "a-session"),)),
        ("http-sessions/missing", ping, ()),
    )
    for tag, request, headers in sent:
        n = len(frames)
        common: Any = {"session": "http 2025-11-25", "connection": "main", "at": 0.0, "tag": tag}
        result = {"jsonrpc": "2.0", "id": request["id"], "result": {}}
        url, text = "http://127.0.0.1/mcp", codec.encode(request).decode()
        frames.append(Frame(n=n, kind="sent", url=url, text=text, **common))
        headers = (("Content-Type", "application/json"), *headers)
        text = codec.encode(result).decode()
        head: Any = {"status": 200, "headers": headers, "text": text, "of": n}
        frames.append(Frame(n=n + 1, kind="received", **head, **common))
    [report] = judge_recording(Recording(frames), only=["http.session.missing-400"])
    assert report.verdict is Verdict.INFO
    [note] = report.findings[0].notes
    assert "accepts a request without one" in note.text
