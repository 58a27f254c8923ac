"""Methods of capabilities that the server did not declare: what is offered must be declared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from dovetail.spec.methods import methods_at
from dovetail_check.completing import completable
from dovetail_check.probing import probe
from dovetail_check.talk import Talk

__all__: list[str] = []

NO_SUCH_URI = "dovetail-check-none://no/such/resource"


@probe("undeclared")
async def ask_for_what_is_not_declared(talk: Talk) -> None:
    """One request for each such capability; the variant is the method."""
    known = methods_at(talk.revision)
    await asyncio.gather(
        *(
            talk.request(method, params, variant=method)
            for capability, method, params in _requests(talk)
            if method in known and not talk.has(capability)
        )
    )


def _requests(talk: Talk) -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield "tools", "tools/list", {}
    yield "prompts", "prompts/list", {}
    yield "resources", "resources/list", {}
    yield "logging", "logging/setLevel", {"level": "info"}
    uris = [item["uri"] for item in talk.catalogue.resources if isinstance(item.get("uri"), str)]
    yield "resources.subscribe", "resources/subscribe", {"uri": [*uris, NO_SUCH_URI][0]}
    if talk.revision.completions_capability:
        reference = {"ref": {"type": "ref/prompt", "name": "dovetail-check-no-such-prompt"}}
        made_up = {**reference, "argument": {"name": "sample", "value": ""}}
        yield "completions", "completion/complete", [*completable(talk.catalogue), made_up][0]
