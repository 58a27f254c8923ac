from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dovetail import ToolError, UsageError
from dovetail_design.sqlite_store import SqliteStore
from dovetail_design.storage import (
    AssetQuery,
    AssetRecord,
    DesignQuery,
    DesignRecord,
    ExportRecord,
    VersionRecord,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "designs.db")
    yield opened
    opened.close()


def blank(id: str, owner: str = "", visibility: str = "PRIVATE") -> DesignRecord:
    return DesignRecord(id, "", "", visibility, owner, 0, 0, 0, 0, 0, 0)


def state(name: str = "A", *xs: int) -> dict[str, Any]:
    elements = [{"id": f"e{number}", "type": "text", "x": x} for number, x in enumerate(xs)]
    return {"name": name, "width": 10, "height": 20, "elements": elements}


def edit(undo_to: int = 0) -> VersionRecord:
    return VersionRecord(0, 0, "edit", "", "", "", 0, undo_to, ())


def test_every_version_can_be_read_as_it_was(store: SqliteStore) -> None:
    states = [state("A", *range(number % 7), number) for number in range(120)]
    with store.writing() as writer:
        record = writer.add_design(blank("d"), states[0], "")
    for one in states[1:]:
        with store.writing() as writer:
            number = writer.add_version(record, one, edit())
        record = replace(record, version=number)
    with store.reading() as reader:
        assert reader.state("d") == states[-1]
        for number, one in enumerate(states, 1):
            assert reader.state("d", number) == one
        assert reader.state("d", 121) is None
        assert reader.state("x") is None
        assert [one.number for one in reader.versions("d", before=4)] == [3, 2, 1]
        found = reader.design("d")
    assert found is not None
    assert (found.version, found.elements, found.width) == (120, len(states[-1]["elements"]), 10)


def test_a_list_has_the_last_changed_first_and_knows_words_and_owners(store: SqliteStore) -> None:
    with store.writing() as writer:
        writer.add_design(blank("a", "ann"), state("Spring sale"), "ann")
    with store.writing() as writer:
        writer.add_design(blank("b", "bo", "PUBLIC"), state("Summer SALE"), "bo")
    with store.writing() as writer:
        writer.add_design(blank("c", "bo", "UNLISTED"), state("Other"), "bo")

    def ids(**query: Any) -> list[str]:
        with store.reading() as reader:
            page = reader.designs(DesignQuery(**query))
            assert page.total >= len(page.items)
            return [one.id for one in page.items]

    assert ids() == ["c", "b", "a"]
    assert ids(search="sale") == ["b", "a"]
    assert ids(search="sale summer") == ["b"]
    assert ids(viewer="ann") == ["b", "a"]
    assert ids(viewer="nobody") == ["b"]
    assert ids(skip=1, limit=1) == ["b"]
    with store.writing() as writer:
        found = writer.design("a")
        assert found is not None
        writer.describe(replace(found, deleted=writer.now()))
    assert ids() == ["c", "b"]
    assert ids(in_trash=True) == ["a"]
    assert ids(in_trash=True, viewer="bo") == []


def test_a_change_that_fails_leaves_nothing(store: SqliteStore) -> None:
    with pytest.raises(ToolError), store.writing() as writer:
        writer.add_design(blank("d"), state(), "")
        raise ToolError("no")
    with store.reading() as reader:
        assert reader.design("d") is None
        assert reader.last_change() == 0


def test_what_changed_is_told_by_number(store: SqliteStore) -> None:
    with store.writing() as writer:
        record = writer.add_design(blank("d"), state(), "")
    with store.writing() as writer:
        writer.add_version(record, state("B"), edit())
        writer.add_asset(AssetRecord("a", "n", "IMAGE", "image/png", 1, "0" * 64, "", 1))
    with store.reading() as reader:
        assert [id for _, id in reader.changed_since(0, 10)] == ["d", "d", "assets"]
        assert [id for _, id in reader.changed_since(1, 1)] == ["d"]
        assert reader.last_change() == 3


def test_an_erased_design_leaves_no_row(store: SqliteStore, tmp_path: Path) -> None:
    with store.writing() as writer:
        record = writer.add_design(blank("d"), state("A", 1), "")
        writer.add_version(record, state("A", 2), edit())
        writer.add_export(ExportRecord("e", "d", 1, "n", "image/png", 1, "0" * 64, 1))
        writer.set_label("d", 2, "here")
    with store.writing() as writer:
        assert writer.is_blob_used("0" * 64)
        assert writer.labelled("d", "here")
        writer.erase_design("d")
    with store.reading() as reader:
        assert (reader.design("d"), reader.state("d"), reader.export("e")) == (None, None, None)
        assert reader.versions("d") == []
        assert not reader.is_blob_used("0" * 64)


def test_assets_are_listed_by_kind_and_owner(store: SqliteStore) -> None:
    with store.writing() as writer:
        for number, (kind, owner) in enumerate(
            [("IMAGE", "ann"), ("FONT", "ann"), ("IMAGE", "bo")]
        ):
            id = f"a{number}"
            writer.add_asset(AssetRecord(id, id, kind, "x/y", 1, "0" * 64, owner, number))
    with store.reading() as reader:
        assert [one.id for one in reader.assets(AssetQuery()).items] == ["a2", "a1", "a0"]
        assert [one.id for one in reader.assets(AssetQuery(viewer="ann", kind="IMAGE")).items] == [
            "a0"
        ]


def test_a_moment_is_later_than_all_before(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamps = []
    for moment in (5_000_000, 3_000_000, 3_000_000, 9_000_000):
        monkeypatch.setattr("time.time_ns", lambda now=moment: now)
        with store.writing() as writer:
            stamps.append(writer.now())
    assert stamps == [5_000, 5_001, 5_002, 9_000]


def test_foreign_broken_and_later_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database" * 500)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as file:
        file.execute("CREATE TABLE bookmarks(url TEXT)")
    file.close()
    later = tmp_path / "later.db"
    SqliteStore(later).close()
    with sqlite3.connect(later) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    for path, said in ((broken, "not a usable"), (foreign, "another program"), (later, "later")):
        before = path.read_bytes()
        with pytest.raises(UsageError, match=said):
            SqliteStore(path)
        assert path.read_bytes() == before
    with pytest.raises(UsageError, match="Cannot store"):
        SqliteStore(tmp_path)


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "deep" / "designs.db").close()
    assert (tmp_path / "deep" / "designs.db").stat().st_mode & 0o077 == 0


def test_only_the_newest_exports_are_kept(store: SqliteStore) -> None:
    with store.writing() as writer:
        for number in range(5):
            digest = str(number % 3) * 64
            writer.add_export(
                ExportRecord(f"e{number}", "d", 1, "n", "image/png", 1, digest, number)
            )
        assert writer.drop_exports(2) == ["2" * 64, "1" * 64, "0" * 64]
        assert writer.drop_exports(2) == []
        assert [writer.export(f"e{number}") is None for number in range(5)] == [
            *(True, True, True),
            *(False, False),
        ]
        assert writer.is_blob_used("1" * 64) and not writer.is_blob_used("2" * 64)


def test_the_size_of_all_assets_is_known(store: SqliteStore) -> None:
    with store.writing() as writer:
        assert writer.asset_bytes() == 0
        for id in ("a", "b"):
            writer.add_asset(AssetRecord(id, id, "IMAGE", "x/y", 21, "0" * 64, "", 1))
        assert writer.asset_bytes() == 42
