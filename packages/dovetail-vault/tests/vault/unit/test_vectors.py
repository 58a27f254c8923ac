"""Vectors in the index: stored by model, removed with their notes, compared exhaustively."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from dovetail_serverkit.embedding import Vectors
from dovetail_vault.database import connect, transaction
from dovetail_vault.passages import Passage
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.semantic_search import SemanticSearcher
from dovetail_vault.vault import Vault
from dovetail_vault.vectors import VectorIndex, find_unembedded, save_vectors
from tests.patience import CAP


class Letters:
    """A model with two dimensions: the number of a and of b."""

    dimensions = 2
    min_similarity = 0.5

    def __init__(self, name: str = "letters-1") -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> Vectors:
        made = np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)
        normal: Vectors = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12)
        return normal


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name in ("one", "two", "three"):
        (folder / f"{name}.md").write_text(f"# {name}\n")
    opened = Vault("v", folder, index_dir=tmp_path / "index")
    opened.start()
    assert opened.wait_until_complete(CAP)
    yield opened
    opened.stop()


@pytest.fixture
def database(vault: Vault, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(tmp_path / "index" / "index.sqlite")) as connection:
        yield connection


def keep(
    database: sqlite3.Connection, model: Letters, note: int, *passages: tuple[int, str]
) -> None:
    made = [Passage(line, text) for line, text in passages]
    with transaction(database):
        vectors = model.embed([passage.text for passage in made])
        save_vectors(database, model.name, [(note, made, vectors)])


def numbers(database: sqlite3.Connection) -> dict[str, int]:
    return {path: number for number, path in database.execute("SELECT id, path FROM notes")}


def test_a_note_is_ranked_by_its_most_similar_passage(
    vault: Vault, database: sqlite3.Connection
) -> None:
    model, notes = Letters(), numbers(database)
    keep(database, model, notes["one.md"], (1, "b"), (5, "aab"))
    keep(database, model, notes["two.md"], (2, "a"))
    keep(database, model, notes["three.md"], (3, "b"))
    index = VectorIndex(vault.index, model)
    [vector] = model.embed(["a"])
    found = index.find(vector, lambda _: True, 10)
    assert [(one.note, one.line) for one in found] == [(notes["two.md"], 2), (notes["one.md"], 5)]
    assert found[0].similarity == pytest.approx(1.0, abs=0.01)
    only = index.find(vector, lambda note: note == notes["one.md"], 10)
    assert [one.line for one in only] == [5]
    assert len(index.find(vector, lambda _: True, 1)) == 1
    assert index.missing() == 0


def test_removed_notes_are_not_found_and_new_ones_are(
    vault: Vault, database: sqlite3.Connection
) -> None:
    model, notes = Letters(), numbers(database)
    index = VectorIndex(vault.index, model)
    [vector] = model.embed(["a"])
    assert index.find(vector, lambda _: True, 10) == []
    keep(database, model, notes["one.md"], (1, "a"))
    assert [one.note for one in index.find(vector, lambda _: True, 10)] == [notes["one.md"]]
    vault.remove(("one.md",))
    keep(database, model, notes["two.md"], (1, "a"))
    for _ in range(2):
        found = index.find(vector, lambda _: True, 10)
        assert [one.note for one in found] == [notes["two.md"]]
    # The note was removed while its vectors were being computed.
    keep(database, model, notes["one.md"], (1, "a"))
    (left,) = database.execute(
        "SELECT count(*) FROM vectors WHERE note = ?", (notes["one.md"],)
    ).fetchone()
    assert left == 0


def test_vectors_of_two_models_are_separate(vault: Vault, database: sqlite3.Connection) -> None:
    old, new = Letters("letters-1"), Letters("letters-2")
    number = numbers(database)["one.md"]
    keep(database, old, number, (1, "a"))
    assert len(find_unembedded(database, old.name, 10)) == 2
    assert len(find_unembedded(database, new.name, 10)) == 3
    assert len(find_unembedded(database, new.name, 2)) == 2
    assert VectorIndex(vault.index, new).find(new.embed(["a"])[0], lambda _: True, 10) == []
    assert VectorIndex(vault.index, new).missing().bit_count() == 3


def test_notes_without_vectors_are_ranked_by_words(
    vault: Vault, database: sqlite3.Connection
) -> None:
    model = Letters()
    vault.vectors = VectorIndex(vault.index, model)
    searcher = SemanticSearcher(vault)
    for path in ("one.md", "two.md"):
        vault.change((path,), lambda _: "# alpha")
    notes = numbers(database)
    request = SearchRequest(query="alpha", mode="semantic")
    found = searcher.search(request)
    assert found.mode == "lexical" and found.remark.startswith("0 of 3 notes are embedded")
    keep(database, model, notes["one.md"], (1, "aa"))
    found = searcher.search(request)
    assert found.mode == "hybrid" and found.remark.startswith("1 of 3 notes are embedded")
    assert {file.path for file in found.files} == {"one.md", "two.md"}
    for path in ("two.md", "three.md"):
        keep(database, model, notes[path], (1, "a" if path == "two.md" else "b"))
    found = searcher.search(request)
    assert (found.mode, found.remark) == ("semantic", "")


def test_the_worker_embeds_all_notes_and_later_changes(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "one.md").write_text("# aaa\n")
    (folder / "empty.md").write_text("")
    model = Letters()
    vault = Vault("v", folder, index_dir=tmp_path / "index", embedder=model)
    vault.start()
    try:
        assert vault.wait_until_complete(CAP)
        assert vault.vectors is not None
        for count in (2, 3):
            while vault.vectors.missing() or vault.index.live.bit_count() != count:
                assert vault.vector_problem is None
            vault.change(("b.md",), lambda _: "# bbb\n", must_exist=False)
        found = vault.vectors.find(model.embed(["b"])[0], lambda _: True, 10)
        assert [row.path for row in vault.index.rows([found[0].note]).values()] == ["b.md"]
    finally:
        vault.stop()
