"""Options of `dovetail graph`; test_picture.py tests the page it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dovetail.cli.app import app
from dovetail_graph.sqlite_store import SqliteStore


def test_the_default_file_and_place_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    SqliteStore(tmp_path / "dovetail" / "graph.db", "default").close()
    done = CliRunner().invoke(app, ["graph", "show"], obj=[])
    assert (done.exit_code, done.output) == (0, "graph.html: 0 entities\n")
    assert (tmp_path / "graph.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("most", ["0", "10001", "x"])
def test_an_invalid_number_is_rejected(most: str) -> None:
    done = CliRunner().invoke(app, ["graph", "show", "--most", most], obj=[])
    assert done.exit_code == 2 and "--most" in done.output
