"""What is embedded and when, with a real file and an embedder that records its calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dovetail.errors import ToolError, UsageError
from dovetail_graph import embedding_worker
from dovetail_graph.embedding_worker import EmbeddingWorker
from dovetail_graph.records import EntityRecord, ObservationRecord
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.timestamps import Span
from dovetail_graph.vector_search import VectorSearch
from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.numeric import np
from tests.patience import wait_until

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class CountLetters:
    """Texts with the same letters are similar."""

    dimensions = len(LETTERS)
    min_similarity = 0.5

    def __init__(self, name: str = "letters") -> None:
        self.name = name
        self.seen: list[str] = []
        self.is_broken = False
        self.failures = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.is_broken:
            self.failures += 1
            raise UsageError("the weights are gone")
        self.seen += texts
        made = np.array([[text.lower().count(one) for one in LETTERS] for text in texts])
        found = made.reshape(len(texts), len(LETTERS)).astype(np.float32) + np.float32(1e-6)
        normal: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
        return normal


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "graph.db", "default")
    yield made
    made.close()


def write(store: SqliteStore, **said: str) -> None:
    with store.writing() as writer:
        for name, text in said.items():
            writer.put_entity(EntityRecord(name, "thing"), Span(0))
            writer.put_observation(ObservationRecord(name, text), Span(0))


def catch_up(vectors: VectorSearch) -> None:
    while vectors.catch_up():
        pass


def find(store: SqliteStore, vectors: VectorSearch, text: str, limit: int = 3) -> list[str]:
    with store.reading() as reader:
        [vector] = vectors.embed([text])
        return [one.name for one in vectors.find(reader, vector, 0.5, limit, set)]


def missing(store: SqliteStore, vectors: VectorSearch) -> int:
    with store.reading() as reader:
        return vectors.count_missing(reader)


def test_new_texts_are_embedded_first_then_old_ones_latest_first(store: SqliteStore) -> None:
    for number in range(40):
        write(store, **{f"Old{number:02}": f"zz {number}"})
    embedder = CountLetters()
    vectors = VectorSearch(store, embedder)
    assert missing(store, vectors) == 40
    # A search embeds only new entities, and there are none.
    vectors.catch_up_briefly()
    assert embedder.seen == []
    assert vectors.catch_up()
    assert embedder.seen[0] == "Old39: zz 39" and len(embedder.seen) == 16
    write(store, New="qq")
    vectors.catch_up_briefly()
    assert embedder.seen[16:] == ["New: qq"]
    catch_up(vectors)
    assert embedder.seen[-1] == "Old00: zz 0" and len(set(embedder.seen)) == 41
    assert missing(store, vectors) == 0 and len(embedder.seen) == 41


def test_a_search_does_not_embed_large_entities(store: SqliteStore) -> None:
    embedder = CountLetters()
    vectors = VectorSearch(store, embedder)
    catch_up(vectors)
    with store.writing() as writer:
        writer.put_entity(EntityRecord("Long", "thing"), Span(0))
        for number in range(100):
            writer.put_observation(ObservationRecord("Long", f"text {number}"), Span(0))
    vectors.catch_up_briefly()
    assert embedder.seen == [] and missing(store, vectors) == 1
    catch_up(vectors)
    assert len(embedder.seen) == 100 and missing(store, vectors) == 0


def test_entities_with_the_same_timestamp_are_embedded_once(store: SqliteStore) -> None:
    write(store, **{f"E{number}": f"text {number}" for number in range(50)})
    embedder = CountLetters()
    catch_up(VectorSearch(store, embedder))
    assert sorted(embedder.seen) == sorted(f"E{n}: text {n}" for n in range(50))
    # The next process embeds nothing.
    other = CountLetters()
    catch_up(VectorSearch(store, other))
    assert other.seen == []


def test_only_new_texts_of_an_entity_are_embedded(store: SqliteStore) -> None:
    embedder = CountLetters()
    vectors = VectorSearch(store, embedder)
    write(store, Ada="sails")
    catch_up(vectors)
    write(store, Ada="cooks")
    catch_up(vectors)
    assert embedder.seen == ["Ada: sails", "Ada: cooks"]


def test_a_deleted_text_is_not_found(store: SqliteStore) -> None:
    vectors = VectorSearch(store, CountLetters())
    write(store, Ada="zzzz", Bo="qqqq")
    catch_up(vectors)
    assert find(store, vectors, "zzzz") == ["Ada"]
    with store.writing() as writer:
        writer.delete_observation("Ada", "zzzz")
    assert find(store, vectors, "zzzz") == []
    with store.writing() as writer:
        writer.drop_entity("Bo", Span())
    assert find(store, vectors, "qqqq") == []


def test_vectors_of_another_process_are_found(store: SqliteStore) -> None:
    here, there = VectorSearch(store, CountLetters()), VectorSearch(store, CountLetters())
    assert find(store, here, "zzzz") == []
    write(store, Ada="zzzz")
    catch_up(there)
    assert find(store, here, "zzzz") == ["Ada"]


def test_vectors_of_two_models_are_separate(store: SqliteStore) -> None:
    one, other = (
        VectorSearch(store, CountLetters("one")),
        VectorSearch(store, CountLetters("other")),
    )
    write(store, Ada="zzzz")
    catch_up(one)
    assert find(store, other, "zzzz") == [] and missing(store, other) == 1
    catch_up(other)
    assert find(store, other, "zzzz") == ["Ada"]


def test_vectors_of_two_namespaces_are_separate(store: SqliteStore, tmp_path: Path) -> None:
    second = SqliteStore(tmp_path / "graph.db", "second")
    write(second, Secret="zzzz")
    catch_up(VectorSearch(second, CountLetters()))
    vectors = VectorSearch(store, CountLetters())
    catch_up(vectors)
    assert find(store, vectors, "zzzz") == [] and missing(store, vectors) == 0
    second.close()


def test_filtered_names_are_found_behind_many_nearer_ones(store: SqliteStore) -> None:
    write(store, **{f"Near{number}": "zzzz" for number in range(600)}, Far="zzzy")
    vectors = VectorSearch(store, CountLetters())
    catch_up(vectors)
    with store.reading() as reader:
        [vector] = vectors.embed(["zzzz"])
        found = vectors.find(reader, vector, 0.5, 3, lambda names: {"Far"} & set(names))
        assert [one.name for one in found] == ["Far"] and found[0].text == "zzzy"
        assert len(vectors.find(reader, vector, 0.5, 5, set)) == 5


def test_a_failed_batch_is_tried_again(store: SqliteStore) -> None:
    embedder = CountLetters()
    vectors = VectorSearch(store, embedder)
    catch_up(vectors)
    write(store, Ada="zzzz")
    embedder.is_broken = True
    with pytest.raises(ToolError, match="the weights are gone"):
        vectors.catch_up()
    embedder.is_broken = False
    catch_up(vectors)
    assert find(store, vectors, "zzzz") == ["Ada"]


def test_a_failure_does_not_stop_the_worker(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_worker, "_LONG_PAUSE", 0.01)
    embedder = CountLetters()
    embedder.is_broken = True
    write(store, Ada="zzzz")
    vectors = VectorSearch(store, embedder)
    worker = EmbeddingWorker(vectors)
    worker.start()
    wait_until(lambda: embedder.failures)
    embedder.is_broken = False
    wait_until(lambda: embedder.seen or not worker._thread.is_alive())
    worker.stop()
    assert find(store, vectors, "zzzz") == ["Ada"]
