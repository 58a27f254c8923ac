"""Runs a check: audits the targets, saves evidence and returns the report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from dovetail.errors import UsageError
from dovetail.spec.revisions import REVISIONS, Revision, find_revision
from dovetail.wire import codec
from dovetail_check import registry
from dovetail_check.audit import TIME_LIMIT, Audit, AuditOptions, NeedsAuthError, Progress
from dovetail_check.compiling import About, Selection, compile_report
from dovetail_check.early_verdicts import EarlyVerdicts
from dovetail_check.faults import Fault
from dovetail_check.probe_sessions import OPENING, Run
from dovetail_check.recording import Recording
from dovetail_check.report import Report
from dovetail_check.rulebook import rules
from dovetail_check.safety import SafetyPolicy
from dovetail_check.targets import CheckTarget

__all__ = [
    "CheckOptions",
    "find_revisions",
    "replay_evidence",
    "run_check",
]

_FRAMES = "frames.ndjson"
_ABOUT = "about.json"


@dataclass(frozen=True)
class CheckOptions:
    """The options of a check."""

    revisions: Sequence[Revision] = REVISIONS
    calls: str = ""
    timeout: float = 5.0
    # Of the whole check.
    time_limit: float = TIME_LIMIT
    selection: Selection = field(default_factory=Selection)
    attested: Mapping[str, str] = field(default_factory=dict)
    # The folder for the evidence.
    evidence: Path | None = None


def find_revisions(text: str) -> tuple[Revision, ...]:
    """Parse `--revision`: all, latest or a date; raises UsageError."""
    if text == "all":
        return REVISIONS
    if text == "latest":
        return REVISIONS[-1:]
    found = find_revision(text)
    if found is None:
        known = ", ".join(revision.date for revision in REVISIONS)
        raise UsageError(f"unknown revision {text!r}; expected all, latest or one of {known}")
    return (found,)


async def run_check(
    targets: Sequence[CheckTarget], options: CheckOptions, progress: Progress | None = None
) -> Report:
    """Check one server over each of its transports, one after the other.

    Raises UnreachableError, NeedsAuthError, UsageError.
    """
    _validate_targets(targets)
    wanted = options.selection.ids()
    if not wanted:
        raise UsageError("--only and --skip select no requirement; `dovetail rules` lists the ids")
    secrets = [secret for target in targets for secret in target.secrets]
    recording = Recording(secrets=secrets)
    faults: list[Fault] = []
    audit_options = AuditOptions(
        revisions=options.revisions,
        probes=_find_probes(wanted),
        calls=options.calls,
        timeout=options.timeout,
    )
    began, date = time.monotonic(), datetime.now(UTC)
    calls = SafetyPolicy(options.calls, is_local=all(target.is_local for target in targets)).calls
    needs_auth = ""
    for target in targets:
        if recording.stopped:
            at = f"{target.transport} survey", "main"
            recording.add(*at, "stopped", recording.stopped.encode(), tag=OPENING)
            continue
        if progress is not None and progress.on_verdict is not None:
            early = EarlyVerdicts(recording, wanted, progress, progress.on_verdict)
            progress.on_probe = early.judge
        try:
            left = max(began + options.time_limit - time.monotonic(), 0.0)
            options_now = replace(audit_options, time_limit=left)
            await Audit(target, options_now, recording, progress, faults).run()
        except NeedsAuthError as error:
            # Unauthenticated traffic can be judged, if there is any.
            if not Run(target.transport, recording.frames).pre_auth_sessions:
                raise
            needs_auth = str(error)
    about = About(
        date=date.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - began, 1),
        targets=tuple(recording.mask(str(target)) for target in targets),
        offered=tuple(revision.date for revision in options.revisions),
        calls=calls,
        faults=tuple(faults),
        needs_auth=needs_auth,
    )
    if options.evidence is not None:
        _save(recording, about, options.evidence)
    return compile_report(recording, about, options.selection, options.attested)


def replay_evidence(folder: Path, options: CheckOptions) -> Report:
    """Judge saved evidence again, without the server; raises UsageError."""
    try:
        about = codec.decode_as(About, (folder / _ABOUT).read_bytes())
        recording = Recording.read(folder / _FRAMES)
    except OSError as error:
        text = f"{folder} has no evidence of `dovetail check --evidence`: {error}"
        raise UsageError(text) from None
    except msgspec.ValidationError as error:
        raise UsageError(f"the evidence in {folder} cannot be read: {error}") from None
    return compile_report(recording, about, options.selection, options.attested)


def _save(recording: Recording, about: About, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    recording.save(folder / _FRAMES)
    (folder / _ABOUT).write_bytes(codec.encode(about) + b"\n")


def _validate_targets(targets: Sequence[CheckTarget]) -> None:
    if not targets:
        raise UsageError("no target: pass a URL, FILE.py, or a command after --")
    transports = [target.transport for target in targets]
    for transport in transports:
        if transports.count(transport) > 1:
            same = " and ".join(str(t) for t in targets if t.transport == transport)
            text = f"two targets use {transport}: {same}"
            raise UsageError(f"{text}; pass one target for each transport")


def _find_probes(wanted: set[str]) -> set[str] | None:
    """The probes that the selected rules need; None if a rule needs all of them."""
    registry.load()
    judged = [rules[id] for id in wanted if id in rules]
    if any(not judge.reads for judge in judged):
        return None
    return {name for judge in judged for name in judge.reads}
