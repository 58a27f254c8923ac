"""basic/transports, Streamable HTTP: what is posted that no answer is due to."""

from __future__ import annotations

from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_SESSION = "dovetail-check-no-such-session"
TOKEN = "dovetail-check-http"
_STRAY = b'{"jsonrpc":"2.0","id":"dovetail-check-stray","result":{}}'


@probe("http-post", transports=("http",))
async def post_what_is_not_answered(client: ProbeClient) -> None:
    """notification: one that nobody knows. stray: a response to nothing (legacy era).

    token: a ping that carries a progress token (legacy era).
    no-session: a notification for a session that does not exist (legacy era, with sessions).
    """
    if client.revision.old_sse:
        # Streamable HTTP is not of that revision, so no row asks.
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
