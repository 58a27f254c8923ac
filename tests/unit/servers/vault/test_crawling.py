from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dovetail.servers.vault import crawling, indexing
from dovetail.servers.vault.bitsets import iterate
from dovetail.servers.vault.evaluating import Evaluator
from dovetail.servers.vault.folders import Entry, Root
from dovetail.servers.vault.query_language import parse_query
from dovetail.servers.vault.vault import Vault

NOTES = 1_000


def names_of(vault: Vault, query: str) -> set[str]:
    with vault.index.reading():
        found = Evaluator(vault.index, case_sensitive=False).evaluate(parse_query(query))
    assert found.sure == found.possible
    return {row.path for row in vault.index.rows(iterate(found.sure)).values()}


@pytest.mark.parametrize("vanished", [False, True])
def test_helpers_and_one_process_make_the_same_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vanished: bool
) -> None:
    monkeypatch.setattr(crawling, "_MANY", 10)
    # Not a multiple of what helpers take at a time, so that stretches end early.
    monkeypatch.setattr(crawling, "_BATCH", 600)
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(NOTES):
        word = f"every{number % 3} third{number % 7} own{number}x"
        (folder / f"note{number:04d}.md").write_text(f"# Note\n\n{word} #tag{number % 5}\n")
    walk = Root.walk

    def walk_with_a_ghost(self: Root, parts: Sequence[str] = ()) -> Iterator[Entry]:
        yield from walk(self, parts)
        if vanished:
            yield Entry("note0300-gone.md", 1, 1, 1)

    monkeypatch.setattr(Root, "walk", walk_with_a_ghost)
    vault = Vault("v", folder, index_dir=tmp_path / "index")
    vault.start()
    try:
        assert vault.wait_until_complete(15)
        assert len(vault.index.select("ORDER BY path")) == NOTES
        for number in (0, 255, 256, 299, 300, 301, 599, 600, 601, 999):
            assert names_of(vault, f"own{number}x") == {f"note{number:04d}.md"}
        expected = {f"note{n:04d}.md" for n in range(NOTES) if n % 3 == 1 and n % 7 != 2}
        assert names_of(vault, "every1 NOT third2") == expected
        assert len(names_of(vault, "tag:tag3")) == NOTES // 5
    finally:
        vault.stop()


def test_a_worn_index_is_made_anew_under_the_eyes_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(100):
        (folder / f"note{number}.md").write_text(f"word{number}x common\n")
    first = Vault("v", folder, index_dir=tmp_path / "index")
    first.start()
    assert first.wait_until_complete(15)
    onlooker = Vault("v", folder, index_dir=tmp_path / "index")
    try:
        assert names_of(onlooker, "word7x common") == {"note7.md"}
        first.stop()
        # Other words in other order: numbers of words now stand for others.
        (folder / "note7.md").write_text("zebra common\n")
        (folder / "a first note.md").write_text("aardvark\n")
        monkeypatch.setattr(indexing, "_MOST_SEGMENTS", 0)
        second = Vault("v", folder, index_dir=tmp_path / "index")
        second.start()
        try:
            assert second.wait_until_complete(15)
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
