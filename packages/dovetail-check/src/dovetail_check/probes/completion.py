"""server/utilities/completion."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail_check.completing import completable
from dovetail_check.probes.prompts import NO_SUCH_PROMPT
from dovetail_check.probing import probe
from dovetail_check.talk import Talk

__all__: list[str] = []

MOST_COMPLETED = 6


@probe("complete")
async def complete(talk: Talk) -> None:
    """fitting: what prompts and templates name, with nothing typed.

    unknown: a prompt that does not exist. missing: no argument. wrong-type/...: a ref that is a
    text, a value that is a number.
    """
    # The first revision has no capability for it: whoever has something to complete is asked.
    if talk.revision.completions_capability and not talk.has("completions"):
        return
    fitting = completable(talk.catalogue)
    if not fitting:
        return
    first = fitting[0]
    name = first["argument"]["name"]
    unknown = {"type": "ref/prompt", "name": NO_SUCH_PROMPT}
    sent: list[tuple[str, dict[str, Any]]] = [
        *(("fitting", params) for params in fitting[:MOST_COMPLETED]),
        ("unknown", {"ref": unknown, "argument": {"name": name, "value": ""}}),
        ("missing", {"ref": first["ref"]}),
        ("wrong-type/ref", {**first, "ref": "dovetail-check"}),
        ("wrong-type/value", {**first, "argument": {"name": name, "value": 5}}),
    ]
    await asyncio.gather(
        *(talk.request("completion/complete", params, variant=variant) for variant, params in sent)
    )
