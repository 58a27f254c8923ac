"""client/roots: what changes."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail.wire import codec
from dovetail_check.personas import Persona
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []


@probe("roots-changed", era=Family.LEGACY, persona=Persona.CAPABLE)
async def say_that_roots_changed(client: ProbeClient) -> None:
    """Tell it as a client that said it would; a fence shows whether the server lived on."""
    method = "notifications/roots/list_changed"
    message = codec.encode({"jsonrpc": "2.0", "method": method})
    await client.venture(message, ids=(), headers=client.headers_for(method))
