"""The commands: `run`, `list`, `call`, `inspect`; those of the checker are in `checking`.

TARGET is FILE.py, FILE.py:name or a URL, or everything behind `--` is a command that starts a
server. This file reads the command line and picks the words; the work is elsewhere.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from dovetail.cli.arguments import parse_arguments, parse_object
from dovetail.cli.guarding import GuardChoice
from dovetail.cli.printing import (
    Listing,
    describe_capabilities,
    print_json,
    print_listing,
    print_pairs,
    print_result,
)
from dovetail.cli.running import run_file
from dovetail.cli.signatures import describe_tool
from dovetail.cli.talking import (
    FAILED_CALL,
    WRONG_USAGE,
    Failure,
    TargetOptions,
    find_target,
    leave,
    make_client,
    talk,
)
from dovetail.client import CallResult, Client
from dovetail.client.targets import Target
from dovetail.errors import DovetailError, UsageError
from dovetail.spec.models import Implementation, ProgressParams, Tool
from dovetail.spec.revisions import REVISIONS

__all__ = ["LAZY", "app", "run_app"]

T = TypeVar("T")

_GUARDING = tuple(option.name for option in fields(GuardChoice))
# Commands that `cli.checking` has.
LAZY = ("check", "report", "verify", "diff", "explain", "rules", "badge")


def run_app(arguments: Sequence[str]) -> int:
    """Run a command line through click, which ends the process with the exit code."""
    words = list(arguments)
    cut = words.index("--") if "--" in words else len(words)
    # click would take `--` for its own; here it starts a command that is not ours to read.
    app.main(args=words[:cut], prog_name="dovetail", obj=words[cut + 1 :])
    return 0


class LazyGroup(click.Group):
    """Commands of the checker are imported when one of them is meant: they are many modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those that talk to servers, then those that judge them."""
        return [*self.commands, "tasks", "serve", "keys", *LAZY]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        if cmd_name == "tasks":
            from dovetail.cli.tasks_command import tasks  # noqa: PLC0415 - `run` stays light

            return tasks
        if cmd_name == "serve":
            from dovetail.cli.serve_command import serve  # noqa: PLC0415 - `run` stays light

            return serve
        if cmd_name == "keys":
            from dovetail.cli.keys_command import keys  # noqa: PLC0415 - `run` stays light

            return keys
        if cmd_name not in LAZY:
            return super().get_command(ctx, cmd_name)
        from dovetail.cli.checking import COMMANDS  # noqa: PLC0415 - `run` stays light

        return COMMANDS[cmd_name]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dovetail", prog_name="dovetail")
def app() -> None:
    """Run MCP servers, talk to them, and judge them.

    TARGET is FILE.py, FILE.py:name where the file has several servers, or a URL; or leave
    it out and put the command that starts a server behind `--`.
    """


def _read_env(_context: click.Context, _option: click.Parameter, value: Any) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in value]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise click.BadParameter(f"expected NAME=VALUE, got {name!r}")
    return {name: text for name, _, text in pairs}


def _target_options(command: Callable[..., T]) -> Callable[..., T]:
    for option in (
        click.option("--stdio", is_flag=True, help="Start FILE.py as a process of its own."),
        click.option("--cwd", type=click.Path(exists=True, file_okay=False), help="Its folder."),
        click.option("--env", multiple=True, callback=_read_env, metavar="NAME=VALUE"),
        click.option(
            "--token-env",
            metavar="NAME",
            help="Send the token in this variable to a URL: Authorization: Bearer ...",
        ),
        click.option(
            "-H",
            "--header",
            "header_lines",
            multiple=True,
            metavar="'NAME: VALUE'",
            help="Send this with every request to a URL.",
        ),
        click.option("--timeout", type=click.FloatRange(min=0.0, min_open=True), default=30.0),
        click.option("--mode", default="auto", help="auto, modern, legacy, or a revision's date."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    ):
        command = option(command)
    return command


def _read_worker(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    listener, report = value.split(",")
    return int(listener), int(report)


@app.command()
@click.argument("file", metavar="FILE[:NAME]")
@click.option("--http", "address", metavar="[HOST:]PORT", help="Serve over HTTP; 0: a free port.")
@click.option("--path", default="/mcp", show_default=True, help="The path of its URL.")
@click.option("--allow-host", "allow_hosts", multiple=True, metavar="HOST", help="Name it has.")
@click.option(
    "--allow-origin", "allow_origins", multiple=True, metavar="ORIGIN", help="Pages that may call."
)
@click.option("--stateless", is_flag=True, help="Keep no sessions for clients of the legacy era.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="Processes that serve.")
@click.option("--reload", is_flag=True, help="Start again when a file of its folder changes.")
@click.option(
    "--http-parser",
    "parser",
    type=click.Choice(["auto", "httptools", "h11"]),
    default="auto",
    show_default=True,
)
@click.option("--keys", type=click.Path(), metavar="FILE", help="Ask for one of these API keys.")
@click.option("--key-header", metavar="NAME", help="A header for keys beside Authorization.")
@click.option("--issuer", metavar="URL", help="Take access tokens of this authorization server.")
@click.option("--resource", metavar="URL", help="The URL of this server that tokens are for.")
@click.option("--read-only", is_flag=True, help="Only tools that change nothing.")
@click.option("--rate", metavar="RATE", help="So often for each caller: 10/s, 100/min burst 20.")
@click.option("--audit", metavar="FILE", help="A JSON line for each call; - is stderr.")
@click.option("--worker", hidden=True, callback=_read_worker)
@click.pass_context
def run(context: click.Context, /, file: str, address: str | None, **given: Any) -> None:
    """Serve the Server in FILE on stdio, or over HTTP."""
    try:
        guard = GuardChoice(**{name: given.pop(name) for name in _GUARDING})
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
            raise Failure(f"{', '.join(chosen)}: only together with --http", WRONG_USAGE)
        raise SystemExit(run_file(file, guard))
    from dovetail.cli.serving import HttpRun, parse_address, run_http  # noqa: PLC0415 - uvicorn

    try:
        host, port = parse_address(address)
        serving = HttpRun(host=host, port=port, guard=guard, **given)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    raise SystemExit(run_http(file, serving))


@app.command(name="list")
@click.argument("target", required=False)
@_target_options
@click.pass_obj
def list_command(command: list[str], /, target: str | None, as_json: bool, **given: Any) -> None:
    """Show the tools, prompts, resources and templates of a server."""
    options = TargetOptions(**given)
    listing = talk(find_target(target, command, options), options, _read_listing)
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
@click.option("--args", "as_object", metavar="JSON", help="All arguments as one JSON object.")
@_target_options
@click.pass_obj
def call(
    command: list[str],
    /,
    words: tuple[str, ...],
    as_object: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Call a tool; KEY=VALUE is read by the tool's schema, KEY:=JSON as it stands, KEY=@FILE
    takes the text of a file. With a command behind `--`, TARGET is left out.
    """
    options = TargetOptions(**given)
    target, rest = (None, words) if command else (words[0] if words else None, words[1:])
    if not rest:
        raise Failure("No tool named; give TARGET TOOL [KEY=VALUE]...", WRONG_USAGE)
    tool_name, *pairs = rest

    async def call_tool(client: Client) -> CallResult | Any:
        tool = _find_tool(tool_name, await client.list_tools())
        arguments = {} if as_object is None else parse_object(as_object)
        arguments.update(parse_arguments(pairs, tool.input_schema))
        if as_json:
            params = {"name": tool.name, "arguments": arguments}
            return await client.request("tools/call", params, progress=_show_progress)
        return await client.call(tool.name, arguments, progress=_show_progress)

    result = talk(find_target(target, command, options), options, call_tool)
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
        f"The server has no tool {name!r}{hint} It has: {', '.join(names) or 'none'}", WRONG_USAGE
    )


def _show_progress(progress: ProgressParams) -> None:
    total = "" if progress.total is None else f"/{progress.total:g}"
    message = f" {progress.message}" if progress.message else ""
    click.echo(f"[{progress.progress:g}{total}]{message}", err=True)


@app.command()
@click.argument("target", required=False)
@_target_options
@click.pass_obj
def inspect(command: list[str], /, target: str | None, as_json: bool, **given: Any) -> None:
    """Show what a server says of itself, and which revisions it speaks."""
    options = TargetOptions(**given)
    found = find_target(target, command, options)
    facts = talk(found, options, _read_facts)
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
    """Ask for each revision on a connection of its own: legacy servers name only one."""

    async def speaks(date: str) -> bool:
        try:
            async with make_client(target, options, mode=date):
                return True
        except (DovetailError, TimeoutError):
            return False

    async def ask_all() -> list[bool]:
        try:
            return await asyncio.gather(*(speaks(revision.date) for revision in REVISIONS))
        finally:
            await leave(target)

    spoken = asyncio.run(ask_all())
    return [
        revision.date for revision, is_spoken in zip(REVISIONS, spoken, strict=True) if is_spoken
    ]


def _print_facts(facts: dict[str, Any]) -> None:
    server: Implementation | None = facts["server"]
    kinds = ("tool", "prompt", "resource", "template")
    pairs = [
        ("Server", "(no name given)" if server is None else f"{server.name} {server.version}"),
        ("Title", (server.title if server is not None else None) or ""),
        ("Spoken now", facts["revision"]),
        ("Revisions", ", ".join(facts["revisions"])),
        ("Capabilities", describe_capabilities(facts["capabilities"])),
        ("Offers", ", ".join(_count(kind, len(facts[f"{kind}s"])) for kind in kinds)),
        ("Instructions", facts["instructions"] or ""),
        *(("Tool", describe_tool(tool)) for tool in facts["tools"]),
    ]
    print_pairs([(name, value) for name, value in pairs if value])


def _count(kind: str, number: int) -> str:
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"
