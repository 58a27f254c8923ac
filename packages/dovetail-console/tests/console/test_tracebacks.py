from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from dovetail_console.requests import TRACEBACKS
from dovetail_console.tracebacks import Tracebacks, format_own
from tests.console.pages import LOCAL, browse, make_server, token_of

HEADERS = {"Accept": "application/json, text/event-stream"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "divide", "arguments": {}},
}


@pytest.fixture(autouse=True)
def _handlers_are_those_of_before() -> Iterator[None]:
    logger = logging.getLogger("dovetail")
    before = logger.handlers[:]
    yield
    logger.handlers = before


def ask(base: str = LOCAL) -> tuple[dict[str, Any], httpx.Response]:
    """The configuration, and the answer for a call that failed."""
    server = make_server()

    @server.tool
    def divide() -> float:
        return 1 / 0

    async def use(client: httpx.AsyncClient) -> tuple[dict[str, Any], httpx.Response]:
        token = await token_of(client)
        config = (await client.get("/console/api/config", headers=token)).json()
        called = await client.post("/mcp", json=CALL, headers=HEADERS)
        text = called.json()["result"]["content"][0]["text"]
        reference = text.partition("reference ")[2][:8]
        body = {"reference": reference}
        return config, await client.post("/console/api/traceback", json=body, headers=token)

    return browse(server.http_app(console=True, stateless=True), use, base)


def test_the_page_of_a_developer_gets_the_traceback_from_their_code_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TRACEBACKS, "1")
    config, answer = ask()
    assert config["tracebacks"] is True
    lines = answer.json()["text"].splitlines()
    assert lines[0].startswith("Traceback")
    assert "test_tracebacks.py" in lines[1]
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_others_get_none() -> None:
    config, answer = ask()
    assert config["tracebacks"] is False
    assert answer.status_code == 404
    assert "ZeroDivisionError" not in answer.text


def test_the_last_tracebacks_are_kept() -> None:
    kept = Tracebacks()
    logger = logging.Logger("some")
    logger.addHandler(kept)
    for number in range(60):
        error = ValueError(str(number))
        logger.error("failed, reference %08x", number, exc_info=error)
    logger.error("failed, reference %08x", 99)
    logger.error("failed", exc_info=ValueError("no reference"))
    assert kept.find(f"{9:08x}") is None
    assert kept.find(f"{10:08x}") == "ValueError: 10\n"
    assert kept.find(f"{99:08x}") is None


def test_causes_and_groups_are_shortened_too() -> None:
    def fail() -> None:
        try:
            make_server().tools.add("not a function")  # type: ignore[arg-type]
        except Exception as error:
            raise ExceptionGroup("several", [error]) from error

    with pytest.raises(ExceptionGroup) as caught:
        fail()
    text = format_own(caught.value)
    assert "several" in text
    assert text.count("in fail") == 3
