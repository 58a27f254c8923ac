"""basic/transports, Streamable HTTP: POST of messages that get no response."""

from __future__ import annotations

from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_SESSION = "dovetail-check-no-such-session"
TOKEN = "dovetail-check-http"
_STRAY = b'{"jsonrpc":"2.0","id":"dovetail-check-stray","result":{}}'


@probe("http-post", transports=("http",))
async def post_notifications(client: ProbeClient) -> None:
    """notification: an unknown notification. stray: a response without a request (legacy era).

    token: a ping with a progress token (legacy era).
    no-session: a notification with an unknown session id (legacy era, with sessions).
    """
    if client.revision.old_sse:
        # That revision has no Streamable HTTP, so no row needs it.
        return
    unknown = "notifications/dovetail-check"
    await client.notify(unknown, variant="notification")
    if client.is_modern:
        return
    await client.send(_STRAY, ids=(), variant="stray")
    await client.request("ping", meta={"progressToken": TOKEN}, variant="token")
    if client.session is not None:
        headers = {"Mcp-Session-Id": NO_SUCH_SESSION}
        await client.notify(unknown, headers=headers, variant="no-session")
