"""Behind a proxy no request reaches the application that the proxy did not forward."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.deep.http_corpus.sending import Sender
from tests.deep.http_corpus.stacks import STACKS, serving
from tests.http_corpus.cases import CASES, KEY, WEBSOCKET_CASES, call_body, make_request
from tests.http_corpus.proxies import PROXIES, Proxy, proxying
from tests.patience import CAP, wait_until


@pytest.fixture(scope="module", params=STACKS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sender]:
    """A server; the sender asks it directly."""
    with serving(STACKS[request.param], tmp_path_factory.mktemp("stack") / "log") as port:
        sender = Sender(port)
        yield sender
        sender.close()


def send(proxy: Proxy, raw: bytes) -> bytes:
    """Send bytes to the proxy and read until it closes the connection."""
    received = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(CAP)
        client.connect(str(proxy.socket))
        # The proxy may close the connection before it has read everything.
        with contextlib.suppress(ConnectionError):
            client.sendall(raw)
            while data := client.recv(65536):
                received += data
    return received


def has_forwarded(proxy: Proxy, start: int, count: int) -> bool:
    return proxy.count_forwarded(start) >= count


@pytest.mark.parametrize("name", PROXIES)
def test_the_application_gets_what_the_proxy_forwards(
    server: Sender, name: str, tmp_path: Path
) -> None:
    problems = []
    with proxying(name, tmp_path, server.port) as proxy:
        for case in (*CASES, *WEBSOCKET_CASES):
            key = secrets.token_hex(len(KEY) // 2).encode()
            last = make_request(
                body := call_body("count", b"after-" + key),
                [b"Content-Length: %d" % len(body), b"Connection: close"],
            )
            start = proxy.log.stat().st_size
            received = send(proxy, case.raw.replace(KEY, key) + last)
            own, after, smuggled = (
                server.read_count(kind + key) for kind in (b"own-", b"after-", b"smuggled-")
            )
            # The proxy writes its log after the response.
            reached = own + after
            wait_until(partial(has_forwarded, proxy, start, reached))
            forwarded = proxy.count_forwarded(start)
            if smuggled or forwarded != reached or received.count(b" 200 OK\r\n") > forwarded:
                problems.append((case.name, own, after, smuggled, forwarded, received[:300]))
    assert problems == []
