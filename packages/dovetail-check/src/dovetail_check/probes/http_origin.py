"""basic/transports, security: requests with a foreign Origin, or to another address."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.safety import is_loopback

__all__ = ["own_addresses", "reach"]

FOREIGN = "dovetail-check.example"


@probe("http-origin", transports=("http", "sse"))
async def send_foreign_origins(client: ProbeClient) -> None:
    """foreign: the Origin of an unknown site. null: Origin null.

    rebound: DNS rebinding, where Host and Origin are the same foreign name. get: the GET stream
    with a foreign Origin (legacy era).
    """
    connection = client.connection
    if not isinstance(connection, HttpConnection) or (client.is_http and client.revision.old_sse):
        # The oldest revision has no Streamable HTTP, so no row needs it.
        return
    method = "server/discover" if client.is_modern else "ping"
    tries = {"foreign": {"Origin": f"http://{FOREIGN}"}, "null": {"Origin": "null"}}
    if is_loopback(connection.url):
        port = urlsplit(connection.url).port
        host = FOREIGN if port is None else f"{FOREIGN}:{port}"
        tries["rebound"] = {"Origin": f"http://{host}", "Host": host}
    await asyncio.gather(
        *(client.request(method, headers=headers, variant=name) for name, headers in tries.items())
    )
    if not client.is_modern:
        stream = await client.fetch("GET", headers=tries["foreign"], variant="get", keep_open=True)
        await connection.close_response(stream)


@probe("http-reach", transports=("http", "sse"))
async def try_other_addresses(client: ProbeClient) -> None:
    """other: the same port at other addresses of this machine, if the server is local."""
    await reach(client, own_addresses())


async def reach(client: ProbeClient, addresses: Iterable[str]) -> None:
    """Request the same URL at other addresses."""
    connection = client.connection
    if not isinstance(connection, HttpConnection) or not is_loopback(connection.url):
        return
    parts = urlsplit(connection.url)
    for address in addresses:
        host = address if parts.port is None else f"{address}:{parts.port}"
        url = parts._replace(netloc=host).geturl()
        await client.fetch("OPTIONS", url=url, variant="other", timeout=1.0)


def own_addresses() -> list[str]:
    """Addresses of this machine in its network. Nothing is sent to find them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as finder:
        try:
            # A documentation network (RFC 5737): connecting a UDP socket only selects the route.
            finder.connect(("192.0.2.1", 9))
            found: str = finder.getsockname()[0]
        except OSError:
            return []
    return [] if found.startswith("127.") else [found]
