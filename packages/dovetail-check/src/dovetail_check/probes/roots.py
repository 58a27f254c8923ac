"""client/roots: changes."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail.wire import codec
from dovetail_check.client_profiles import ClientProfile
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []


@probe("roots-changed", era=Family.LEGACY, profile=ClientProfile.FULL)
async def send_roots_list_changed(client: ProbeClient) -> None:
    """Send roots/list_changed as a client that declared it, then a fence request."""
    method = "notifications/roots/list_changed"
    message = codec.encode({"jsonrpc": "2.0", "method": method})
    await client.send_lenient(message, ids=(), headers=client.headers_for(method))
