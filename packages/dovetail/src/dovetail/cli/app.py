"""The commands `run`, `list`, `call` and `inspect`; the others have their own modules.

TARGET is FILE.py, FILE.py:NAME or a URL. Without a TARGET, everything after `--` is a command that
starts a server.
"""

from __future__ import annotations

import asyncio
import difflib
import importlib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from dovetail.cli.arguments import parse_arguments, parse_object
from dovetail.cli.failures import FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.groups import run_group
from dovetail.cli.guard_options import GuardOptions
from dovetail.cli.options import (
    GUARD_OPTIONS,
    HTTP_OPTIONS,
    REACH_OPTIONS,
    OptionMaker,
    with_options,
)
from dovetail.cli.output import print_json, print_pairs
from dovetail.cli.plugins import COMMANDS, PluginError, unavailable
from dovetail.cli.printing import Listing, describe_capabilities, print_listing, print_result
from dovetail.cli.run_stdio import run_file
from dovetail.cli.signatures import describe_tool
from dovetail.cli.targets import (
    TargetOptions,
    close_server,
    find_target,
    make_client,
    run_with_client,
)
from dovetail.client import CallResult, Client
from dovetail.client.targets import Target
from dovetail.errors import DovetailError, UsageError
from dovetail.spec.models import Implementation, ProgressParams, Tool
from dovetail.spec.revisions import REVISIONS

__all__ = ["app", "run_app"]

_GUARD_FIELDS = tuple(option.name for option in fields(GuardOptions))
# Commands of this package that are imported on first use: name -> module:object.
_LAZY = {
    "tasks": "dovetail.cli.tasks_command:tasks",
    "serve": "dovetail.cli.serve_command:serve",
    "keys": "dovetail.cli.keys_command:keys",
}


def run_app(arguments: Sequence[str]) -> int:
    """Run a command line; click exits the process with the exit code."""
    return run_group(app, arguments, "dovetail")


class LazyGroup(click.Group):
    """Imports most commands on first use, and finds the commands of other packages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands of this package, then those of plugins."""
        return [*self.commands, *_LAZY, *COMMANDS.names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        command: click.Command
        if cmd_name in _LAZY:
            module, _, name = _LAZY[cmd_name].partition(":")
            command = getattr(importlib.import_module(module), name)
            return command
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in COMMANDS.names:
            return own
        try:
            command = COMMANDS.load(cmd_name)
        except PluginError as error:
            command = unavailable(cmd_name, str(error))
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dovetail", prog_name="dovetail")
def app() -> None:
    """Run MCP servers, call their tools, and check them against the specification.

    TARGET is FILE.py, FILE.py:NAME (if the file has several servers), or a URL. To use
    any other server, omit TARGET and add the command that starts it after `--`.
    """


_TARGET_OPTIONS: Sequence[OptionMaker] = (
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    click.option(
        "--mode",
        default="auto",
        show_default=True,
        help="Protocol to use: auto, modern, legacy, or the date of a revision.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0.0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="Timeout for each request.",
    ),
    *REACH_OPTIONS,
    click.option(
        "--stdio", is_flag=True, help="Start FILE.py as a separate process and use stdio."
    ),
)


def _read_worker(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    listener, report = value.split(",")
    return int(listener), int(report)


@app.command()
@click.argument("file", metavar="FILE[:NAME]")
@with_options(HTTP_OPTIONS)
@click.option(
    "--path",
    default="/mcp",
    show_default=True,
    metavar="PATH",
    help="URL path of the MCP endpoint.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of server processes.",
)
@click.option(
    "--reload", is_flag=True, help="Restart when a Python file in the folder of FILE changes."
)
@with_options(GUARD_OPTIONS)
@click.option("--worker", hidden=True, callback=_read_worker)
@click.pass_context
def run(context: click.Context, /, file: str, address: str | None, **given: Any) -> None:
    """Serve the Server in FILE over stdio, or over HTTP with --http."""
    try:
        guard = GuardOptions(**{name: given.pop(name) for name in _GUARD_FIELDS})
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    if address is None:
        chosen = [
            option.opts[0]
            for option in context.command.params
            if option.name in given
            and context.get_parameter_source(str(option.name)) is not ParameterSource.DEFAULT
        ]
        if chosen:
            raise Failure(f"{', '.join(chosen)}: requires --http", WRONG_USAGE)
        raise SystemExit(run_file(file, guard))
    from dovetail.cli.run_http import HttpSettings, parse_address, run_http  # noqa: PLC0415 - uvicorn

    try:
        host, port = parse_address(address)
        serving = HttpSettings(host=host, port=port, guard=guard, **given)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    raise SystemExit(run_http(file, serving))


@app.command(name="list")
@click.argument("target", required=False)
@with_options(_TARGET_OPTIONS)
@click.pass_obj
def list_command(command: list[str], /, target: str | None, as_json: bool, **given: Any) -> None:
    """List the tools, prompts, resources and templates of a server."""
    options = TargetOptions(**given)
    listing = run_with_client(find_target(target, command, options), options, _read_listing)
    if as_json:
        print_json(listing)
    else:
        print_listing(listing)


async def _read_listing(client: Client) -> Listing:
    return Listing(
        capabilities=client.capabilities,
        tools=await client.list_tools(),
        prompts=await client.list_prompts(),
        resources=await client.list_resources(),
        templates=await client.list_templates(),
    )


@app.command()
@click.argument("words", nargs=-1, metavar="TARGET TOOL [KEY=VALUE]...")
@click.option("--args", "as_object", metavar="JSON", help="Pass all arguments as one JSON object.")
@with_options(_TARGET_OPTIONS)
@click.pass_obj
def call(
    command: list[str],
    /,
    words: tuple[str, ...],
    as_object: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Call a tool and print its result.

    KEY=VALUE passes an argument, converted to the type in the tool's schema. KEY:=JSON passes
    JSON. KEY=@FILE passes the text of a file. Repeat a KEY to pass a list. Omit TARGET if a
    command follows after `--`.
    """
    options = TargetOptions(**given)
    target, rest = (None, words) if command else (words[0] if words else None, words[1:])
    if not rest:
        raise Failure(
            "Missing tool name; usage: dovetail call TARGET TOOL [KEY=VALUE]...", WRONG_USAGE
        )
    tool_name, *pairs = rest

    async def call_tool(client: Client) -> CallResult | Any:
        tool = _find_tool(tool_name, await client.list_tools())
        arguments = {} if as_object is None else parse_object(as_object)
        arguments.update(parse_arguments(pairs, tool.input_schema))
        if as_json:
            params = {"name": tool.name, "arguments": arguments}
            return await client.request("tools/call", params, progress=_show_progress)
        return await client.call(tool.name, arguments, progress=_show_progress)

    result = run_with_client(find_target(target, command, options), options, call_tool)
    if isinstance(result, CallResult):
        print_result(result)
        is_error = result.is_error
    else:
        print_json(result)
        is_error = isinstance(result, dict) and result.get("isError") is True
    raise SystemExit(FAILED_CALL if is_error else 0)


def _find_tool(name: str, tools: list[Tool]) -> Tool:
    names = [tool.name for tool in tools]
    if name in names:
        return tools[names.index(name)]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    raise Failure(
        f"The server has no tool {name!r}{hint} Available tools: {', '.join(names) or 'none'}",
        WRONG_USAGE,
    )


def _show_progress(progress: ProgressParams) -> None:
    total = "" if progress.total is None else f"/{progress.total:g}"
    message = f" {progress.message}" if progress.message else ""
    click.echo(f"[{progress.progress:g}{total}]{message}", err=True)


@app.command()
@click.argument("target", required=False)
@with_options(_TARGET_OPTIONS)
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
    listing = await _read_listing(client)
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
