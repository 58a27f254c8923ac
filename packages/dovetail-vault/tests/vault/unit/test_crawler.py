from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dovetail import ToolError
from dovetail_vault import crawler, index_writer, reader_process
from dovetail_vault.bitsets import iterate
from dovetail_vault.crawler import is_marked_complete, mark_complete
from dovetail_vault.database import connect, open_index
from dovetail_vault.folders import Entry, Root
from dovetail_vault.index_writer import IndexWriter
from dovetail_vault.query_evaluation import Evaluator
from dovetail_vault.query_language import parse_query
from dovetail_vault.reader_process import NoteReaders, build_segment
from dovetail_vault.vault import Vault
from tests.patience import CAP
from tests.vault import crashing

NOTES = 1_000
LONG = "long" * 60


def path_of(number: int) -> str:
    return f"{LONG}/note{number:04d}{LONG[:200]}.md"


def names_of(vault: Vault, query: str) -> set[str]:
    with vault.index.reading():
        found = Evaluator(vault.index, case_sensitive=False).evaluate(parse_query(query))
    assert found.sure == found.possible
    return {row.path for row in vault.index.rows(iterate(found.sure)).values()}


def test_worker_processes_build_the_same_index_as_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "_MANY", 10)
    # Several segments per worker, the last one shorter. With such long paths neither requests nor
    # responses fit into a pipe buffer.
    monkeypatch.setattr(crawler, "_SEGMENT", 170)
    folder = tmp_path / "vault"
    (folder / LONG).mkdir(parents=True)
    for number in range(NOTES):
        word = f"every{number % 3} third{number % 7} own{number}x"
        (folder / path_of(number)).write_text(f"# Note\n\n{word} #tag{number % 5}\n")
    walk = Root.walk

    def walk_with_a_ghost(self: Root, parts: Sequence[str] = ()) -> Iterator[Entry]:
        yield from walk(self, parts)
        # The file is deleted after the directory listing.
        yield Entry(f"{path_of(300)}-gone.md", 1, 1, 1)

    monkeypatch.setattr(Root, "walk", walk_with_a_ghost)
    vault = Vault("v", folder, index_dir=tmp_path / "index")
    vault.start()
    try:
        assert vault.wait_until_complete(CAP)
        assert len(vault.index.select("ORDER BY path")) == NOTES
        for number in (0, 166, 167, 299, 300, 301, 499, 500, 501, 999):
            assert names_of(vault, f"own{number}x") == {path_of(number)}
        expected = {path_of(n) for n in range(NOTES) if n % 3 == 1 and n % 7 != 2}
        assert names_of(vault, "every1 NOT third2") == expected
        assert len(names_of(vault, "tag:tag3")) == NOTES // 5
    finally:
        vault.stop()


def test_an_index_reset_is_noticed_by_other_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(100):
        (folder / f"note{number}.md").write_text(f"word{number}x common\n")
    first = Vault("v", folder, index_dir=tmp_path / "index")
    first.start()
    assert first.wait_until_complete(CAP)
    onlooker = Vault("v", folder, index_dir=tmp_path / "index")
    try:
        assert names_of(onlooker, "word7x common") == {"note7.md"}
        first.stop()
        # Other words in another order, so the numbers of words change.
        (folder / "note7.md").write_text("zebra common\n")
        (folder / "a first note.md").write_text("aardvark\n")
        monkeypatch.setattr(index_writer, "_MAX_SEGMENTS", 0)
        second = Vault("v", folder, index_dir=tmp_path / "index")
        second.start()
        try:
            assert second.wait_until_complete(CAP)
            for vault in (second, onlooker):
                assert names_of(vault, "zebra") == {"note7.md"}
                assert names_of(vault, "aardvark") == {"a first note.md"}
                assert names_of(vault, "word8x common") == {"note8.md"}
                assert len(names_of(vault, "common")) == 100
        finally:
            second.stop()
    finally:
        onlooker.index.close()
        onlooker.root.close()


def test_an_incomplete_index_is_not_marked_complete(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("one word\n")
    root = Root(tmp_path / "vault")
    with contextlib.closing(connect(open_index(tmp_path / "index"))) as database:
        writer = IndexWriter(database)
        writer.store_many(build_segment(root, root.walk()))
        assert not is_marked_complete(database)
        mark_complete(database)
        assert is_marked_complete(database)
        writer.reset()
        assert not is_marked_complete(database)
    root.close()


def unreadable(vault: Vault) -> list[tuple[str, str]]:
    return [(row.path, row.state) for row in vault.index.select("WHERE state != 'ok'")]


def test_a_note_that_crashes_a_worker_process_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawler, "_MANY", 10)
    monkeypatch.setattr(reader_process, "read_segment", crashing.read_segment)
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(12):
        word = "segfault" if number == 7 else f"own{number}x"
        (folder / f"{number}.md").write_text(word)
    vault = Vault("v", folder, index_dir=tmp_path / "index")
    vault.start()
    try:
        assert vault.wait_until_complete(CAP)
        assert len(vault.index.select("")) == 12
        assert unreadable(vault) == [("7.md", "crashed")]
        assert names_of(vault, "own6x OR own8x") == {"6.md", "8.md"}
        with pytest.raises(ToolError, match="crashed"):
            vault.open(("7.md",))
        with pytest.raises(ToolError, match="crashed"):
            vault.change(("7.md",), lambda _: "x")
    finally:
        vault.stop()


def test_after_a_crash_while_parsing_worker_processes_parse_the_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_process, "read_segment", crashing.read_segment)
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("segfault")
    (folder / "b.md").write_text("oak")
    words = [sys.executable, "-m", "tests.vault.crashing"]
    words += [str(folder), str(tmp_path / "index"), str(CAP)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGSEGV
    vault = Vault("v", folder, index_dir=tmp_path / "index")
    vault.start()
    try:
        assert vault.wait_until_complete(CAP)
        assert unreadable(vault) == [("a.md", "crashed")]
        assert names_of(vault, "oak") == {"b.md"}
    finally:
        vault.stop()


def test_workers_that_cannot_run_do_not_mark_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("oak")
    monkeypatch.setattr(reader_process, "read_segment", crashing.exit_at_once)
    root = Root(tmp_path)
    with NoteReaders(root) as readers, pytest.raises(OSError, match="cannot run"):
        list(readers.read(list(root.walk()), 10))
    root.close()
