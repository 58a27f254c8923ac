"""`dovetail openapi`: the OpenAPI document of the REST interface of a server."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from dovetail import Client
from dovetail.commands import (
    REQUEST_OPTIONS,
    TargetOptions,
    find_target,
    print_json,
    run_with_client,
    with_options,
)
from dovetail_openapi.rest import describe_tools

__all__ = ["openapi"]


@click.command()
@click.argument("target", required=False)
@click.option(
    "--server-url",
    "servers",
    multiple=True,
    metavar="URL",
    help="Name this URL as the server of the REST interface (repeatable).",
)
@with_options(REQUEST_OPTIONS)
@click.pass_obj
def openapi(
    command: list[str], /, target: str | None, servers: tuple[str, ...], **given: Any
) -> None:
    """Print the tools of a server as an OpenAPI 3.1 document, one operation for each tool.

    `dovetail run FILE --http PORT --rest` serves these operations.
    """
    options = TargetOptions(**given)

    async def describe(client: Client) -> dict[str, Any]:
        tools = msgspec.to_builtins(await client.list_tools())
        info = msgspec.to_builtins(client.server_info) or {"name": "MCP server", "version": "0.0.0"}
        return describe_tools(tools, info, servers=servers)

    print_json(run_with_client(find_target(target, command, options), options, describe))
