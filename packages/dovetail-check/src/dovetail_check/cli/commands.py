"""The commands that judge: `check`, `report`, `verify`, `diff`, `badge`.

    0  clean    1  findings at the chosen level    2  the command line is wrong
    3  the server wants credentials    4  it cannot be reached or did not start
    5  a fault of the checker

This file reads the command line and picks the words; the work is in `dovetail_check`.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from dovetail.commands import (
    REACH_OPTIONS,
    WRONG_USAGE,
    Failure,
    OptionMaker,
    make_console,
    or_fail,
    print_json,
    read_headers,
    with_options,
)
from dovetail.errors import UsageError
from dovetail_check.attestation import read_attestation
from dovetail_check.audit import NeedsAuthError
from dovetail_check.baseline import apply_baseline, read_baseline, write_baseline
from dovetail_check.cli.printing import (
    print_broken_claims,
    print_comparison,
    show_progress,
)
from dovetail_check.comparing import compare_reports
from dovetail_check.compiling import Selection
from dovetail_check.documents import read_claims, verify_claims
from dovetail_check.lines.line import LineError
from dovetail_check.report import FailOn, Report, read_report
from dovetail_check.reports import FORMATS, badge, format_for, render
from dovetail_check.reports.text import print_report
from dovetail_check.running import CheckOptions, find_revisions, replay_evidence, run_check
from dovetail_check.targets import CheckTarget, find_target, from_config

__all__ = ["badge_command", "check", "diff", "report", "verify"]

T = TypeVar("T")

FINDINGS, NEEDS_AUTH, UNREACHABLE, OWN_FAULT = 1, 3, 4, 5

# What may share stdout: the lines of one do not disturb the other.
_SHARED = {"text", "github"}


@dataclass(frozen=True)
class Output:
    """One form of the report, and where it goes; stdout where no file is named."""

    format: str
    path: Path | None = None


class OutputsCommand(click.Command):
    """A command that knows which `-o` stands behind which `--format`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the pairs off the order of the words, which click does not keep."""
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        left = {name: list(values.get(name) or ()) for name in ("formats", "files")}
        given = [(p.name, left[p.name].pop(0)) for p in order if p.name in left]
        ctx.meta["outputs"] = given
        return super().parse_args(ctx, args)


def _pair_outputs(given: Sequence[tuple[str, str]]) -> list[Output]:
    outputs: list[Output] = []
    for name, value in given:
        if name == "formats":
            outputs.append(Output(value))
        elif outputs and outputs[-1].path is None:
            outputs[-1] = Output(outputs[-1].format, Path(value))
        else:
            outputs.append(Output(format_for(value), Path(value)))
    loud = [output.format for output in outputs if output.path is None]
    if len(loud) > 1 and not set(loud) <= _SHARED:
        raise UsageError(f"{' and '.join(loud)} cannot share stdout; give all but one a file: -o")
    # Files are beside the text, not in its place.
    return outputs if loud else [Output("text"), *outputs]


_PATH = click.Path(path_type=Path)

_TARGET_OPTIONS: Sequence[OptionMaker] = (
    click.option("--config", type=_PATH, metavar="FILE", help="A client's configuration file."),
    click.option("--server", metavar="NAME", help="The entry of it that is meant."),
    *REACH_OPTIONS,
    click.option(
        "--revision",
        default="all",
        show_default=True,
        metavar="all|latest|DATE",
        help="The revisions to offer.",
    ),
    click.option(
        "--calls",
        default="",
        metavar="none|readonly|allow=NAME,...",
        help="The tools that may be called. Default: readonly; none on other machines.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0.0, min_open=True),
        default=5.0,
        show_default=True,
        help="Seconds to wait for an answer.",
    ),
    click.option("--only", multiple=True, metavar="GLOB", help="Judge these rows."),
    click.option("--skip", multiple=True, metavar="GLOB", help="Leave these rows out."),
    click.option("--attest", type=_PATH, metavar="FILE", help="The author's statements (TOML)."),
    click.option("--evidence", type=_PATH, metavar="DIR", help="Keep every frame there."),
    click.option("--replay", type=_PATH, metavar="DIR", help="Judge what --evidence kept."),
)


@dataclass(frozen=True)
class Asked:
    """The options that every command with a TARGET has."""

    config: Path | None
    server: str | None
    cwd: str | None
    env: dict[str, str]
    token_env: str | None
    header_lines: Sequence[str]
    revision: str
    calls: str
    timeout: float
    only: Sequence[str]
    skip: Sequence[str]
    attest: Path | None
    evidence: Path | None
    replay: Path | None

    def find_targets(self, texts: Sequence[str], command: Sequence[str]) -> list[CheckTarget]:
        """Everything that the command line names; raises UsageError."""
        headers = read_headers(self.header_lines, self.token_env)
        targets = [
            find_target(text, (), env=self.env, cwd=self.cwd, headers=headers) for text in texts
        ]
        if command:
            targets.append(find_target(None, command, env=self.env, cwd=self.cwd))
        if self.config is not None:
            targets.append(from_config(self.config, self.server))
        elif self.server is not None:
            raise UsageError("--server names an entry of --config FILE, which is not given")
        if headers and not any(target.url for target in targets):
            raise UsageError("--header and --token-env are for a URL, and none is given")
        return targets

    def check_options(self) -> CheckOptions:
        """As the checker takes them; raises UsageError."""
        return CheckOptions(
            revisions=find_revisions(self.revision),
            calls=self.calls,
            timeout=self.timeout,
            selection=Selection(tuple(self.only), tuple(self.skip)),
            attested={} if self.attest is None else read_attestation(self.attest),
            evidence=self.evidence,
        )

    def make_report(self, texts: Sequence[str], command: Sequence[str]) -> Report:
        """Check, or judge a recording again; raises Failure with the exit code."""
        try:
            options = self.check_options()
            if self.replay is not None:
                if texts or command or self.config is not None:
                    raise UsageError("--replay judges a recording; a target goes without it")
                return replay_evidence(self.replay, options)
            targets = self.find_targets(texts, command)
            with show_progress() as progress:
                return asyncio.run(run_check(targets, options, progress))
        except UsageError as error:
            raise Failure(str(error), WRONG_USAGE) from None
        except NeedsAuthError as error:
            text = f"{error}; give --token-env NAME or --header 'Authorization: ...'"
            raise Failure(text, NEEDS_AUTH) from None
        except LineError as error:
            raise Failure(str(error), UNREACHABLE) from None
        except Exception as error:
            raise Failure(_confess(error), OWN_FAULT) from error


def _confess(error: Exception) -> str:
    trace = "".join(traceback.format_exception(error)).rstrip()
    text = "a fault of the checker, not of the server. Please report it with what follows:"
    return f"{text}\n{trace}"


@click.command(cls=OutputsCommand)
@click.argument("targets", nargs=-1, metavar="[TARGET]... | -- COMMAND")
@with_options(_TARGET_OPTIONS)
@click.option(
    "-f",
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(list(FORMATS)),
    help="Repeatable; an -o behind it says where.",
)
@click.option(
    "-o",
    "--output",
    "files",
    multiple=True,
    metavar="FILE",
    help="Repeatable; its end says the format where none stands before it.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["must", "should", "never"]),
    default="must",
    show_default=True,
    help="Findings that make the exit code 1.",
)
@click.option("--baseline", type=_PATH, metavar="FILE", help="Findings that are accepted.")
@click.option("--write-baseline", type=_PATH, metavar="FILE", help="Accept what is found now.")
@click.pass_context
def check(
    context: click.Context,
    /,
    targets: tuple[str, ...],
    fail_on: FailOn,
    baseline: Path | None,
    write_baseline: Path | None,
    **given: Any,
) -> None:
    """Judge a server by the specification, with the bytes as evidence.

    TARGET is a URL or FILE.py; a command goes behind `--`. Give a URL and a command to check
    one server over both transports and compare them.
    """
    del given["formats"], given["files"]
    outputs = or_fail(lambda: _pair_outputs(context.meta["outputs"]))
    known = None if baseline is None else or_fail(lambda: read_baseline(baseline))
    report = Asked(**given).make_report(targets, context.obj or [])
    if known is not None:
        report = apply_baseline(report, known)
    for output in outputs:
        _put_out(report, output, fail_on)
    if write_baseline is not None:
        or_fail(lambda: _write_baseline(report, write_baseline))
        raise SystemExit(OWN_FAULT if report.faults else 0)
    raise SystemExit(_exit_code(report, fail_on))


def _write_baseline(report: Report, path: Path) -> None:
    write_baseline(report, path)
    click.echo(f"{path}: accepts what was found", err=True)


def _exit_code(report: Report, fail_on: FailOn) -> int:
    if report.faults:
        return OWN_FAULT
    if report.needs_auth:
        return NEEDS_AUTH
    return FINDINGS if report.findings(fail_on) else 0


def _put_out(report: Report, output: Output, fail_on: FailOn) -> None:
    if output.path is not None:
        _write(output.path, render(report, output.format, fail_on))
    elif output.format == "text" and sys.stdout.isatty():
        print_report(make_console(), report, fail_on)
    else:
        click.echo(render(report, output.format, fail_on), nl=False)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}", WRONG_USAGE) from None
    click.echo(f"{path}: written", err=True)


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]... | -- COMMAND")
@with_options(_TARGET_OPTIONS)
@click.option("-o", "--output", type=_PATH, metavar="FILE", help="Default: stdout.")
@click.pass_obj
def report(
    command: list[str], /, targets: tuple[str, ...], output: Path | None, **given: Any
) -> None:
    """Write COMPLIANCE.md: every row with verdict, level, clause, evidence and date."""
    made = Asked(**given).make_report(targets, command or [])
    text = render(made, "md")
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    raise SystemExit(OWN_FAULT if made.faults else 0)


@click.command()
@click.argument("document", type=_PATH)
@click.argument("targets", nargs=-1, metavar="[TARGET]... | -- COMMAND")
@with_options(_TARGET_OPTIONS)
@click.pass_obj
def verify(command: list[str], /, document: Path, targets: tuple[str, ...], **given: Any) -> None:
    """Check again, and fail where a claim of DOCUMENT no longer holds."""
    claims = or_fail(lambda: read_claims(_read(document).decode("utf-8", "replace"), str(document)))
    asked = Asked(**given)
    made = asked.make_report(targets, command or [])
    missing = [transport for transport in claims.transports if transport not in made.transports]
    if missing:
        seen = ", ".join(made.transports)
        text = (
            f"{document} was made over {', '.join(claims.transports)}; this check only over {seen}"
        )
        raise Failure(text, WRONG_USAGE)
    broken = verify_claims(claims, made)
    print_broken_claims(make_console(), claims, made, broken)
    raise SystemExit(OWN_FAULT if made.faults else FINDINGS if broken else 0)


@click.command()
@click.argument("old", type=_PATH, metavar="OLD.json")
@click.argument("new", type=_PATH, metavar="NEW.json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Compare two reports; the exit code is 1 where something became worse."""
    comparison = compare_reports(_read_report(old), _read_report(new))
    if as_json:
        print_json(comparison)
    else:
        print_comparison(make_console(), comparison)
    raise SystemExit(FINDINGS if comparison.worse else 0)


@click.command(name="badge")
@click.argument("file", type=_PATH, metavar="REPORT.json")
@click.option("-o", "--output", type=_PATH, metavar="FILE", help="Default: stdout.")
def badge_command(file: Path, output: Path | None) -> None:
    """Draw a badge with the counts of a report, as SVG."""
    made = _read_report(file)
    if output is None:
        click.echo(badge.render(made), nl=False)
    else:
        _write(output, badge.render(made))


def _read_report(path: Path) -> Report:
    return or_fail(lambda: read_report(_read(path), str(path)))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
