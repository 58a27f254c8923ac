"""Comparing by meaning: the vectors of a namespace, kept up to date, and searched.

What was written a moment ago goes first; what was there before follows, the latest first. Every
process may do the work, and none does what another has done. In memory are the vectors in one byte
a number; the last digits of the few that are shown come from the file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail import ToolError, UsageError
from dovetail_graph.moments import View
from dovetail_graph.passages import Passage, passages_of
from dovetail_graph.records import observation_id
from dovetail_graph.storage import GraphStore, Place, Reader, StoredPassage, Unembedded
from dovetail_serverkit.embedding import Embedder, Vectors

if TYPE_CHECKING:
    from dovetail_serverkit.embedding.nearest import Nearest

__all__ = ["Likeness", "Meaning"]

# Entities and texts in one turn of the work beside the calls, and texts that a search sees to.
_TURN, _TEXTS, _FEW_TEXTS = 16, 64, 32
# Seconds that a search waits for such a turn to end before it goes on without.
_PATIENCE = 0.3
_LOADED_AT_ONCE = 5_000
# Vectors in memory, 384 bytes each with the model that comes along.
_MOST = 1_000_000
# One byte a number: a likeness is off by less.
_ROUNDED = 0.005


@dataclass(frozen=True, slots=True)
class Likeness:
    """How like the query an entity is, and which of its texts is most."""

    name: str
    similarity: float
    text: str


class Meaning:
    """The vectors of one model over one store."""

    def __init__(self, store: GraphStore, embedder: Embedder) -> None:
        self.embedder = embedder
        self._store = store
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        # What lies between is done, or another process does it.
        self._high: Place | None = None
        self._low: Place | None = None
        self._nearest: Nearest | None = None
        self._loaded = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors, or the reason why there are none."""
        try:
            return self.embedder.embed(texts)
        except UsageError as error:
            raise ToolError(str(error)) from None

    def catch_up(self) -> bool:
        """Make some vectors that are missing; whether there may be more to do."""
        with self._turn:
            return self._work(with_the_past=True, most=_TEXTS)

    def catch_up_shortly(self) -> None:
        """Before a search: see to what was written a moment ago, if it is soon done."""
        if self._turn.acquire(timeout=_PATIENCE):
            try:
                self._work(with_the_past=False, most=_FEW_TEXTS)
            finally:
                self._turn.release()

    def _work(self, *, with_the_past: bool, most: int) -> bool:
        with self._store.reading() as reader:
            waiting, is_past = self._next(reader, with_the_past)
            made: dict[Unembedded, list[Passage]] = {}
            for one in waiting:
                texts = self._texts_of(reader, one)
                left = most - sum(map(len, made.values()))
                # One that is too long by itself is for whoever nobody waits for.
                if len(texts) > left and (made or not with_the_past):
                    break
                made[one] = texts
        if made:
            self._keep(made)
            # Only now: what could not be made is tried again.
            last = list(made)[-1].place
            if is_past:
                self._low = Place(last.stamp, last.document - 1)
            else:
                self._high = last
        elif is_past:
            self._low = None
        return len(made) < len(waiting) or len(waiting) == _TURN

    def _next(self, reader: Reader, with_the_past: bool) -> tuple[list[Unembedded], bool]:
        """Entities to look at: new ones, else of the past."""
        passages = reader.passages(self.embedder.name)
        if self._high is None:
            self._high = self._low = passages.newest()
        found = passages.unembedded_after(self._high, _TURN)
        if found or not with_the_past or self._low is None:
            return found, False
        return passages.unembedded_until(self._low, _TURN), True

    def _texts_of(self, reader: Reader, one: Unembedded) -> list[Passage]:
        texts = reader.searched_texts(one.name)
        if texts is None:
            return []
        known = reader.passages(self.embedder.name).digests(one.place.document)
        return [each for each in passages_of(one.name, *texts) if each.digest not in known]

    def _keep(self, made: dict[Unembedded, list[Passage]]) -> None:
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415 - slow to load

        vectors = iter(self.embed([each.text for some in made.values() for each in some]))
        rows = {
            one: [
                (each.digest, each.observation, next(vectors).astype(np.float16).tobytes())
                for each in some
            ]
            for one, some in made.items()
        }
        with self._store.writing() as writer:
            passages = writer.passages(self.embedder.name)
            for one, some in rows.items():
                passages.keep(one, some)

    def make_anew(self, name: str) -> int:
        """Make the vectors of an entity again; how many."""
        with self._turn:
            with self._store.writing() as writer:
                place = writer.document(name)
                if place is None:
                    return 0
                writer.passages(self.embedder.name).forget(place.document)
                one = Unembedded(name, place)
                texts = self._texts_of(writer, one)
            self._keep({one: texts})
        return len(texts)

    def count_missing(self, reader: Reader) -> int:
        """Entities that are found by words only."""
        if self._high is not None and self._low is None:
            # Everything was looked at once; only what is new can be missing.
            return len(reader.passages(self.embedder.name).unembedded_after(self._high, _MOST))
        return reader.passages(self.embedder.name).count_unembedded()

    def find(
        self,
        reader: Reader,
        vector: Vectors,
        least: float,
        limit: int,
        choose: Callable[[Sequence[str]], set[str]],
    ) -> list[Likeness]:
        """Entities with a text that is like this, the most alike first; `choose` filters names."""
        found: dict[str, Likeness] = {}
        with self._lock:
            nearest = self._load(reader)
            for portion in nearest.ranked(vector):
                there = reader.passages(self.embedder.name).named([key for key, _ in portion])
                if gone := [key for key, _ in portion if key not in there]:
                    nearest.drop(gone)
                for one in _exactly(list(there.values()), vector, reader, choose):
                    if one.similarity >= least and one.name not in found:
                        found[one.name] = one
                if len(found) >= limit or portion[-1][1] < least - _ROUNDED:
                    break
        return sorted(found.values(), key=lambda one: (-one.similarity, one.name))[:limit]

    def compare(self, reader: Reader, vector: Vectors, names: Sequence[str]) -> list[Likeness]:
        """How like these entities are, as far as they have vectors."""
        passages = reader.passages(self.embedder.name).of_entities(names)
        best: dict[str, Likeness] = {}
        for one in _exactly(passages, vector, reader, set):
            best.setdefault(one.name, one)
        return list(best.values())

    def _load(self, reader: Reader) -> Nearest:
        from dovetail_serverkit.embedding.nearest import Nearest  # noqa: PLC0415 - slow to load
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415

        if self._nearest is None:
            self._nearest = Nearest(self.embedder.dimensions)
        passages = reader.passages(self.embedder.name)
        while len(self._nearest) < _MOST:
            rows = passages.vectors_after(self._loaded, _LOADED_AT_ONCE)
            if rows:
                data = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float16)
                table = data.reshape(len(rows), self.embedder.dimensions).astype(np.float32)
                self._nearest.add([number for number, _ in rows], table)
                self._loaded = rows[-1][0]
            if len(rows) < _LOADED_AT_ONCE:
                break
        return self._nearest


def _exactly(
    passages: Sequence[StoredPassage],
    vector: Vectors,
    reader: Reader,
    choose: Callable[[Sequence[str]], set[str]],
) -> list[Likeness]:
    """Likenesses to the last digit, of entities and observations that hold now."""
    from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415 - slow to load

    names = choose(list(dict.fromkeys(one.name for one in passages)))
    passages = [one for one in passages if one.name in names]
    said = {
        (one.entity, observation_id(one.content)): one.content
        for one in reader.observations(sorted(names), View(reader.now()))
    }
    found = []
    for one in passages:
        text = said.get((one.name, one.observation), "")
        if text or not one.observation:
            own = np.frombuffer(one.vector, dtype=np.float16).astype(np.float32)
            # Half precision has lost a little of the length.
            similarity = float(own @ vector / np.linalg.norm(own))
            found.append(Likeness(one.name, min(1.0, similarity), text))
    return sorted(found, key=lambda one: (-one.similarity, one.name))
