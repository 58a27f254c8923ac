"""Semantic search: compute and search the vectors of a namespace.

Recent changes are embedded first, then older entities, the latest first. Any process may do this
work; entities that another process has embedded are skipped. Vectors in memory take one byte per
number; exact similarities of the results are computed from the file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail import ToolError, UsageError
from dovetail_graph.passages import Passage, passages_of
from dovetail_graph.records import observation_id
from dovetail_graph.rendering import status_of
from dovetail_graph.results import Status
from dovetail_graph.storage import ChangePosition, GraphStore, Reader, StoredPassage, Unembedded
from dovetail_graph.timestamps import ANY_TIME
from dovetail_serverkit.embedding import Embedder, Vectors

if TYPE_CHECKING:
    from dovetail_serverkit.embedding.nearest_neighbors import NearestNeighbors

__all__ = ["SimilarEntity", "VectorSearch"]

# Entities and texts per background batch, and texts that a search may embed first.
_BATCH, _BATCH_TEXTS, _SEARCH_TEXTS = 16, 64, 32
# Seconds that a search waits for a background batch before it continues without embedding.
_WAIT = 0.3
_LOAD_CHUNK = 5_000
# Vectors in memory, 384 bytes each with the built-in model.
_MAX_VECTORS = 1_000_000
# Upper bound of the error of a similarity computed from one-byte numbers.
_ROUNDING_ERROR = 0.005


@dataclass(frozen=True, slots=True)
class SimilarEntity:
    """An entity, its similarity to the query, and its most similar text."""

    name: str
    similarity: float
    text: str
    # Set if the text is not true now.
    status: Status | None = None


class VectorSearch:
    """The vectors of one model over one store."""

    def __init__(self, store: GraphStore, embedder: Embedder) -> None:
        self.embedder = embedder
        self._store = store
        self._batch_lock = threading.Lock()
        self._lock = threading.Lock()
        # Everything between these positions is embedded, or another process does it.
        self._high: ChangePosition | None = None
        self._low: ChangePosition | None = None
        self._nearest: NearestNeighbors | None = None
        self._loaded = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector per text. Raises ToolError if the model cannot be loaded."""
        try:
            return self.embedder.embed(texts)
        except UsageError as error:
            raise ToolError(str(error)) from None

    def catch_up(self) -> bool:
        """Compute one batch of missing vectors; return whether there may be more to do."""
        with self._batch_lock:
            return self._embed_batch(include_old=True, max_texts=_BATCH_TEXTS)

    def catch_up_briefly(self) -> None:
        """Before a search, embed recent changes if that takes little time."""
        if self._batch_lock.acquire(timeout=_WAIT):
            try:
                self._embed_batch(include_old=False, max_texts=_SEARCH_TEXTS)
            finally:
                self._batch_lock.release()

    def _embed_batch(self, *, include_old: bool, max_texts: int) -> bool:
        with self._store.reading() as reader:
            pending, is_old = self._pending(reader, include_old)
            batch: dict[Unembedded, list[Passage]] = {}
            for one in pending:
                texts = self._texts_of(reader, one)
                left = max_texts - sum(map(len, batch.values()))
                # An entity with too many texts for one batch is left to the background thread.
                if len(texts) > left and (batch or not include_old):
                    break
                batch[one] = texts
        if batch:
            self._embed_and_save(batch)
            # Advance only now, so that a failed batch is tried again.
            last = list(batch)[-1].position
            if is_old:
                self._low = ChangePosition(last.stamp, last.document - 1)
            else:
                self._high = last
        elif is_old:
            self._low = None
        return len(batch) < len(pending) or len(pending) == _BATCH

    def _pending(self, reader: Reader, include_old: bool) -> tuple[list[Unembedded], bool]:
        """Return unembedded entities, and whether they are old ones."""
        passages = reader.passages(self.embedder.name)
        if self._high is None:
            self._high = self._low = passages.newest()
        found = passages.unembedded_after(self._high, _BATCH)
        if found or not include_old or self._low is None:
            return found, False
        return passages.unembedded_until(self._low, _BATCH), True

    def _texts_of(self, reader: Reader, one: Unembedded) -> list[Passage]:
        texts = reader.searched_texts(one.name)
        if texts is None:
            return []
        known = reader.passages(self.embedder.name).digests(one.position.document)
        passages = passages_of(one.name, texts.kind, texts.contents)
        return [each for each in passages if each.digest not in known]

    def _embed_and_save(self, batch: dict[Unembedded, list[Passage]]) -> None:
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415 - slow to load

        vectors = iter(self.embed([each.text for some in batch.values() for each in some]))
        rows = {
            one: [
                (each.digest, each.observation, next(vectors).astype(np.float16).tobytes())
                for each in some
            ]
            for one, some in batch.items()
        }
        with self._store.writing() as writer:
            passages = writer.passages(self.embedder.name)
            for one, some in rows.items():
                passages.save(one, some)

    def recompute(self, name: str) -> int:
        """Compute the vectors of an entity again; return their number."""
        with self._batch_lock:
            with self._store.writing() as writer:
                position = writer.document(name)
                if position is None:
                    return 0
                writer.passages(self.embedder.name).delete(position.document)
                one = Unembedded(name, position)
                texts = self._texts_of(writer, one)
            self._embed_and_save({one: texts})
        return len(texts)

    def count_missing(self, reader: Reader) -> int:
        """Return the number of entities without vectors, which are found by words only."""
        if self._high is not None and self._low is None:
            # All old entities are embedded; only new ones can be missing.
            passages = reader.passages(self.embedder.name)
            return len(passages.unembedded_after(self._high, _MAX_VECTORS))
        return reader.passages(self.embedder.name).count_unembedded()

    def find(
        self,
        reader: Reader,
        vector: Vectors,
        least: float,
        limit: int,
        choose: Callable[[Sequence[str]], set[str]],
    ) -> list[SimilarEntity]:
        """Return the entities with the most similar texts; `choose` filters names."""
        found: dict[str, SimilarEntity] = {}
        with self._lock:
            nearest = self._load(reader)
            for batch in nearest.ranked(vector):
                stored = reader.passages(self.embedder.name).get([key for key, _ in batch])
                if deleted := [key for key, _ in batch if key not in stored]:
                    nearest.drop(deleted)
                for one in _similarities(list(stored.values()), vector, reader, choose):
                    if one.similarity >= least and one.name not in found:
                        found[one.name] = one
                if len(found) >= limit or batch[-1][1] < least - _ROUNDING_ERROR:
                    break
        return sorted(found.values(), key=lambda one: (-one.similarity, one.name))[:limit]

    def compare(self, reader: Reader, vector: Vectors, names: Sequence[str]) -> list[SimilarEntity]:
        """Return the similarity of those entities that have vectors."""
        passages = reader.passages(self.embedder.name).of_entities(names)
        best: dict[str, SimilarEntity] = {}
        for one in _similarities(passages, vector, reader, set):
            best.setdefault(one.name, one)
        return list(best.values())

    def _load(self, reader: Reader) -> NearestNeighbors:
        from dovetail_serverkit.embedding.nearest_neighbors import (  # noqa: PLC0415 - slow to load
            NearestNeighbors,
        )
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415

        if self._nearest is None:
            self._nearest = NearestNeighbors(self.embedder.dimensions)
        passages = reader.passages(self.embedder.name)
        while len(self._nearest) < _MAX_VECTORS:
            rows = passages.vectors_after(self._loaded, _LOAD_CHUNK)
            if rows:
                data = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float16)
                table = data.reshape(len(rows), self.embedder.dimensions).astype(np.float32)
                self._nearest.add([number for number, _ in rows], table)
                self._loaded = rows[-1][0]
            if len(rows) < _LOAD_CHUNK:
                break
        return self._nearest


def _similarities(
    passages: Sequence[StoredPassage],
    vector: Vectors,
    reader: Reader,
    choose: Callable[[Sequence[str]], set[str]],
) -> list[SimilarEntity]:
    """Return exact similarities of entities and observations, also those not true now."""
    from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415 - slow to load

    names = choose(list(dict.fromkeys(one.name for one in passages)))
    passages = [one for one in passages if one.name in names]
    now = reader.now()
    contents = {
        (one.entity, observation_id(one.content)): (one.content, status_of(one, now))
        for one in reader.observations(sorted(names), ANY_TIME)
    }
    entities = {
        one.name: ("", status_of(one, now)) for one in reader.entities_named(list(names), ANY_TIME)
    }
    found = []
    for one in passages:
        own_text = contents.get((one.name, one.observation))
        if matched := own_text if one.observation else entities.get(one.name):
            own = np.frombuffer(one.vector, dtype=np.float16).astype(np.float32)
            # Rounding to half precision changed the length a little.
            similarity = float(own @ vector / np.linalg.norm(own))
            found.append(SimilarEntity(one.name, min(1.0, similarity), *matched))
    return sorted(found, key=lambda one: (-one.similarity, one.name))
