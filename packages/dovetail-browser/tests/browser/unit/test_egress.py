"""The proxy, with valid and invalid requests."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any

import pytest

from dovetail_browser.addresses import AddressRules, Destination
from dovetail_browser.egress import Egress, EgressLimits, Resolver, resolve_name
from tests.browser.listening import Handler, listening
from tests.patience import CAP


def run(scenario: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(CAP):
            await scenario

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def proxy(
    *allow: str,
    resolve: Resolver = resolve_name,
    rules: AddressRules | None = None,
    by_secret: bool | None = None,
    **limits: Any,
) -> AsyncIterator[Egress]:
    egress = Egress(
        rules or AddressRules(allow),
        resolve=resolve,
        limits=EgressLimits(**limits),
        by_secret=by_secret,
    )
    await egress.start()
    try:
        yield egress
    finally:
        await egress.close()


async def ask(egress: Egress, request: str | bytes) -> bytes:
    """Everything that the proxy answers to these bytes until it hangs up."""
    reader, writer = await asyncio.open_connection(*egress.address.split(":"))
    try:
        writer.write(request if isinstance(request, bytes) else request.encode())
        with contextlib.suppress(ConnectionError):
            return await reader.read()
        return b""
    finally:
        writer.close()


def get(url: str, *headers: str) -> str:
    host = url.split("/")[2]
    return "\r\n".join([f"GET {url} HTTP/1.1", f"Host: {host}", *headers, "", ""])


def answering(body: bytes, received: list[bytes], *headers: str, stays: bool = False) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        head = ["HTTP/1.1 200 Fine", f"Content-Length: {len(body)}", *headers, "", ""]
        writer.write("\r\n".join(head).encode() + body)
        await writer.drain()
        # Some servers ignore that they were asked to close.
        if stays:
            await reader.read()
        writer.close()

    return handle


def test_a_request_reaches_its_server_with_its_own_path_and_host() -> None:
    async def scenario() -> None:
        received: list[bytes] = []
        handler = answering(
            b"hello", received, "Connection: keep-alive", "Keep-Alive: 5", stays=True
        )
        async with listening(handler) as port, proxy(f"127.0.0.1:{port}") as egress:
            url = f"http://127.0.0.1:{port}/a%20b?c=d&e"
            reader, writer = await asyncio.open_connection(*egress.address.split(":"))
            hop = ["Proxy-Connection: keep-alive", "Proxy-Authorization: x", "Connection: X-Hop"]
            writer.write(get(url, *hop, "X-Hop: 1", "X-Kept: 2", "TE: trailers").encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            assert await reader.readexactly(5) == b"hello"
            writer.close()
            assert head.startswith("HTTP/1.1 200 Fine\r\n")
            assert "Connection: close" in head and "eep-" not in head
            sent = received[0].decode().split("\r\n")
            assert sent[:2] == ["GET /a%20b?c=d&e HTTP/1.1", f"Host: 127.0.0.1:{port}"]
            assert set(sent[2:]) == {"X-Kept: 2", "Connection: close", ""}

    run(scenario())


def test_a_body_is_forwarded_and_nothing_after_it() -> None:
    async def scenario() -> None:
        bodies: list[bytes] = []
        over = asyncio.Event()

        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            bodies.append(await reader.readexactly(5))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            writer.write_eof()
            # Until the proxy hangs up.
            bodies.append(await reader.read())
            over.set()

        async with listening(handler) as port, proxy(f"127.0.0.1:{port}") as egress:
            url = f"http://127.0.0.1:{port}/"
            second = get("http://10.0.0.1/")
            post = get(url, "Content-Length: 5").replace("GET", "POST") + "12345" + second
            answer = await ask(egress, post)
            assert answer.startswith(b"HTTP/1.1 204 ") and answer.count(b"HTTP/1.1") == 1
            await over.wait()
            assert bodies == [b"12345", b""]

    run(scenario())


def test_interim_responses_are_forwarded() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    async def scenario() -> None:
        async with listening(handler) as port, proxy(f"127.0.0.1:{port}") as egress:
            answer = await ask(egress, get(f"http://127.0.0.1:{port}/"))
            assert answer == (
                b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
            )

    run(scenario())


def test_a_tunnel_relays_both_directions_until_one_side_closes() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data.upper())
            if data == b"bye":
                writer.close()

    async def scenario() -> None:
        async with listening(echo) as port, proxy(f"127.0.0.1:{port}") as egress:
            reader, writer = await asyncio.open_connection(*egress.address.split(":"))
            writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            for word in (b"one", b"two", b"bye"):
                writer.write(word)
                assert await reader.readexactly(3) == word.upper()
            assert await reader.read() == b""
            writer.close()

    run(scenario())


@pytest.mark.parametrize("form", ["GET http://{}/ HTTP/1.1", "CONNECT {} HTTP/1.1"])
@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("127.0.0.1:{port}", "loopback"),
        ("localhost:{port}", "this machine"),
        ("[::1]:{port}", "loopback"),
        ("[::ffff:127.0.0.1]:{port}", "loopback"),
        ("2130706433:{port}", "loopback"),
        ("0x7f.1:{port}", "loopback"),
        ("169.254.169.254:80", "metadata"),
        ("rebound.example:{port}", "resolves to 127.0.0.1"),
        ("mixed.example:{port}", "resolves to 10.0.0.1"),
        ("six.example:{port}", "resolves to ::1"),
    ],
)
def test_a_refused_request_says_why_and_connects_to_nothing(
    form: str, target: str, word: str
) -> None:
    names = {
        "rebound.example": ["127.0.0.1"],
        "mixed.example": ["93.184.216.34", "10.0.0.1"],
        "six.example": ["2606:4700::1", "::1"],
    }

    async def resolve(host: str, _port: int) -> Sequence[str]:
        return names[host]

    async def scenario() -> None:
        visits: list[bytes] = []
        async with listening(answering(b"", visits)) as port, proxy(resolve=resolve) as egress:
            destination = target.format(port=port)
            answer = (await ask(egress, f"{form.format(destination)}\r\nHost: x\r\n\r\n")).decode()
            assert answer.startswith("HTTP/1.1 403 Forbidden\r\n")
            assert word in answer.partition("\r\n\r\n")[2]
            host = destination.rpartition(":")[0]
            assert word in str(egress.last_refusal(host))
            assert visits == []

    run(scenario())


class _OnePublic(AddressRules):
    """Takes one address of loopback for a public one, where a server of the test is."""

    def check_address(self, destination: Destination, resolved: str) -> str | None:
        return None if resolved == "127.0.0.1" else super().check_address(destination, resolved)


def test_a_name_is_resolved_once_and_the_checked_address_is_used() -> None:
    lookups: list[str] = []

    async def resolve(host: str, _port: int) -> Sequence[str]:
        lookups.append(host)
        return ["127.0.0.1"] if len(lookups) == 1 else ["127.0.0.2"]

    async def scenario() -> None:
        received: list[bytes] = []
        async with (
            listening(answering(b"public", received)) as port,
            proxy(rules=_OnePublic(), resolve=resolve) as egress,
        ):
            first = await ask(egress, get(f"http://evil.example:{port}/"))
            assert first.endswith(b"public") and lookups == ["evil.example"]
            assert egress.last_refusal("evil.example") is None
            # Rebound: the same name, a moment later, is judged again.
            second = await ask(egress, get(f"http://evil.example:{port}/"))
            assert second.startswith(b"HTTP/1.1 403") and b"127.0.0.2" in second
            assert "127.0.0.2" in str(egress.last_refusal("EVIL.example."))

    run(scenario())


def test_a_response_of_the_proxy_is_told_from_one_of_a_site() -> None:
    async def scenario() -> None:
        async with proxy() as egress:
            head = (await ask(egress, get("http://10.0.0.1/"))).decode().partition("\r\n\r\n")[0]
            headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
            assert "10.0.0.1" in str(egress.failure_reason(headers))
            # A site has seen the header and writes its own text into it.
            signature = headers["dovetail-failure"].partition(" ")[0]
            for forged in (f"{signature} call%20me", "é x", "", signature):
                assert egress.failure_reason({"dovetail-failure": forged}) is None
            assert egress.failure_reason({}) is None

    run(scenario())


def test_a_refusal_is_forgotten_when_the_host_is_reached() -> None:
    answers = [["10.0.0.1"], ["127.0.0.1"]]

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return answers.pop(0)

    async def scenario() -> None:
        async with (
            listening(answering(b"", [])) as port,
            proxy(rules=_OnePublic(), resolve=resolve) as egress,
        ):
            await ask(egress, get(f"http://a.example:{port}/"))
            assert egress.last_refusal("a.example") is not None
            await ask(egress, get(f"http://a.example:{port}/"))
            assert egress.last_failure("a.example") is None

    run(scenario())


def test_the_next_address_is_tried_if_one_does_not_respond() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.3", "127.0.0.1"]

    async def scenario() -> None:
        async with (
            listening(answering(b"here", [])) as port,
            proxy("a.example", resolve=resolve) as egress,
        ):
            assert (await ask(egress, get(f"http://a.example:{port}/"))).endswith(b"here")

    run(scenario())


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
        ("GET https://example.com/ HTTP/1.1\r\n\r\n", 400),
        ("GET ftp://example.com/ HTTP/1.1\r\n\r\n", 400),
        ("GET http://[::1/ HTTP/1.1\r\n\r\n", 400),
        ("CONNECT example.com HTTP/1.1\r\n\r\n", 400),
        ("CONNECT example.com:99999999 HTTP/1.1\r\n\r\n", 400),
        ("CONNECT :443 HTTP/1.1\r\n\r\n", 400),
        ("CONNECT example.com:0 HTTP/1.1\r\n\r\n", 403),
        ("nonsense\r\n\r\n", 400),
        ("GET http://example.com/ HTTP/2\r\n\r\n", 400),
        ("GET http://example.com/ HTTP/1.1\r\nBad header\r\n\r\n", 400),
        ("GET http://example.com/ HTTP/1.1\r\nA : b\r\n\r\n", 400),
        ("POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        ("POST http://example.com/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 411),
        ("POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 411),
        ("GET http://user:hunter2@example.com/ HTTP/1.1\r\n\r\n", 403),
    ],
)
def test_invalid_requests_are_rejected(request_text: str, status: int) -> None:
    async def scenario() -> None:
        async with proxy() as egress:
            answer = (await ask(egress, request_text)).decode()
            assert answer.startswith(f"HTTP/1.1 {status} ") and "hunter2" not in answer

    run(scenario())


def test_a_head_that_is_too_long_ends_the_connection() -> None:
    async def scenario() -> None:
        async with proxy(head_bytes=1_000) as egress:
            long = get("http://example.com/", f"X: {'x' * 5_000}")
            assert await ask(egress, long) == b""

    run(scenario())


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_response_that_is_too_large_is_cut_off_and_explained(is_announced: bool) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        length = b"Content-Length: 1000000\r\n" if is_announced else b""
        writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    async def scenario() -> None:
        async with (
            listening(handler) as port,
            proxy("localhost", response_bytes=100_000) as egress,
        ):
            answer = await ask(egress, get(f"http://localhost:{port}/"))
            assert len(answer) < 200_000
            assert "100,000 bytes" in str(egress.last_refusal("localhost"))

    run(scenario())


@pytest.mark.parametrize("pause_seconds", [0.05, CAP])
def test_the_size_limit_in_a_tunnel_restarts_after_a_pause(
    pause_seconds: float,
) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1):
            writer.write(b"x" * 80_000)

    async def scenario() -> None:
        async with (
            listening(handler) as port,
            proxy("localhost", response_bytes=100_000, pause_seconds=pause_seconds) as egress,
        ):
            reader, writer = await asyncio.open_connection(*egress.address.split(":"))
            writer.write(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"1")
            await reader.readexactly(80_000)
            assert egress.last_refusal("localhost") is None
            if pause_seconds == CAP:
                writer.write(b"2")
                with contextlib.suppress(ConnectionError):
                    assert len(await reader.read(-1)) < 80_000
                assert "was cut" in str(egress.last_refusal("localhost"))
            else:
                for _ in range(2):
                    # The pause is what is tested.
                    await asyncio.sleep(2 * pause_seconds)
                    writer.write(b"2")
                    await reader.readexactly(80_000)
                assert egress.last_refusal("localhost") is None
            writer.close()

    run(scenario())


def test_an_idle_connection_is_closed() -> None:
    async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def scenario() -> None:
        async with listening(silent) as port, proxy("localhost", idle_seconds=0.5) as egress:
            assert await ask(egress, b"") == b""
            tunnel = await ask(egress, f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n")
            assert tunnel.startswith(b"HTTP/1.1 200")
            answer = await ask(egress, get(f"http://localhost:{port}/"))
            assert answer.startswith(b"HTTP/1.1 502")

    run(scenario())


def test_too_many_connections_are_rejected() -> None:
    async def scenario() -> None:
        async with proxy(connections=2) as egress:
            waiting = [await asyncio.open_connection(*egress.address.split(":")) for _ in range(2)]
            assert (await ask(egress, b"")).startswith(b"HTTP/1.1 503")
            for _, writer in waiting:
                writer.close()

    run(scenario())


def test_unreachable_hosts_are_distinguished_from_refused_ones() -> None:
    async def resolve(host: str, _port: int) -> Sequence[str]:
        if host == "unknown.example":
            raise OSError(-2, "Name or service not known")
        return [] if host == "empty.example" else ["127.0.0.1"]

    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0\r\n\r\n")
        writer.close()

    async def scenario() -> None:
        async with (
            listening(garbage) as port,
            proxy("odd.example", "closed.example", resolve=resolve) as egress,
        ):
            server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
            closed = server.sockets[0].getsockname()[1]
            server.close()
            await server.wait_closed()
            for host, where, word in [
                ("unknown.example", 80, "not known"),
                ("empty.example", 80, "no address"),
                ("closed.example", closed, "cannot be connected to"),
                ("odd.example", port, "not send a valid HTTP response"),
            ]:
                answer = (await ask(egress, get(f"http://{host}:{where}/"))).decode()
                assert answer.startswith("HTTP/1.1 502 ") and word in answer
                trouble = egress.last_failure(host)
                assert trouble is not None and not trouble.is_refusal
                assert egress.last_refusal(host) is None

    run(scenario())


def test_the_proxy_never_connects_to_itself() -> None:
    async def scenario() -> None:
        async with proxy("localhost", "127.0.0.0/8") as egress:
            port = egress.address.partition(":")[2]
            for host in ("localhost", "127.0.0.1"):
                answer = await ask(egress, get(f"http://{host}:{port}/"))
                assert b"own proxy" in answer

    run(scenario())


def test_a_password_is_required_if_peers_cannot_be_identified() -> None:
    async def scenario() -> None:
        async with (
            listening(answering(b"in", [])) as port,
            proxy("localhost", by_secret=True) as egress,
        ):
            url = f"http://localhost:{port}/"
            assert egress.credentials is not None
            right = base64.b64encode(":".join(egress.credentials).encode()).decode()
            for wrong in ((), ("Proxy-Authorization: Basic x",), (f"Authorization: {right}",)):
                answer = await ask(egress, get(url, *wrong))
                assert answer.startswith(b"HTTP/1.1 407") and b"Proxy-Authenticate: Basic" in answer
            answer = await ask(egress, get(url, f"Proxy-Authorization: Basic {right}"))
            assert answer.endswith(b"in")

    run(scenario())
