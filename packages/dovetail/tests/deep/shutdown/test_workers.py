"""Workers of one server: a client may return to another one than the one that asked its user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.deep.shutdown.processes import PARSERS, Process, headers_for, params_for, run_http
from tests.patience import wait_until


def ask(server: Process, **more: Any) -> Any:
    """Call the tool on a connection of its own, so of any worker."""
    params = params_for("confirm", "a") | more
    response = server.open("POST", headers_for("confirm"), "tools/call", params)
    return json.loads(response.read())


@pytest.mark.parametrize("parser", PARSERS)
def test_any_worker_continues_a_call_that_asked_the_user(tmp_path: Path, parser: str) -> None:
    with run_http(tmp_path, 1, parser, "--workers", "2", "--stateless") as server:

        def is_continued_elsewhere() -> bool:
            first = ask(server)["result"]
            [key] = first["inputRequests"]
            answers = {key: {"action": "accept", "content": {"value": True}}}
            second = ask(server, requestState=first["requestState"], inputResponses=answers)
            asked_by, continued_by = second["result"]["content"][0]["text"].split()
            return bool(asked_by != continued_by)

        wait_until(is_continued_elsewhere)


def test_no_worker_accepts_an_answer_again(tmp_path: Path) -> None:
    with run_http(tmp_path, 1, PARSERS[0], "--workers", "2", "--stateless") as server:
        first = ask(server)["result"]
        [key] = first["inputRequests"]
        answers = {key: {"action": "accept", "content": {"value": True}}}
        replies = [
            ask(server, requestState=first["requestState"], inputResponses=answers)
            for _ in range(20)
        ]
    assert "result" in replies[0]
    assert all("was used before" in reply["error"]["message"] for reply in replies[1:])
