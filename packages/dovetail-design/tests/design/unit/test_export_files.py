from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail import ToolError
from dovetail_design.design_tools import new_design
from dovetail_design.export_files import FileBatch, file_name
from dovetail_design.exporting import Drawn
from dovetail_design.folders import Folders
from dovetail_design.studio import Caller, Studio
from tests.design.writing import open_studio


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    (tmp_path / "out").mkdir()
    made = open_studio(tmp_path / "d")
    yield Studio(made.store, made.blobs, Folders([tmp_path / "out"]), made.book)
    made.store.close()


def make(studio: Studio, *places: str | None, spoil: Path | None = None) -> list[str]:
    """Keep a file for each place; `spoil` is written by somebody else meanwhile."""
    records = [new_design("PRIVATE", "") for _ in places]
    with FileBatch(studio, overwrite=False) as batch:
        for place in places:
            batch.add(Drawn(b"data", "image/png", 3, 4), place)
        if spoil is not None:
            spoil.write_bytes(b"theirs")
        with studio.store.writing() as writer:
            return [view.uri for view in batch.finish(writer, Caller(), records, "png")]


def test_files_get_their_names_together(studio: Studio, tmp_path: Path) -> None:
    uris = make(studio, "a.png", None, "b.png")
    assert len(set(uris)) == 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.png", "b.png"]


def test_no_file_is_there_if_one_of_them_cannot_be(studio: Studio, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="overwrite"):
        make(studio, "a.png", "b.png", spoil=tmp_path / "out" / "b.png")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.png"]
    assert (tmp_path / "out" / "b.png").read_bytes() == b"theirs"
    with studio.store.reading() as reader:
        assert not reader.is_blob_used(studio.blobs.keep(b"data"))


def test_a_content_that_was_erased_meanwhile_is_found_out(studio: Studio) -> None:
    with FileBatch(studio, overwrite=False) as batch:
        batch.add(Drawn(b"data", "image/png"), None)
        studio.blobs.forget(studio.blobs.keep(b"data"))
        with pytest.raises(ToolError, match="try again"), studio.store.writing() as writer:
            batch.finish(writer, Caller(), [new_design("PRIVATE", "")], "png")


def test_a_name_says_what_it_is_on_every_disk() -> None:
    assert file_name("Été: sale / 50%!", 3, "png") == "ete-sale-50-v3.png"
    assert file_name("漢字", 1, "pdf") == "design-v1.pdf"
    assert len(file_name("x" * 300, 1, "svg")) < 80
