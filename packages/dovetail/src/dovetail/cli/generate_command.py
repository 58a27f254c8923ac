"""`dovetail generate client`: writes a Python module with typed calls of a server's tools."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import click

from dovetail.cli.client_module import write_client_module
from dovetail.cli.client_runs import run_with_client
from dovetail.cli.failures import FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.options import REQUEST_OPTIONS, with_options
from dovetail.cli.schema_check import check_schemas
from dovetail.cli.targets import TargetOptions, find_target
from dovetail.client import Client

__all__ = ["generate"]


@click.group()
def generate() -> None:
    """Write code for the tools of a server."""


@generate.command()
@click.argument("target", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the module to this file instead of stdout.",
)
@click.option("--check", is_flag=True, help="Write nothing; fail if FILE is not up to date.")
@with_options(REQUEST_OPTIONS)
@click.pass_obj
def client(
    command: list[str], /, target: str | None, output: Path | None, check: bool, **given: Any
) -> None:
    """Write a Python module with a typed function for each tool.

    Arguments and structured results are dataclasses.
    """
    if check and output is None:
        raise Failure("--check needs -o FILE, the module to compare", WRONG_USAGE)
    options = TargetOptions(**given)
    source = run_with_client(find_target(target, command, options), options, _write_module)
    if output is None:
        click.echo(source, nl=False)
    elif check:
        _check(output, source)
    else:
        try:
            output.write_text(source, "utf-8")
        except OSError as error:
            raise Failure(f"Cannot write {str(output)!r}: {error.strerror}", WRONG_USAGE) from None


async def _write_module(client: Client) -> str:
    name = client.server_info.name if client.server_info is not None else "without a name"
    tools = await client.list_tools()
    for tool in tools:
        check_schemas(tool)
    return write_client_module(name, tools)


def _check(file: Path, source: str) -> None:
    """Print the differences and fail if the file does not have this source."""
    try:
        found = file.read_text("utf-8")
    except FileNotFoundError:
        found = ""
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"Cannot read {str(file)!r}: {error}", WRONG_USAGE) from None
    if found == source:
        return
    lines = difflib.unified_diff(
        found.splitlines(), source.splitlines(), str(file), "the server now", lineterm=""
    )
    for line in lines:
        click.echo(line)
    raise Failure(f"{str(file)!r} is not up to date; run the command without --check", FAILED_CALL)
