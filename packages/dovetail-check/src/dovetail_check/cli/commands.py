"""The commands `check`, `report`, `verify`, `diff` and `badge`. Their exit codes:

    0  no findings    1  findings at the --fail-on level    2  wrong usage
    3  the server requires credentials    4  it did not start or is unreachable
    5  an internal error of the checker

This module only parses the command line and prints.
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
from msgspec import structs

from dovetail.commands import (
    REACH_OPTIONS,
    WRONG_USAGE,
    Failure,
    OptionMaker,
    make_console,
    or_fail,
    read_headers,
    read_login_headers,
    with_options,
)
from dovetail.errors import UsageError
from dovetail_check.attestation import read_attestation
from dovetail_check.audit import TIME_LIMIT, NeedsAuthError
from dovetail_check.baseline import apply_baseline, read_baseline, write_baseline
from dovetail_check.cli.printing import (
    print_broken_claims,
    print_comparison,
    show_progress,
)
from dovetail_check.comparing import compare_reports
from dovetail_check.compiling import Selection
from dovetail_check.connections.base import UnreachableError
from dovetail_check.documents import read_claims, verify_claims
from dovetail_check.escaping import clean
from dovetail_check.report import FailOn, Report, read_report
from dovetail_check.reports import FORMATS, badge, format_for, render
from dovetail_check.reports.json_form import format_json
from dovetail_check.reports.text import print_report
from dovetail_check.running import CheckOptions, find_revisions, replay_evidence, run_check
from dovetail_check.targets import CheckTarget, find_target, from_config

__all__ = ["badge_command", "check", "diff", "report", "verify"]

T = TypeVar("T")

FINDINGS, NEEDS_AUTH, UNREACHABLE, INTERNAL_ERROR = 1, 3, 4, 5

# Formats of independent lines, which can be mixed on stdout.
_LINE_FORMATS = {"text", "github"}


@dataclass(frozen=True)
class Output:
    """A format and the file for it; None means stdout."""

    format: str
    path: Path | None = None


class OutputsCommand(click.Command):
    """A command that pairs each `-o` with the `--format` before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the order of `--format` and `-o`, which click discards."""
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
    on_stdout = [output.format for output in outputs if output.path is None]
    if len(on_stdout) > 1 and not set(on_stdout) <= _LINE_FORMATS:
        raise UsageError(
            f"{' and '.join(on_stdout)} cannot share stdout; pass -o FILE for all but one"
        )
    # Text still goes to stdout if all other outputs are files.
    return outputs if on_stdout else [Output("text"), *outputs]


_PATH = click.Path(path_type=Path)

_TARGET_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--config",
        type=_PATH,
        metavar="FILE",
        help="Read the target from a client configuration file.",
    ),
    click.option("--server", metavar="NAME", help="Entry of the --config file to check."),
    *REACH_OPTIONS,
    click.option(
        "--revision",
        default="all",
        show_default=True,
        metavar="all|latest|DATE",
        help="Protocol revisions to test.",
    ),
    click.option(
        "--calls",
        default="",
        metavar="none|readonly|allow=NAME,...",
        help="Tools that may be called. [default: readonly; none for remote URLs]",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0.0, min_open=True),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="Time to wait for each response.",
    ),
    click.option(
        "--time-limit",
        type=click.FloatRange(min=0.0, min_open=True),
        default=TIME_LIMIT,
        show_default=True,
        metavar="SECONDS",
        help="Time for the whole check; the report lists what was not tested by then.",
    ),
    click.option(
        "--only", multiple=True, metavar="GLOB", help="Check only these requirements (repeatable)."
    ),
    click.option(
        "--skip", multiple=True, metavar="GLOB", help="Skip these requirements (repeatable)."
    ),
    click.option(
        "--attest", type=_PATH, metavar="FILE", help="Read statements of the server author (TOML)."
    ),
    click.option(
        "--evidence", type=_PATH, metavar="DIR", help="Save the recorded traffic to this folder."
    ),
    click.option(
        "--replay", type=_PATH, metavar="DIR", help="Evaluate a folder saved with --evidence."
    ),
)


@dataclass(frozen=True)
class TargetOptions:
    """The options of the commands that take a target."""

    config: Path | None
    server: str | None
    cwd: str | None
    env: dict[str, str]
    token_env: str | None
    header_lines: Sequence[str]
    revision: str
    calls: str
    timeout: float
    time_limit: float
    only: Sequence[str]
    skip: Sequence[str]
    attest: Path | None
    evidence: Path | None
    replay: Path | None

    def find_targets(self, texts: Sequence[str], command: Sequence[str]) -> list[CheckTarget]:
        """Return the targets of the command line; raises UsageError."""
        headers = read_headers(self.header_lines, self.token_env)
        targets = [
            find_target(text, (), env=self.env, cwd=self.cwd, headers=headers) for text in texts
        ]
        if command:
            targets.append(find_target(None, command, env=self.env, cwd=self.cwd))
        if self.config is not None:
            targets.append(from_config(self.config, self.server))
        elif self.server is not None:
            raise UsageError("--server selects an entry of --config FILE; pass --config as well")
        if headers and not any(target.url for target in targets):
            raise UsageError("--header and --token-env require a URL as target")
        return [_with_login(target) for target in targets]

    def check_options(self) -> CheckOptions:
        """Return the options of the check; raises UsageError."""
        return CheckOptions(
            revisions=find_revisions(self.revision),
            calls=self.calls,
            timeout=self.timeout,
            time_limit=self.time_limit,
            selection=Selection(tuple(self.only), tuple(self.skip)),
            attested={} if self.attest is None else read_attestation(self.attest),
            evidence=self.evidence,
        )

    def make_report(
        self, texts: Sequence[str], command: Sequence[str], *, progress_json: bool = False
    ) -> Report:
        """Run a check, or replay a recording; raises Failure with the exit code."""
        try:
            options = self.check_options()
            if self.replay is not None:
                if texts or command or self.config is not None:
                    raise UsageError("--replay evaluates a recording and takes no target")
                return replay_evidence(self.replay, options)
            targets = self.find_targets(texts, command)
            with show_progress(as_json=progress_json) as progress:
                return asyncio.run(run_check(targets, options, progress))
        except UsageError as error:
            raise Failure(str(error), WRONG_USAGE) from None
        except NeedsAuthError as error:
            text = (
                f"{error}; log in with `dovetail login URL`, or pass --token-env NAME or "
                "--header 'Authorization: ...'"
            )
            raise Failure(clean(text), NEEDS_AUTH) from None
        except UnreachableError as error:
            raise Failure(clean(str(error)), UNREACHABLE) from None
        except Exception as error:
            raise Failure(_describe_internal_error(error), INTERNAL_ERROR) from error


def _with_login(target: CheckTarget) -> CheckTarget:
    """Add the login of `dovetail login`, unless the user gives other credentials."""
    if not target.url or any(name.lower() == "authorization" for name in target.headers):
        return target
    return structs.replace(target, headers={**target.headers, **read_login_headers(target.url)})


def _describe_internal_error(error: Exception) -> str:
    trace = "".join(traceback.format_exception(error)).rstrip()
    text = "internal error of the checker. Please report it with this traceback:"
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
    help="Report format (repeatable). [default: text]",
)
@click.option(
    "-o",
    "--output",
    "files",
    multiple=True,
    metavar="FILE",
    help="Write the preceding --format to FILE, else the format of its extension (repeatable).",
)
@click.option(
    "--fail-on",
    type=click.Choice(["must", "should", "never"]),
    default="must",
    show_default=True,
    help="Lowest level of findings that set exit code 1.",
)
@click.option("--baseline", type=_PATH, metavar="FILE", help="Accept the findings listed in FILE.")
@click.option(
    "--write-baseline", type=_PATH, metavar="FILE", help="Write all current findings to FILE."
)
# For programs that show the progress, such as the console.
@click.option("--progress", type=click.Choice(["json"]), hidden=True)
@click.pass_context
def check(
    context: click.Context,
    /,
    targets: tuple[str, ...],
    fail_on: FailOn,
    baseline: Path | None,
    write_baseline: Path | None,
    progress: str | None,
    **given: Any,
) -> None:
    """Check an MCP server against the specification.

    TARGET is a URL or FILE.py. To check a server over stdio, pass its command after `--`. Pass a
    URL and a command to check both transports and compare them.
    """
    del given["formats"], given["files"]
    outputs = or_fail(lambda: _pair_outputs(context.meta["outputs"]))
    known = None if baseline is None else or_fail(lambda: read_baseline(baseline))
    report = TargetOptions(**given).make_report(
        targets, context.obj or [], progress_json=progress == "json"
    )
    if known is not None:
        report = apply_baseline(report, known)
    for output in outputs:
        _emit(report, output, fail_on)
    if write_baseline is not None:
        or_fail(lambda: _write_baseline(report, write_baseline))
        raise SystemExit(INTERNAL_ERROR if report.faults else 0)
    raise SystemExit(_exit_code(report, fail_on))


def _write_baseline(report: Report, path: Path) -> None:
    write_baseline(report, path)
    click.echo(f"{path}: written", err=True)


def _exit_code(report: Report, fail_on: FailOn) -> int:
    if report.faults:
        return INTERNAL_ERROR
    if report.needs_auth:
        return NEEDS_AUTH
    return FINDINGS if report.findings(fail_on) else 0


def _emit(report: Report, output: Output, fail_on: FailOn) -> None:
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
@click.option("-o", "--output", type=_PATH, metavar="FILE", help="Write to FILE instead of stdout.")
@click.pass_obj
def report(
    command: list[str], /, targets: tuple[str, ...], output: Path | None, **given: Any
) -> None:
    """Check a server and write COMPLIANCE.md.

    The document lists every requirement with its verdict, level, clause and evidence.
    """
    made = TargetOptions(**given).make_report(targets, command or [])
    text = render(made, "md")
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    raise SystemExit(INTERNAL_ERROR if made.faults else 0)


@click.command()
@click.argument("document", type=_PATH)
@click.argument("targets", nargs=-1, metavar="[TARGET]... | -- COMMAND")
@with_options(_TARGET_OPTIONS)
@click.pass_obj
def verify(command: list[str], /, document: Path, targets: tuple[str, ...], **given: Any) -> None:
    """Check a server and fail if a claim of DOCUMENT no longer holds."""
    claims = or_fail(lambda: read_claims(_read(document).decode("utf-8", "replace"), str(document)))
    asked = TargetOptions(**given)
    made = asked.make_report(targets, command or [])
    missing = [transport for transport in claims.transports if transport not in made.transports]
    if missing:
        seen = ", ".join(made.transports)
        text = f"{document} covers {', '.join(claims.transports)}; this check covers only {seen}"
        raise Failure(text, WRONG_USAGE)
    broken = verify_claims(claims, made)
    print_broken_claims(make_console(), claims, made, broken)
    raise SystemExit(INTERNAL_ERROR if made.faults else FINDINGS if broken else 0)


@click.command()
@click.argument("old", type=_PATH, metavar="OLD.json")
@click.argument("new", type=_PATH, metavar="NEW.json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Compare two JSON reports. Exits with 1 if anything got worse."""
    comparison = compare_reports(_read_report(old), _read_report(new))
    if as_json:
        click.echo(format_json(comparison), nl=False)
    else:
        print_comparison(make_console(), comparison)
    raise SystemExit(FINDINGS if comparison.worse else 0)


@click.command(name="badge")
@click.argument("file", type=_PATH, metavar="REPORT.json")
@click.option("-o", "--output", type=_PATH, metavar="FILE", help="Write to FILE instead of stdout.")
def badge_command(file: Path, output: Path | None) -> None:
    """Render a badge with the counts of a report (SVG)."""
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
