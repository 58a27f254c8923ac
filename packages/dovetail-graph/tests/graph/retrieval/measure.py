"""Retrieval quality: recall@5 and mean reciprocal rank, by words, by meaning, and hybrid.

python -m tests.graph.retrieval.measure            the reported questions
python -m tests.graph.retrieval.measure --tuning   the questions used for tuning
python -m tests.graph.retrieval.measure --alone    without the distractor memories
python -m tests.graph.retrieval.measure --bounds   the effect of a minimum similarity
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail_graph.inputs import NewEntity
from dovetail_graph.memory import Memory as Served
from dovetail_graph.mutations import create_entity
from dovetail_graph.semantic_search import Search, SemanticQuery, find_entities
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import Reader
from dovetail_graph.timestamps import ANY_TIME
from dovetail_graph.vector_search import VectorSearch
from dovetail_graph.vocabulary import Vocabulary
from dovetail_serverkit.embedding import find_embedder
from tests.graph.retrieval.corpus import (
    KINDS,
    Memory,
    Question,
    questions,
    read_distractors,
    read_memories,
)

__all__ = ["WAYS", "Quality", "evaluate", "main", "serving"]

_DEPTH = 20
_AT = 5


@dataclass(frozen=True, slots=True)
class Quality:
    recall: float
    mrr: float
    count: int


@contextlib.contextmanager
def serving(memories: Sequence[Memory]) -> Iterator[Served]:
    """Yield the memories in a store, embedded with the built-in model."""
    free = Vocabulary()
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "graph.db", "default")
        with store.writing() as writer:
            for one in memories:
                made = NewEntity(
                    name=one.name, entity_type=one.type, observations=list(one.observations)
                )
                create_entity(writer, made, free)
        embedder = find_embedder("minilm")
        assert embedder is not None
        vectors = VectorSearch(store, embedder)
        while vectors.catch_up():
            pass
        yield Served(store, "default", free, vectors)
        store.close()


def by_words(served: Served, reader: Reader, text: str) -> list[str]:
    """Search like search_nodes."""
    found, _ = find_entities(reader, ANY_TIME, text, "words")
    return [one.name for one in found]


def _asked(text: str, weight: float) -> SemanticQuery:
    return SemanticQuery(text, _DEPTH, None, (), weight, by_rank=True, explain=False)


def by_meaning(served: Served, reader: Reader, text: str) -> list[str]:
    """Search like semantic_search with hybrid_search=false."""
    return _search(served, reader, _asked(text, 1.0))


def fused(served: Served, reader: Reader, text: str) -> list[str]:
    """Search like semantic_search with default arguments."""
    return _search(served, reader, _asked(text, 0.3))


def _search(served: Served, reader: Reader, asked: SemanticQuery) -> list[str]:
    result = Search(served, reader, ANY_TIME).run(asked)
    return [one.entity.name for one in result.results]


Way = Callable[[Served, Reader, str], list[str]]
WAYS: dict[str, Way] = {"words": by_words, "meaning": by_meaning, "hybrid": fused}


def evaluate(served: Served, asked: Sequence[Question], way: Way) -> Quality:
    """Measure one way to search on some questions."""
    hits, ranks = 0, 0.0
    with served.store.reading() as reader:
        for one in asked:
            found = way(served, reader, one.text)[:_DEPTH]
            if one.answer in found:
                place = found.index(one.answer)
                hits += place < _AT
                ranks += 1 / (place + 1)
    return Quality(hits / len(asked), ranks / len(asked), len(asked))


def weigh_bounds() -> None:
    """Right answers and other entities above a similarity, over the questions for tuning."""
    memories = read_memories()
    everything = [*memories, *read_distractors()]
    asked = list(questions(memories, for_tuning=True))
    right: list[float] = []
    others: list[float] = []
    with serving(everything) as served, served.store.reading() as reader:
        assert served.vectors is not None
        for one in asked:
            [vector] = served.vectors.embed([one.text])
            found = served.vectors.find(reader, vector, -1.0, len(everything), set)
            for like in found:
                (right if like.name == one.answer else others).append(like.similarity)
    write("| least similarity | right answers kept | other entities kept |\n|---|---|---|")
    for bound in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6):
        shares = [sum(each >= bound for each in some) / len(some) for some in (right, others)]
        write(f"| {bound:.2f} | {shares[0]:.0%} | {shares[1]:.1%} |")


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(for_tuning: bool, alone: bool) -> None:
    memories = read_memories()
    asked = list(questions(memories, for_tuning=for_tuning))
    write("| questions | " + " | ".join(f"{way}: recall@5 | MRR" for way in WAYS) + " |")
    write("|---" * (1 + 2 * len(WAYS)) + "|")
    others = [] if alone else read_distractors()
    with serving([*memories, *others]) as served:
        for kind in [*KINDS, ""]:
            some = [one for one in asked if kind in ("", one.kind)]
            row = [f"{len(some)} by {KINDS[kind]}" if kind else f"all {len(some)}"]
            for way in WAYS.values():
                quality = evaluate(served, some, way)
                row += [f"{quality.recall:.3f}", f"{quality.mrr:.3f}"]
            write("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    if "--bounds" in sys.argv[1:]:
        weigh_bounds()
    else:
        main("--tuning" in sys.argv[1:], "--alone" in sys.argv[1:])
