"""From frames to a report: judged, counted, and no larger than it must be."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.wire import codec
from dovetail_check.compiling import About, Selection, compile_report
from dovetail_check.frames import Frame
from dovetail_check.inventory import by_id
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.recording import Recording
from dovetail_check.rulebook import Rule, rules
from dovetail_check.verdicts import Note, Observation, Verdict, satisfied, violated

ID = "ping.empty-result"
SESSION = "stdio 2025-11-25"
ABOUT = About(
    date="2026-11-15T12:00:00+00:00",
    seconds=1.0,
    targets=("python server.py",),
    offered=("2025-11-25",),
    calls="readonly",
)


def sent(n: int, message: dict[str, Any], tag: str) -> Frame:
    text = codec.encode(message).decode()
    return Frame(
        n=n, at=n / 10, session=SESSION, connection="main", kind="sent", tag=tag, text=text
    )


def got(n: int, of: int, message: dict[str, Any]) -> Frame:
    text = codec.encode(message).decode()
    return Frame(
        n=n, at=n / 10, session=SESSION, connection="main", kind="received", of=of, text=text
    )


def recording(*results: dict[str, Any]) -> Recording:
    """A server that was opened and pinged as often as there are results."""
    info = {"name": "shop", "version": "1"}
    opened = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    frames = [
        sent(0, {"jsonrpc": "2.0", "id": 0, "method": "initialize"}, "opening"),
        got(1, 0, {"jsonrpc": "2.0", "id": 0, "result": opened}),
    ]
    for result in results:
        n = len(frames)
        frames.append(sent(n, {"jsonrpc": "2.0", "id": n, "method": "ping"}, "ping"))
        frames.append(got(n + 1, n, {"jsonrpc": "2.0", "id": n, "result": result}))
    return Recording(frames)


def judged_by(monkeypatch: pytest.MonkeyPatch, judge: Any) -> None:
    monkeypatch.setitem(rules, ID, Rule(by_id()[ID], judge, ("ping",)))


def test_a_broken_row_points_at_frames_that_are_in_the_report() -> None:
    report = compile_report(recording({"extra": 1}), ABOUT, Selection(only=(ID,)))
    [row] = report.rows
    [finding] = row.findings
    assert (row.verdict, finding.session) == (Verdict.FAIL, SESSION)
    assert [frame.n for frame in report.frames] == list(finding.notes[0].frames) == [2, 3]
    assert (report.server, report.eras, report.revisions) == (
        "shop 1",
        ("legacy",),
        ("2025-11-25",),
    )
    assert report.sessions[0].capabilities == ("tools",)


def test_notes_that_say_the_same_are_kept_once_and_counted() -> None:
    report = compile_report(recording(*[{}] * 9), ABOUT, Selection(only=(ID,)))
    [finding] = report.rows[0].findings
    assert (len(finding.notes), finding.omitted) == (1, 8)
    assert len(report.frames) == 2


def test_violations_come_before_other_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(_: ProbeSession) -> list[Note]:
        return [satisfied(), *(violated(None, f"problem {n}") for n in range(20))]

    judged_by(monkeypatch, judge)
    report = compile_report(recording({}), ABOUT, Selection(only=(ID,)))
    [finding] = report.rows[0].findings
    assert [note.observation for note in finding.notes] == [Observation.VIOLATED] * 20 + [
        Observation.SATISFIED
    ]
    assert finding.omitted == 0


def test_a_long_text_is_cut_and_says_so() -> None:
    report = compile_report(recording({"x": "y" * 20000}), ABOUT, Selection(only=(ID,)))
    text = report.frames[-1].text or ""
    assert len(text) < 7000
    assert text.endswith("characters)")


def test_a_rule_that_raises_is_a_fault_and_costs_only_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def judge(_: ProbeSession) -> list[Note]:
        raise KeyError("method")

    judged_by(monkeypatch, judge)
    report = compile_report(recording({}), ABOUT, Selection(only=("ping.*", "base.jsonrpc.valid")))
    [fault] = report.faults
    assert (fault.where, fault.error) == (f"rule {ID}", "KeyError: 'method'")
    assert "in judge" in fault.trace
    assert report.by_id[ID].verdict is Verdict.NOT_OBSERVED
    assert report.by_id["base.jsonrpc.valid"].verdict is Verdict.PASS


def test_rows_are_chosen_by_globs() -> None:
    ids = Selection(only=("ping.*",), skip=("*.removed",)).ids()
    assert ID in ids
    assert "ping.removed" not in ids
    assert all(id.startswith("ping.") for id in ids)
    assert Selection().ids() == by_id().keys()


def test_a_statement_applies_only_to_unobserved_requirements() -> None:
    unseen = next(
        row.id for row in by_id().values() if row.testable == "no" and row.id not in rules
    )
    stated = {ID: "I promise (Jo)", unseen: "I promise (Jo)"}
    report = compile_report(recording({"x": 1}), ABOUT, Selection(only=tuple(stated)), stated)
    assert report.by_id[ID].verdict is Verdict.FAIL
    row = report.by_id[unseen]
    assert (row.verdict, row.reason) == (Verdict.ATTESTED, "I promise (Jo)")


def test_the_same_frames_give_the_same_report() -> None:
    one, two = (compile_report(recording({}, {"x": 1}), ABOUT) for _ in range(2))
    assert codec.encode(one) == codec.encode(two)
