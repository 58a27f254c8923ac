"""The coverage gate fails on a gap, an unmeasured layer and a report without branches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.coverage_gate import GATED, find_gaps, main


def report_of(files: dict[str, tuple[list[int], list[list[int]]]]) -> dict[str, Any]:
    """A report like that of `coverage json`: every layer is covered, except for `files`."""
    whole: dict[str, tuple[list[int], list[list[int]]]] = {
        f"src/{layer}__init__.py": ([], []) for layer in GATED
    }
    return {
        "meta": {"branch_coverage": True},
        "files": {
            path: {"missing_lines": lines, "missing_branches": branches}
            for path, (lines, branches) in {**whole, **files}.items()
        },
    }


def test_gaps_are_listed_by_file_with_lines_and_branches() -> None:
    report = report_of(
        {
            "src/dovetail/wire/codec.py": ([3, 4, 5, 9], [[4, 5], [7, 9], [11, -1]]),
            "src/dovetail/eras/legacy/ping.py": ([], [[2, 4]]),
            "src/dovetail/client/http.py": ([1, 2], []),
        }
    )
    assert list(find_gaps(report)) == [
        "src/dovetail/wire/codec.py: 3-5, 9, 7->9, 11->exit",
        "src/dovetail/eras/legacy/ping.py: 2->4",
    ]


def test_a_layer_that_was_not_measured_is_a_gap() -> None:
    report = report_of({})
    del report["files"]["src/dovetail/core/__init__.py"]
    assert list(find_gaps(report)) == ["dovetail/core/: nothing was measured"]


def test_the_verdict_is_printed_and_the_exit_status_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps(report_of({})), "utf-8")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "branch coverage: wire, spec, core, eras: 100 %\n"
    path.write_text(json.dumps(report_of({"dovetail/spec/keys.py": ([8], [])})), "utf-8")
    assert main([str(path)]) == 1
    said = capsys.readouterr()
    assert said.err == "not covered  dovetail/spec/keys.py: 8\n"
    assert said.out.endswith("FAILED, 1 with gaps\n")


def test_a_report_without_branches_is_refused(tmp_path: Path) -> None:
    report = report_of({})
    report["meta"]["branch_coverage"] = False
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps(report), "utf-8")
    assert main([str(path)]) == 2
