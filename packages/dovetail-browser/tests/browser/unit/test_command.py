"""Command line options; no browser starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dovetail import Server, UsageError
from dovetail_browser.command import build


def test_every_combination_builds_a_server() -> None:
    """`dovetail serve all` includes the browser without being asked."""
    assert isinstance(build(), Server)
    assert isinstance(build(vaults=(), database=None), Server)


def test_scripts_are_offered_only_when_enabled() -> None:
    usual, more = (
        {one.name for one in build(enable_scripts=enabled).tools.list()}
        for enabled in (False, True)
    )
    assert more - usual == {"evaluate_script"}


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--connect"):
        build(connect="http://127.0.0.1:9222", profile=tmp_path)
    with pytest.raises(UsageError, match="--secrets"):
        build(secrets_file=tmp_path / "none")
    with pytest.raises(UsageError, match="--allow"):
        build(allow=("http://[",))


def test_the_driver_is_not_loaded_before_a_tool_needs_it() -> None:
    probe = (
        "import sys; from dovetail_browser.command import build; build(); "
        "print(sorted(name for name in sys.modules if name.startswith('playwright')))"
    )
    said = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
