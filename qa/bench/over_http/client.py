"""The client's side of HTTP: the bytes of a request, and a socket that asks and checks.

The load generator sends the very bytes that are checked here; only the id differs.
"""

from __future__ import annotations

import socket
from typing import NamedTuple

from qa.bench.messages import INITIALIZED, REVISIONS, Era, call_messages, check_sums, opening

__all__ = ["FIRST_ID", "Answer", "Template", "ask", "check", "open_session", "template_of"]

# Ids of nine digits: a request has the same length whatever its number, and so has the sum.
FIRST_ID = 100_000_000
_PATIENCE = 20.0


class Template(NamedTuple):
    """A call, cut where its number goes: it is the id and the first argument."""

    before: bytes
    between: bytes
    after: bytes

    def fill(self, id: int) -> bytes:
        """The request with this id."""
        number = str(id).encode()
        return self.before + number + self.between + number + self.after


class Answer(NamedTuple):
    """A response as it came, and what it says."""

    size: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def kind(self) -> str:
        """The media type."""
        return dict(self.headers).get("content-type", "none").partition(";")[0]

    @property
    def message(self) -> bytes:
        """The JSON-RPC message in it; in a stream of events, the last one."""
        if self.kind != "text/event-stream":
            return self.body
        data = [line for line in self.body.splitlines() if line.startswith(b"data:")]
        return data[-1].removeprefix(b"data:").strip()


def _head(port: int, era: Era, method: str, length: int, session: str | None) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {length}",
    ]
    if method != "initialize":
        lines.append(f"MCP-Protocol-Version: {REVISIONS[era]}")
    if session is not None:
        lines.append(f"Mcp-Session-Id: {session}")
    if era == "modern":
        lines += [f"Mcp-Method: {method}", "Mcp-Name: add"]
    return "\r\n".join([*lines, "", ""]).encode()


def template_of(port: int, era: Era, session: str | None) -> Template:
    """A call of `add`."""
    body = call_messages("add", era, FIRST_ID, 1)[0]
    whole = _head(port, era, "tools/call", len(body), session) + body
    before, between, after = whole.split(str(FIRST_ID).encode())
    return Template(before, between, after)


def open_session(port: int) -> str:
    """Shake hands as a legacy client; the id of the session."""
    hello = opening("legacy")
    answer = ask(port, _head(port, "legacy", "initialize", len(hello), None) + hello)
    session = dict(answer.headers)["mcp-session-id"]
    head = _head(port, "legacy", "notifications/initialized", len(INITIALIZED), session)
    ask(port, head + INITIALIZED)
    return session


def ask(port: int, request: bytes) -> Answer:
    """One request on a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE) as connection:
        connection.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += _receive(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = [(name.lower(), value.strip()) for name, _, value in map(_split, lines)]
        if "chunked" in dict(headers).get("transfer-encoding", ""):
            while not body.endswith(b"0\r\n\r\n"):
                body += _receive(connection)
        else:
            length = int(dict(headers).get("content-length", "0"))
            while len(body) < length:
                body += _receive(connection)
    if status.split()[1] not in ("200", "202"):
        raise AssertionError(f"refused: {status}: {body[:300]!r}")
    return Answer(len(head) + 4 + len(body), headers, body)


def _split(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionError("the server has closed the connection before its answer was whole")
    return data


def check(port: int, template: Template, id: int, expected_id: int | None = None) -> Answer:
    """Ask once, and look whether the sum is right."""
    answer = ask(port, template.fill(id))
    check_sums([answer.message], id if expected_id is None else expected_id, 1)
    return answer
