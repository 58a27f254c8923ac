"""`dovetail inspect`: the name, capabilities and revisions of a server."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from dovetail.cli.client_runs import close_server, make_client, run_with_client
from dovetail.cli.list_command import read_listing
from dovetail.cli.options import TARGET_OPTIONS, with_options
from dovetail.cli.output import print_json, print_pairs
from dovetail.cli.printing import describe_capabilities
from dovetail.cli.signatures import describe_tool
from dovetail.cli.targets import TargetOptions, find_target
from dovetail.client import Client
from dovetail.client.targets import Target
from dovetail.errors import DovetailError
from dovetail.spec.models import Implementation
from dovetail.spec.revisions import REVISIONS

__all__ = ["inspect"]


@click.command()
@click.argument("target", required=False)
@with_options(TARGET_OPTIONS)
@click.pass_obj
def inspect(command: list[str], /, target: str | None, as_json: bool, **given: Any) -> None:
    """Show the name, capabilities and supported revisions of a server."""
    options = TargetOptions(**given)
    found = find_target(target, command, options)
    facts = run_with_client(found, options, _read_facts)
    facts["revisions"] = _find_revisions(found, options)
    if as_json:
        print_json(facts)
    else:
        _print_facts(facts)


async def _read_facts(client: Client) -> dict[str, Any]:
    listing = await read_listing(client)
    return {
        "server": client.server_info,
        "revision": client.revision,
        "instructions": client.instructions,
        **msgspec.structs.asdict(listing),
    }


def _find_revisions(target: Target, options: TargetOptions) -> list[str]:
    """Try each revision on a separate connection, because legacy servers name only one."""

    async def supports(date: str) -> bool:
        try:
            async with make_client(target, options, mode=date):
                return True
        except (DovetailError, TimeoutError):
            return False

    async def try_all() -> list[bool]:
        try:
            return await asyncio.gather(*(supports(revision.date) for revision in REVISIONS))
        finally:
            await close_server(target)

    supported = asyncio.run(try_all())
    return [
        revision.date
        for revision, is_supported in zip(REVISIONS, supported, strict=True)
        if is_supported
    ]


def _print_facts(facts: dict[str, Any]) -> None:
    server: Implementation | None = facts["server"]
    kinds = ("tool", "prompt", "resource", "template")
    pairs = [
        ("Server", "(no name given)" if server is None else f"{server.name} {server.version}"),
        ("Title", (server.title if server is not None else None) or ""),
        ("Negotiated", facts["revision"]),
        ("Revisions", ", ".join(facts["revisions"])),
        ("Capabilities", describe_capabilities(facts["capabilities"])),
        ("Offers", ", ".join(_count(kind, len(facts[f"{kind}s"])) for kind in kinds)),
        ("Instructions", facts["instructions"] or ""),
        *(("Tool", describe_tool(tool)) for tool in facts["tools"]),
    ]
    print_pairs([(name, value) for name, value in pairs if value])


def _count(kind: str, number: int) -> str:
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"
