"""`dovetail gateway FILE`: serves many upstreams as one server, and checks the file before."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import Any

import click
from rich.table import Table

from dovetail.cli.escaping import escape_control
from dovetail.cli.failures import FAILED_CALL, WRONG_USAGE, Failure, or_fail
from dovetail.cli.options import (
    GUARD_OPTIONS,
    HTTP_OPTIONS,
    PATH_OPTION,
    find_given,
    take_guard,
    with_options,
)
from dovetail.cli.output import make_console, print_json
from dovetail.cli.run_stdio import run_server
from dovetail.compose.gateway import (
    GuardSettings,
    UpstreamReport,
    build_gateway,
    check_upstreams,
    read_gateway,
)

__all__ = ["gateway"]


class _DefaultRun(click.Group):
    """A group whose command `run` need not be named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_DefaultRun,
    subcommand_metavar="FILE | check FILE",
    context_settings={"help_option_names": ["-h", "--help"]},
)
def gateway() -> None:
    """Serve many servers as one: `dovetail gateway gateway.toml`.

    FILE is a gateway.toml, or the mcp.json of a client.
    """


def _refuse_workers(_context: click.Context, _option: click.Parameter, value: int | None) -> None:
    if value is not None and value != 1:
        raise Failure(
            "--workers: a gateway runs in one process, because sessions with its upstreams and "
            "their questions belong to the process that opened them",
            WRONG_USAGE,
        )


@gateway.command()
@click.argument("file", metavar="FILE")
@with_options((*HTTP_OPTIONS, PATH_OPTION, *GUARD_OPTIONS))
@click.option("--workers", type=int, hidden=True, expose_value=False, callback=_refuse_workers)
@click.pass_context
def run(context: click.Context, /, file: str, address: str | None, **given: Any) -> None:
    """Serve the upstreams in FILE over stdio, or over HTTP with --http.

    Guard options take precedence over those in the file.
    """
    config = or_fail(lambda: read_gateway(file))
    guard = or_fail(lambda: take_guard(given, asdict(config.guard)))
    names = find_given(context, given) if address is None else []
    if names:
        raise Failure(f"{', '.join(names)}: requires --http", WRONG_USAGE)
    settings = GuardSettings(**asdict(guard))
    server = or_fail(lambda: build_gateway(replace(config, guard=settings)))
    if address is None:
        raise SystemExit(run_server(server))
    from dovetail.cli.run_http import (  # noqa: PLC0415 - uvicorn
        HttpSettings,
        make_app,
        parse_address,
        run_server_http,
    )

    host, port = or_fail(lambda: parse_address(address))
    serving = or_fail(lambda: HttpSettings(host=host, port=port, guard=guard, **given))
    app = make_app(server, serving.path, None, serving)
    raise SystemExit(run_server_http(server, serving, app))


@gateway.command()
@click.argument("file", metavar="FILE")
@click.option("--offline", is_flag=True, help="Check only the file; do not connect.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def check(file: str, offline: bool, as_json: bool) -> None:
    """Check FILE and the upstreams in it.

    The exit code is 2 if the file is wrong, 1 if an upstream does not answer or does not fit.
    """
    config = or_fail(lambda: read_gateway(file))
    or_fail(lambda: build_gateway(config))
    if offline:
        if as_json:
            print_json({"upstreams": list(config.upstreams)})
        else:
            click.echo(f"{file}: {_count(len(config.upstreams), 'upstream')}, no problems")
        return
    reports = asyncio.run(check_upstreams(config))
    if as_json:
        print_json({"upstreams": reports})
    else:
        _print_reports(reports)
    if any(report.problems for report in reports):
        raise SystemExit(FAILED_CALL)


def _print_reports(reports: list[UpstreamReport]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("Upstream", "Prefix", "Revision"):
        table.add_column(title, no_wrap=True)
    for title in ("Tools", "Prompts", "Resources"):
        table.add_column(title, justify="right")
    for report in reports:
        counts = (report.tools, report.prompts, report.resources)
        table.add_row(
            report.name,
            report.prefix,
            report.revision or "no answer",
            *(str(count) if report.answers else "-" for count in counts),
        )
    make_console().print(table)
    problems = [f"{each.name}: {problem}" for each in reports for problem in each.problems]
    click.echo(f"\n{_count(len(problems), 'problem')}" if problems else "\nNo problems")
    for problem in problems:
        click.echo(f"  {escape_control(problem)}")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
