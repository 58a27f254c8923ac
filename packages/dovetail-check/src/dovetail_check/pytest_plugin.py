"""The implementation of the `mcp_check` fixture, which `dovetail_pytest` provides.

def test_compliance(mcp_check):
    mcp_check("python server.py")
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from dovetail_check.attestation import read_attestation
from dovetail_check.baseline import apply_baseline, read_baseline
from dovetail_check.compiling import Selection
from dovetail_check.report import FailOn, Report
from dovetail_check.reports import render
from dovetail_check.running import CheckOptions, find_revisions, run_check
from dovetail_check.targets import CheckTarget, find_target

__all__ = ["check_server"]


def check_server(  # noqa: PLR0913 - everything has a default and is given by name
    *targets: str | Sequence[str],
    revision: str = "all",
    fail_on: FailOn = "must",
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    calls: str = "",
    timeout: float = 5.0,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    headers: Mapping[str, str] | None = None,
    attest: str | Path | None = None,
    baseline: str | Path | None = None,
) -> Report:
    """Check a server and return the report; raises AssertionError if there are findings.

    A target is a URL, FILE.py, or a command as a string or list. Pass two targets to check one
    server over both transports.
    """
    options = CheckOptions(
        revisions=find_revisions(revision),
        calls=calls,
        timeout=timeout,
        selection=Selection(tuple(only), tuple(skip)),
        attested={} if attest is None else read_attestation(Path(attest)),
    )
    found = [_find(target, env, cwd, headers) for target in targets]
    report = asyncio.run(run_check(found, options))
    if baseline is not None:
        report = apply_baseline(report, read_baseline(Path(baseline)))
    if report.findings(fail_on) or report.faults:
        raise AssertionError(
            f"the server does not comply with the specification\n\n{_text(report)}"
        )
    return report


def _find(
    target: str | Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | None,
    headers: Mapping[str, str] | None,
) -> CheckTarget:
    if not isinstance(target, str):
        return find_target(None, target, env=env, cwd=cwd)
    words = shlex.split(target)
    if len(words) > 1:
        return find_target(None, words, env=env, cwd=cwd)
    return find_target(target, (), env=env, cwd=cwd, headers=headers)


def _text(report: Report) -> str:
    return render(report, "text")
