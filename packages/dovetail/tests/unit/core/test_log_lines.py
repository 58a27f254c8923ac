"""Log records are one line each, whatever a peer has put into them."""

from __future__ import annotations

import io
import logging

import pytest

from dovetail import Server
from dovetail.core import escape_line
from tests.unit.talk import call

FORGED = "x\n2026-01-01 ERROR forged\r\x1b[2J\u2028end"
ESCAPED = r"x\n2026-01-01 ERROR forged\r\x1b[2J\u2028end"


@pytest.mark.parametrize("name", ["dovetail", "dovetail.timing"])
def test_a_record_of_ours_is_one_line(name: str) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        logger.warning("the upstream %r said: %s", "a", FORGED)
    finally:
        logger.removeHandler(handler)
    assert written.getvalue() == f"the upstream 'a' said: {ESCAPED}\n"


def test_a_traceback_keeps_its_lines(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")

    @server.tool
    async def fail() -> str:
        raise ValueError("words")

    call(server, "fail", {})
    assert "Traceback" in caplog.text and 'raise ValueError("words")\n' in caplog.text


def test_plain_text_stays() -> None:
    assert escape_line("Grüße\tan \N{SNOWMAN}") == "Grüße\tan \N{SNOWMAN}"
