from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail_graph.command import build, default_file


def test_with_no_option_at_all_there_is_a_server_in_the_default_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    # As `dovetail serve all` calls it: with the options of other servers, too.
    assert build(vaults=("x",), folder=None).name == "graph"
    assert default_file() == tmp_path / "dovetail" / "graph.db"
    assert default_file().exists()


def test_the_file_is_named_in_one_way(tmp_path: Path) -> None:
    assert build(file=str(tmp_path / "one.db"), embeddings="off").name == "graph"
    assert (tmp_path / "one.db").exists()
    with pytest.raises(UsageError, match="give one of them"):
        build(file="one.db", database=Path("two.db"))
    with pytest.raises(UsageError, match="--namespace is"):
        build(database=tmp_path / "three.db", namespace="../x")
    assert not (tmp_path / "three.db").exists()
