"""Finding entities: by words, by spelling, by likeness, and both fused by rank."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dovetail.servers.graph.embedding import Embedder, HashedNgrams, cosine, pack, unpack
from dovetail.servers.graph.moments import View
from dovetail.servers.graph.storage import Match, Page, Reader
from dovetail.servers.graph.text_rules import fold, words_of

__all__ = [
    "Likeness",
    "find_alike",
    "find_matches",
    "fuse",
    "scan",
    "texts_of",
    "vectors_to_make",
]

_CANDIDATES = 200
_SCAN_PAGE = 500
# How much the first places of a list count against the later ones; the usual constant.
_RANK_CONSTANT = 60
_FUZZY = 0.6


@dataclass(frozen=True, slots=True)
class Likeness:
    """How like the query an entity is, and which of its texts is most."""

    name: str
    similarity: float
    text: str


def find_matches(reader: Reader, query: str, mode: str, limit: int) -> tuple[list[Match], str]:
    """Entities of now, the best first, and how they match in the end."""
    if mode == "fuzzy":
        return _fuzzy(reader, query, limit), "fuzzy"
    if mode == "exact":
        return _exact(reader, query, limit), "exact"
    if mode == "prefix":
        return reader.match_words(query, "prefix", limit), "prefix"
    found = reader.match_words(query, "all", limit)
    if found or len(words_of(query)) < 2:
        return found, "all"
    return reader.match_words(query, "any", limit), "any"


def _fuzzy(reader: Reader, query: str, limit: int) -> list[Match]:
    """Entities whose name, or a word of it, is spelled nearly so; then by likeness of texts."""
    wanted = fold(query)
    scores: dict[str, float] = {}
    for match in reader.match_spelling(query, _CANDIDATES):
        whole = fold(match.name)
        parts = [whole, *words_of(whole)]
        score = max(difflib.SequenceMatcher(None, wanted, part).ratio() for part in parts)
        if score >= _FUZZY:
            scores[match.name] = score
    grams = HashedNgrams()
    for alike in _likeness_of(reader, View(reader.now()), query, _by_words(reader, query), grams):
        if alike.similarity >= grams.min_similarity:
            scores[alike.name] = max(scores.get(alike.name, 0.0), alike.similarity)
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Match(name, score) for name, score in ranked[:limit]]


def _exact(reader: Reader, query: str, limit: int) -> list[Match]:
    """Entities whose name, type or an observation is exactly this, but for case and accents."""
    wanted = fold(query.strip())
    view = View(reader.now())
    names = reader.names_starting_with(query.strip(), _CANDIDATES)
    names += [match.name for match in reader.match_words(query, "all", _CANDIDATES)]
    names = list(dict.fromkeys(names))
    texts = texts_of(reader, view, names)
    found = [
        Match(name, 1.0 if fold(name) == wanted else 0.5)
        for name in names
        if any(fold(text) == wanted for text in (name, *texts.get(name, ())))
    ]
    return sorted(found, key=lambda match: -match.score)[:limit]


def scan(reader: Reader, view: View, query: str, mode: str) -> Iterator[Match]:
    """Entities of another time; the index knows now only, so every one is looked at."""
    words = [fold(word) for word in words_of(query)]
    whole = fold(query.strip())
    after = ""
    while page := reader.entities(view, Page(after=after, limit=_SCAN_PAGE)):
        after = page[-1].name
        texts = texts_of(reader, view, [one.name for one in page])
        for one in page:
            folded = [fold(text) for text in (one.name, *texts.get(one.name, ()))]
            score = _score(folded, words, whole, mode)
            if score > 0:
                yield Match(one.name, score)


def _score(texts: Sequence[str], words: Sequence[str], whole: str, mode: str) -> float:
    if mode == "exact":
        return 1.0 if whole in texts else 0.0
    known = {word for text in texts for word in words_of(text)}
    if mode == "fuzzy":
        hits = [bool(difflib.get_close_matches(word, known, 1, 0.75)) for word in words]
    elif mode == "prefix":
        hits = [any(one.startswith(word) for one in known) for word in words]
    else:
        hits = [word in known for word in words]
    share = sum(hits) / len(hits) if hits else 0.0
    return share if mode == "any" or share == 1.0 else 0.0


def texts_of(reader: Reader, view: View, names: Sequence[str]) -> dict[str, list[str]]:
    """The type and the observations of entities."""
    texts = {one.name: [one.kind] for one in reader.entities_named(names, view)}
    for one in reader.observations(names, view):
        if one.entity in texts:
            texts[one.entity].append(one.content)
    return texts


def find_alike(
    reader: Reader, query: str, embedder: Embedder, limit: int
) -> tuple[list[Likeness], int]:
    """Entities of now that are like the query, and how many have no vector yet."""
    view = View(reader.now())
    if isinstance(embedder, HashedNgrams):
        return _likeness_of(reader, view, query, _by_words(reader, query), embedder)[:limit], 0
    [wanted] = embedder.embed([query])
    kept = reader.vectors(embedder.name)
    stamps = reader.documents()
    fresh = {name: vector for name, (stamp, vector) in kept.items() if stamps[name] == stamp}
    scored = sorted(
        (
            (sum(map(float.__mul__, map(float, wanted), unpack(vector))), name)
            for name, vector in fresh.items()
        ),
        reverse=True,
    )
    found = [Likeness(name, score, "") for score, name in scored[:limit]]
    return found, len(stamps) - len(fresh)


def vectors_to_make(reader: Reader, embedder: Embedder, most: int) -> list[tuple[str, int, bytes]]:
    """Vectors for entities that have none of their present state, at most so many."""
    kept = {name: stamp for name, (stamp, _) in reader.vectors(embedder.name).items()}
    stale = [(name, at) for name, at in reader.documents().items() if kept.get(name) != at][:most]
    texts = texts_of(reader, View(reader.now()), [name for name, _ in stale])
    vectors = embedder.embed(["\n".join((name, *texts.get(name, ()))) for name, _ in stale])
    return [(name, at, pack(vector)) for (name, at), vector in zip(stale, vectors, strict=True)]


def _by_words(reader: Reader, query: str) -> list[str]:
    """Entities that share a word, the beginning of one, or a stretch of their name."""
    names = [match.name for match in reader.match_words(query, "any", _CANDIDATES)]
    # Three and five are the lengths that the index keeps beginnings of.
    stems = [word[: 5 if len(word) > 6 else 3] for word in words_of(query) if len(word) > 3]
    names += [match.name for match in reader.match_beginnings(stems, _CANDIDATES)]
    names += [match.name for match in reader.match_spelling(query, _CANDIDATES // 2)]
    return list(dict.fromkeys(names))


def _likeness_of(
    reader: Reader, view: View, query: str, names: Sequence[str], grams: HashedNgrams
) -> list[Likeness]:
    wanted = grams.weigh(query)
    texts = texts_of(reader, view, names)
    found = []
    for name in names:
        if name not in texts:
            continue
        kind, *observations = texts[name]
        best = Likeness(name, cosine(wanted, grams.weigh(f"{name} {kind}")), "")
        for text in observations:
            # An observation seldom repeats whom it is about; the query often names it.
            whole = text if fold(name) in fold(text) else f"{name} {text}"
            similarity = cosine(wanted, grams.weigh(whole))
            if similarity > best.similarity:
                best = Likeness(name, similarity, text)
        found.append(best)
    found.sort(key=lambda one: (-one.similarity, one.name))
    return found


def fuse(
    words: Sequence[Match], alike: Sequence[Likeness], weight: float, by_rank: bool
) -> dict[str, float]:
    """Scores of both lists as one; `weight` is the share of likeness."""
    scores: dict[str, float] = {}
    highest = max((match.score for match in words), default=1.0) or 1.0
    for place, match in enumerate(words):
        own = 1 / (_RANK_CONSTANT + place) if by_rank else match.score / highest
        scores[match.name] = (1 - weight) * own
    for place, one in enumerate(alike):
        own = 1 / (_RANK_CONSTANT + place) if by_rank else one.similarity
        scores[one.name] = scores.get(one.name, 0.0) + weight * own
    return scores
