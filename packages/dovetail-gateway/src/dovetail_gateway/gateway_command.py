"""`dovetail gateway FILE`: serves many upstreams as one server, and checks the file before."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from dovetail import Options, Server
from dovetail.cli.log_format import escape_control
from dovetail.cli.run_stdio import run_server
from dovetail.cli.settings import (
    CLUSTER_OPTIONS,
    CONSOLE_OPTIONS,
    GUARD_OPTIONS,
    HTTP_OPTIONS,
    LOG_FORMAT_OPTION,
    PATH_OPTION,
    read_settings,
)
from dovetail.commands import FAILED_CALL, make_console, or_fail, print_json, with_options
from dovetail.runtime.state import CLUSTER
from dovetail_gateway import (
    GatewayConfig,
    UpstreamReport,
    build_gateway,
    check_upstreams,
    read_gateway,
)

if TYPE_CHECKING:
    from dovetail.transports import HttpApp

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


@gateway.command()
@click.argument("file", metavar="FILE")
@with_options((*HTTP_OPTIONS, PATH_OPTION, *CONSOLE_OPTIONS, *CLUSTER_OPTIONS))
@with_options((LOG_FORMAT_OPTION, *GUARD_OPTIONS))
def run(file: str, **given: Any) -> None:
    """Serve the upstreams in FILE over stdio, or over HTTP with --http.

    Guard options take precedence over those in the file.
    """
    config = or_fail(lambda: read_gateway(file))
    guard, http = or_fail(lambda: read_settings(given, guard=config.guard))
    guarded = replace(config, guard=guard)
    if http is None:
        raise SystemExit(run_server(or_fail(lambda: _build(guarded))))
    from dovetail.cli.run_http import make_app, run_server_http  # noqa: PLC0415 - uvicorn

    http.set_environment()

    def build() -> tuple[Server, HttpApp]:
        server = _build(guarded)
        return server, make_app(server, http.path, None, http)

    raise SystemExit(run_server_http(build, http, ["gateway", "run", file]))


def _build(config: GatewayConfig) -> Server:
    """The gateway, in the cluster if there is one.

    The proxies inside it use the cluster of the gateway, and commands that it starts must not join
    by the environment that they inherit.
    """
    cluster = os.environ.pop(CLUSTER, None)
    return build_gateway(config, options=Options(state=cluster) if cluster else None)


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
