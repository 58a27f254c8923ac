from __future__ import annotations

from pathlib import Path

import pytest

from dovetail import ToolError
from dovetail_design.sqlite_file import SqliteFile


def test_a_file_that_breaks_under_our_hands_is_told(tmp_path: Path) -> None:
    path = tmp_path / "designs.db"
    file = SqliteFile(path)
    with file.writing() as database:
        database.executemany(
            "INSERT INTO currents VALUES(?, ?)", [(str(n), b"x" * 3_000) for n in range(50)]
        )
    file.close()
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    file = SqliteFile(path)
    with pytest.raises(ToolError, match="damaged"), file.reading() as database:
        database.execute("SELECT sum(length(state)) FROM currents").fetchone()
    file.close()


def test_a_reader_sees_one_state_while_another_writes(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "designs.db")
    count = "SELECT count(*) FROM changes"
    with file.reading() as reader:
        assert reader.execute(count).fetchone() == (0,)
        with file.writing() as writer:
            writer.execute("INSERT INTO changes(design) VALUES('d')")
        assert reader.execute(count).fetchone() == (0,)
    with file.reading() as reader:
        assert reader.execute(count).fetchone() == (1,)
    file.close()
