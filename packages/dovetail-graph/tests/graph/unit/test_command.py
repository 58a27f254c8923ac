from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail_graph.command import build, default_file


def test_without_options_the_default_file_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    # `dovetail serve all` also passes the options of other servers.
    assert build(vaults=("x",), folder=None).name == "graph"
    assert default_file() == tmp_path / "dovetail" / "graph.db"
    assert default_file().exists()


def test_file_and_db_are_exclusive(tmp_path: Path) -> None:
    assert build(file=str(tmp_path / "one.db"), embeddings="off").name == "graph"
    assert (tmp_path / "one.db").exists()
    with pytest.raises(UsageError, match="pass only one of them"):
        build(file="one.db", database=Path("two.db"))
    with pytest.raises(UsageError, match="--namespace must have"):
        build(database=tmp_path / "three.db", namespace="../x")
    assert not (tmp_path / "three.db").exists()
