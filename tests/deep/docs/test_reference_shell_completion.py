"""The script of docs/reference/shell-completion.md completes commands and options in bash."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT
from tests.patience import CAP

PAGE = (ROOT / "docs" / "reference" / "shell-completion.md").read_text("utf-8")
BASH = shutil.which("bash")


def run_bash(script: str, home: Path) -> str:
    assert BASH is not None
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        [BASH, "--norc", "-c", script],
        env={"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CAP,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def complete(words: str, home: Path) -> list[str]:
    """What Tab suggests after these words, with the lines of the page in ~/.bashrc."""
    script = f"""
    . ~/.bashrc
    COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
    $(complete -p dovetail | sed 's/.*-F \\([^ ]*\\) .*/\\1/') dovetail
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return run_bash(script, home).split()


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_bash_completes_as_the_page_says(tmp_path: Path) -> None:
    [install] = re.findall(r"## bash\n\n```bash\n(.*?)```", PAGE, re.S)
    run_bash(install, tmp_path)
    shown = re.findall(r"^\$ (.+)<Tab>\n(.+)$", PAGE, re.M)
    assert len(shown) == 2
    for typed, suggested in shown:
        words = f"{typed}''" if typed.endswith(" ") else typed
        assert complete(words, tmp_path) == suggested.split()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_for_other_shells_are_printed(shell: str, tmp_path: Path) -> None:
    assert f"_DOVETAIL_COMPLETE={shell}_source dovetail" in PAGE
    printed = run_bash(f"_DOVETAIL_COMPLETE={shell}_source dovetail", tmp_path)
    assert f"{shell}_complete" in printed
