"""Requests for methods of capabilities that the server did not declare."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from dovetail.spec.methods import methods_at
from dovetail_check.completing import completable
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_URI = "dovetail-check-none://no/such/resource"


@probe("undeclared")
async def request_undeclared_methods(client: ProbeClient) -> None:
    """One request for each undeclared capability; the variant is the method."""
    known = methods_at(client.revision)
    await asyncio.gather(
        *(
            client.request(method, params, variant=method)
            for capability, method, params in _requests(client)
            if method in known and not client.has(capability)
        )
    )


def _requests(client: ProbeClient) -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield "tools", "tools/list", {}
    yield "prompts", "prompts/list", {}
    yield "resources", "resources/list", {}
    yield "logging", "logging/setLevel", {"level": "info"}
    uris = [item["uri"] for item in client.catalogue.resources if isinstance(item.get("uri"), str)]
    yield "resources.subscribe", "resources/subscribe", {"uri": [*uris, NO_SUCH_URI][0]}
    if client.revision.completions_capability:
        reference = {"ref": {"type": "ref/prompt", "name": "dovetail-check-no-such-prompt"}}
        made_up = {**reference, "argument": {"name": "sample", "value": ""}}
        yield "completions", "completion/complete", [*completable(client.catalogue), made_up][0]
