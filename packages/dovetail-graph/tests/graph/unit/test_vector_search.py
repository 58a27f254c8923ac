"""What is embedded when, over a real file, with an embedder of a few lines that counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dovetail.errors import ToolError, UsageError
from dovetail_graph.background import Background
from dovetail_graph.meaning import Meaning
from dovetail_graph.moments import Span
from dovetail_graph.records import EntityRecord, ObservationRecord
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.numeric import np

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class CountLetters:
    """Texts are alike that have the same letters."""

    dimensions = len(LETTERS)
    min_similarity = 0.5

    def __init__(self, name: str = "letters") -> None:
        self.name = name
        self.seen: list[str] = []
        self.is_broken = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.is_broken:
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


def catch_up(meaning: Meaning) -> None:
    while meaning.catch_up():
        pass


def find(store: SqliteStore, meaning: Meaning, text: str, limit: int = 3) -> list[str]:
    with store.reading() as reader:
        [vector] = meaning.embed([text])
        return [one.name for one in meaning.find(reader, vector, 0.5, limit, set)]


def missing(store: SqliteStore, meaning: Meaning) -> int:
    with store.reading() as reader:
        return meaning.count_missing(reader)


def test_new_texts_go_first_and_the_past_follows_the_latest_first(store: SqliteStore) -> None:
    for number in range(40):
        write(store, **{f"Old{number:02}": f"zz {number}"})
    embedder = CountLetters()
    meaning = Meaning(store, embedder)
    assert missing(store, meaning) == 40
    # A search sees to what is new only, and here nothing is.
    meaning.catch_up_shortly()
    assert embedder.seen == []
    assert meaning.catch_up()
    assert embedder.seen[0] == "Old39: zz 39" and len(embedder.seen) == 16
    write(store, New="qq")
    meaning.catch_up_shortly()
    assert embedder.seen[16:] == ["New: qq"]
    catch_up(meaning)
    assert embedder.seen[-1] == "Old00: zz 0" and len(set(embedder.seen)) == 41
    assert missing(store, meaning) == 0 and len(embedder.seen) == 41


def test_a_search_leaves_long_work_to_others(store: SqliteStore) -> None:
    embedder = CountLetters()
    meaning = Meaning(store, embedder)
    catch_up(meaning)
    with store.writing() as writer:
        writer.put_entity(EntityRecord("Long", "thing"), Span(0))
        for number in range(100):
            writer.put_observation(ObservationRecord("Long", f"text {number}"), Span(0))
    meaning.catch_up_shortly()
    assert embedder.seen == [] and missing(store, meaning) == 1
    catch_up(meaning)
    assert len(embedder.seen) == 100 and missing(store, meaning) == 0


def test_many_entities_of_one_moment_are_all_embedded_once(store: SqliteStore) -> None:
    write(store, **{f"E{number}": f"text {number}" for number in range(50)})
    embedder = CountLetters()
    catch_up(Meaning(store, embedder))
    assert sorted(embedder.seen) == sorted(f"E{n}: text {n}" for n in range(50))
    # And by the next process not at all.
    other = CountLetters()
    catch_up(Meaning(store, other))
    assert other.seen == []


def test_only_what_is_new_of_an_entity_is_calculated(store: SqliteStore) -> None:
    embedder = CountLetters()
    meaning = Meaning(store, embedder)
    write(store, Ada="sails")
    catch_up(meaning)
    write(store, Ada="cooks")
    catch_up(meaning)
    assert embedder.seen == ["Ada: sails", "Ada: cooks"]


def test_a_text_that_is_gone_is_not_found_before_anything_is_embedded(store: SqliteStore) -> None:
    meaning = Meaning(store, CountLetters())
    write(store, Ada="zzzz", Bo="qqqq")
    catch_up(meaning)
    assert find(store, meaning, "zzzz") == ["Ada"]
    with store.writing() as writer:
        writer.drop_observation("Ada", "zzzz", Span())
    assert find(store, meaning, "zzzz") == []
    with store.writing() as writer:
        writer.drop_entity("Bo", Span())
    assert find(store, meaning, "qqqq") == []


def test_what_another_process_embeds_is_found_here(store: SqliteStore) -> None:
    here, there = Meaning(store, CountLetters()), Meaning(store, CountLetters())
    assert find(store, here, "zzzz") == []
    write(store, Ada="zzzz")
    catch_up(there)
    assert find(store, here, "zzzz") == ["Ada"]


def test_vectors_of_two_models_do_not_meet(store: SqliteStore) -> None:
    one, other = Meaning(store, CountLetters("one")), Meaning(store, CountLetters("other"))
    write(store, Ada="zzzz")
    catch_up(one)
    assert find(store, other, "zzzz") == [] and missing(store, other) == 1
    catch_up(other)
    assert find(store, other, "zzzz") == ["Ada"]


def test_namespaces_do_not_meet_either(store: SqliteStore, tmp_path: Path) -> None:
    second = SqliteStore(tmp_path / "graph.db", "second")
    write(second, Secret="zzzz")
    catch_up(Meaning(second, CountLetters()))
    meaning = Meaning(store, CountLetters())
    catch_up(meaning)
    assert find(store, meaning, "zzzz") == [] and missing(store, meaning) == 0
    second.close()


def test_names_are_filtered_however_many_are_nearer(store: SqliteStore) -> None:
    write(store, **{f"Near{number}": "zzzz" for number in range(600)}, Far="zzzy")
    meaning = Meaning(store, CountLetters())
    catch_up(meaning)
    with store.reading() as reader:
        [vector] = meaning.embed(["zzzz"])
        found = meaning.find(reader, vector, 0.5, 3, lambda names: {"Far"} & set(names))
        assert [one.name for one in found] == ["Far"] and found[0].text == "zzzy"
        assert len(meaning.find(reader, vector, 0.5, 5, set)) == 5


def test_what_could_not_be_made_is_tried_again(store: SqliteStore) -> None:
    embedder = CountLetters()
    meaning = Meaning(store, embedder)
    catch_up(meaning)
    write(store, Ada="zzzz")
    embedder.is_broken = True
    with pytest.raises(ToolError, match="the weights are gone"):
        meaning.catch_up()
    embedder.is_broken = False
    catch_up(meaning)
    assert find(store, meaning, "zzzz") == ["Ada"]


def test_a_failure_does_not_end_the_work_beside_the_calls(store: SqliteStore) -> None:
    embedder = CountLetters()
    embedder.is_broken = True
    write(store, Ada="zzzz")
    background = Background(Meaning(store, embedder))
    background.start()
    background.stop()
    assert embedder.seen == []
