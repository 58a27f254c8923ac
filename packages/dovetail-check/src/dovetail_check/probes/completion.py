"""server/utilities/completion."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail_check.completing import completable
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.prompts import NO_SUCH_PROMPT
from dovetail_check.probing import probe

__all__: list[str] = []

MAX_COMPLETED = 6


@probe("complete")
async def complete(client: ProbeClient) -> None:
    """fitting: arguments of prompts and templates, with an empty value.

    unknown: an unknown prompt. missing: no argument. wrong-type/...: a ref that is a string, a
    value that is a number.
    """
    # The first revision has no capability for completions: try if there is something to complete.
    if client.revision.completions_capability and not client.has("completions"):
        return
    fitting = completable(client.catalogue)
    if not fitting:
        return
    first = fitting[0]
    name = first["argument"]["name"]
    unknown = {"type": "ref/prompt", "name": NO_SUCH_PROMPT}
    sent: list[tuple[str, dict[str, Any]]] = [
        *(("fitting", params) for params in fitting[:MAX_COMPLETED]),
        ("unknown", {"ref": unknown, "argument": {"name": name, "value": ""}}),
        ("missing", {"ref": first["ref"]}),
        ("wrong-type/ref", {**first, "ref": "dovetail-check"}),
        ("wrong-type/value", {**first, "argument": {"name": name, "value": 5}}),
    ]
    await asyncio.gather(
        *(
            client.request("completion/complete", params, variant=variant)
            for variant, params in sent
        )
    )
