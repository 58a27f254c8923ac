"""server/prompts."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_PROMPT = "dovetail-check-no-such-prompt"
MAX_PROMPTS = 6


@probe("get-prompts", needs="prompts")
async def get_prompts(client: ProbeClient) -> None:
    """Get some prompts, with a string for each required argument."""
    await asyncio.gather(
        *(
            client.request(
                "prompts/get",
                {
                    "name": prompt["name"],
                    "arguments": dict.fromkeys(_required(prompt), "sample"),
                },
            )
            for prompt in _named(client)[:MAX_PROMPTS]
        )
    )


@probe("prompt-refusals", needs="prompts")
async def get_invalid_prompts(client: ProbeClient) -> None:
    """unknown: an unknown prompt. missing: no required arguments. wrong-type: an array."""
    gets: list[tuple[str, dict[str, Any]]] = [
        ("unknown", {"name": NO_SUCH_PROMPT, "arguments": {}})
    ]
    for prompt in [prompt for prompt in _named(client) if _required(prompt)][:MAX_PROMPTS]:
        valid: dict[str, Any] = dict.fromkeys(_required(prompt), "sample")
        invalid = {**valid, _required(prompt)[0]: ["dovetail-check"]}
        gets.append(("missing", {"name": prompt["name"], "arguments": {}}))
        gets.append(("wrong-type", {"name": prompt["name"], "arguments": invalid}))
    await asyncio.gather(
        *(client.request("prompts/get", params, variant=fault) for fault, params in gets)
    )


def _named(client: ProbeClient) -> list[dict[str, Any]]:
    return [prompt for prompt in client.catalogue.prompts if isinstance(prompt.get("name"), str)]


def _required(prompt: dict[str, Any]) -> list[str]:
    arguments = prompt.get("arguments")
    return [
        argument["name"]
        for argument in (arguments if isinstance(arguments, list) else ())
        if isinstance(argument, dict)
        and argument.get("required") is True
        and isinstance(argument.get("name"), str)
    ]
