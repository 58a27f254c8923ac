"""Each rule reports a violation for its switch, and none for the healthy server."""

from __future__ import annotations

import asyncio
import sys

import pytest

from dovetail.spec.revisions import REVISIONS, Revision, find_revision
from dovetail_check import registry
from dovetail_check.audit import Audit, AuditOptions, NeedsAuthError
from dovetail_check.judging import RowReport, judge_recording
from dovetail_check.recording import Recording
from dovetail_check.rulebook import rules
from dovetail_check.rules import tasks_results
from dovetail_check.targets import CheckTarget
from dovetail_check.verdicts import Verdict
from tests.check.saboteur import faults, guarded
from tests.check.saboteur.switch import Switch, switches
from tests.patience import CAP

registry.load()
faults.load()

FIRED = (Verdict.FAIL, Verdict.WARN, Verdict.INFO)
# Only a server beyond the loopback address can violate these; unit/rules/test_http_origin.py
# tests them.
BEYOND_LOOPBACK = frozenset(
    {"http.authenticate", "http.bind-localhost", "sse.authenticate", "sse.bind-localhost"}
)


def target_for(switch: Switch | None, transport: str, url: str) -> CheckTarget:
    name = "healthy" if switch is None else switch.id
    if transport == "stdio":
        command = [sys.executable, "-m", "tests.check.saboteur.over_stdio"]
        return CheckTarget(
            transport="stdio", command=(*command, *([] if switch is None else [name]))
        )
    path = "sse" if transport == "sse" else "mcp"
    headers = {} if switch is None else dict(switch.headers)
    if switch is not None and switch.guarded:
        return CheckTarget(transport="http", url=guarded.url_of(switch.id), headers=headers)
    return CheckTarget(transport=transport, url=f"{url}/{name}/{path}", headers=headers)


def revisions_for(switch: Switch) -> tuple[Revision, ...]:
    if switch.revision == "all":
        return REVISIONS
    if switch.revision is not None:
        found = find_revision(switch.revision)
        assert found is not None
        return (found,)
    return rules[switch.row].row.revisions[-1:]


def run(switch: Switch, transport: str, url: str, timeout: float) -> Recording:
    options = AuditOptions(
        revisions=revisions_for(switch),
        probes=(*rules[switch.row].reads, *switch.probes),
        timeout=timeout,
    )
    return check(target_for(switch, transport, url), options)


def check(target: CheckTarget, options: AuditOptions) -> Recording:
    """The recording of a check, also for a server that requires credentials."""
    try:
        return asyncio.run(Audit(target, options).run())
    except NeedsAuthError as error:
        return error.recording


def transport_of(switch: Switch) -> str:
    wanted = rules[switch.row].row.transport
    return switch.transport or ("http" if wanted == "any" else wanted)


def show(report: RowReport) -> str:
    notes = [note.text for finding in report.findings for note in finding.notes if note.text]
    return f"{report.row.id}: {report.verdict.value} {notes[:5]} {report.reason}"


@pytest.mark.parametrize("id", sorted(rules.keys() - BEYOND_LOOPBACK))
def test_a_rule_fires_on_its_saboteur(id: str, saboteur_url: str) -> None:
    assert id in switches, f"no switch violates {id}: add one to saboteur/switches"
    switch = switches[id]
    # Long enough for every answer; silence, which some switches make, is waited for in vain.
    for timeout in (2.0, 20.0, 100.0):
        recording = run(switch, transport_of(switch), saboteur_url, timeout)
        [report] = judge_recording(recording, only=[id])
        if report.verdict in FIRED:
            return
    pytest.fail(show(report))


def test_every_switch_belongs_to_a_rule() -> None:
    assert sorted({switch.row for switch in switches.values()} - rules.keys()) == []


@pytest.mark.parametrize("id", sorted(id for id in switches if "~" in id))
def test_a_rule_fires_on_servers_that_it_was_not_written_for(id: str, saboteur_url: str) -> None:
    switch = switches[id]
    recording = run(switch, transport_of(switch), saboteur_url, 10.0)
    [report] = judge_recording(recording, only=[switch.row])
    assert report.verdict in (Verdict.FAIL, Verdict.WARN), show(report)


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
def test_nothing_fires_on_the_healthy_server(
    transport: str, saboteur_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a slow machine every answer is slow.
    monkeypatch.setattr(tasks_results, "SLOW", CAP)
    target = target_for(None, transport, saboteur_url)
    recording = asyncio.run(Audit(target, AuditOptions(timeout=60.0)).run())
    fired = [
        show(report)
        for report in judge_recording(recording)
        if report.verdict in (Verdict.FAIL, Verdict.WARN)
    ]
    assert fired == []
