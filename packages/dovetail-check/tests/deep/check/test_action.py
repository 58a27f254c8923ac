"""The step of the GitHub Action that checks, run as a runner would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[5]
ACTION = (ROOT / "action.yml").read_text("utf-8")
CROOKED = ROOT / "packages/dovetail/tests/peers/crooked_server.py"


def read_step(name: str) -> tuple[dict[str, str], str]:
    """The variables of a step, each with the input it is from, and its script."""
    [step] = re.findall(rf"    - name: {name}\n(.*?)(?=\n    - |\Z)", ACTION, re.DOTALL)
    inputs = dict(re.findall(r"        (\w+): \$\{\{ inputs\.([\w-]+) \}\}", step))
    return inputs, dedent(step.partition("run: |\n")[2])


def read_defaults() -> dict[str, str]:
    text = ACTION.partition("inputs:\n")[2].partition("\noutputs:")[0]
    found = re.findall(r"  ([\w-]+):\n    description: .*\n    default: (.*)", text)
    return {name: value.strip('"') for name, value in found}


def run_step(folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    inputs, script = read_step("Check the server")
    defaults = {**read_defaults(), **given}
    # Where the step before it has put the checker.
    place = folder / "runner" / "dovetail-check" / "bin"
    place.mkdir(parents=True)
    (place / "dovetail").symlink_to(Path(sys.executable).parent / "dovetail")
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(folder / "runner"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        **{variable: defaults[name] for variable, name in inputs.items()},
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_findings_are_annotated_summed_up_and_kept(tmp_path: Path) -> None:
    done = run_step(
        tmp_path,
        command=f"'{sys.executable}' '{CROOKED}'",
        revision="2025-11-25",
        options="--only ping.empty-result --timeout '100'",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error title=ping.empty-result (MUST)::" in done.stdout
    assert (tmp_path / "output").read_text() == "exit-code=1\n"
    summary = (tmp_path / "summary").read_text()
    assert summary.startswith("# MCP compliance of crooked 0.1")
    assert "### `ping.empty-result`: fail" in summary
    assert "claims:" not in summary
    assert sorted(path.name for path in (tmp_path / "mcp-compliance").iterdir()) == [
        "COMPLIANCE.md",
        "report.html",
        "report.json",
        "report.sarif",
        "report.xml",
    ]


def test_a_server_that_does_not_start_sets_another_exit_code(tmp_path: Path) -> None:
    done = run_step(tmp_path, command="no-such-server 'with spaces'")
    assert done.returncode == 4
    assert "'no-such-server' did not start" in done.stderr
    assert (tmp_path / "output").read_text() == "exit-code=4\n"


def test_no_input_is_pasted_into_a_script() -> None:
    for script in re.findall(r"run: \|\n(.*?)(?=\n    - |\Z)", ACTION, re.DOTALL):
        assert "${{" not in script
