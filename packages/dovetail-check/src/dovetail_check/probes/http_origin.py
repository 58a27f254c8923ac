"""basic/transports, security: pages of the web that talk to a server they should not reach."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from dovetail_check.lines.http_line import HttpLine
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.safety import is_loopback

__all__ = ["own_addresses", "reach"]

FOREIGN = "dovetail-check.example"


@probe("http-origin", transports=("http", "sse"))
async def come_from_elsewhere(client: ProbeClient) -> None:
    """foreign: from a page of a site nobody knows. null: from a page of no site.

    rebound: from a site whose name now points to this machine, so that Host and Origin agree.
    get: the stream, for a foreign page (legacy era).
    """
    line = client.line
    if not isinstance(line, HttpLine) or (client.is_http and client.revision.old_sse):
        # Streamable HTTP is not of the oldest revision, so no row asks.
        return
    method = "server/discover" if client.is_modern else "ping"
    tries = {"foreign": {"Origin": f"http://{FOREIGN}"}, "null": {"Origin": "null"}}
    if is_loopback(line.url):
        port = urlsplit(line.url).port
        host = FOREIGN if port is None else f"{FOREIGN}:{port}"
        tries["rebound"] = {"Origin": f"http://{host}", "Host": host}
    await asyncio.gather(
        *(client.request(method, headers=headers, variant=name) for name, headers in tries.items())
    )
    if not client.is_modern:
        stream = await client.fetch("GET", headers=tries["foreign"], variant="get", holds=True)
        await line.hang_up(stream)


@probe("http-reach", transports=("http", "sse"))
async def come_from_the_network(client: ProbeClient) -> None:
    """other: the same port at this machine's other addresses, where the server is local."""
    await reach(client, own_addresses())


async def reach(client: ProbeClient, addresses: Iterable[str]) -> None:
    """Ask for the same URL at other addresses."""
    line = client.line
    if not isinstance(line, HttpLine) or not is_loopback(line.url):
        return
    parts = urlsplit(line.url)
    for address in addresses:
        host = address if parts.port is None else f"{address}:{parts.port}"
        url = parts._replace(netloc=host).geturl()
        await client.fetch("OPTIONS", url=url, variant="other", timeout=1.0)


def own_addresses() -> list[str]:
    """Addresses of this machine that others can reach; nothing is sent to find out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as finder:
        try:
            # A network for documentation (RFC 5737): only the way there is asked for.
            finder.connect(("192.0.2.1", 9))
            found: str = finder.getsockname()[0]
        except OSError:
            return []
    return [] if found.startswith("127.") else [found]
