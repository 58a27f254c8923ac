"""Find entities by words, spelling and n-gram similarity, and fuse ranked lists."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from dovetail_graph.ngrams import HashedNgrams, cosine
from dovetail_graph.rendering import status_of
from dovetail_graph.storage import Match, Page, Reader
from dovetail_graph.text_normalization import fold, significant_words, words_of
from dovetail_graph.timestamps import ANY_TIME, View
from dovetail_graph.vector_search import SimilarEntity

__all__ = [
    "PAST",
    "find_matches",
    "find_similar_spelling",
    "find_similar_spelling_at",
    "fuse",
    "scan",
    "texts_of",
]

_CANDIDATES = 200
_SCAN_PAGE = 500
# The constant of reciprocal rank fusion; lower values favour the top of each list. 60 is usual for
# many long lists; for two, 10 was better on the tuning questions of tests/graph/retrieval.
_RANK_CONSTANT = 10
_FUZZY = 0.6
# The score of a match that is not true now, as a share of what it would be.
PAST = 0.8


def find_matches(reader: Reader, query: str, mode: str, limit: int) -> tuple[list[Match], str]:
    """Search current entities; return the best first, and how they match."""
    if mode == "fuzzy":
        return _fuzzy(reader, query, limit), "fuzzy"
    if mode == "exact":
        return _exact(reader, query, limit), "exact"
    if mode == "prefix":
        return reader.match_words(query, "prefix", limit), "prefix"
    found = reader.match_words(query, "all", limit)
    if found or len(words_of(query)) < 2:
        return found, "all"
    return reader.match_words(significant_words(query), "any", limit), "any"


def _fuzzy(reader: Reader, query: str, limit: int) -> list[Match]:
    """Match the spelling of names or their words, then n-gram similarity of texts."""
    wanted = fold(query)
    scores: dict[str, float] = {}
    for match in reader.match_spelling(query, _CANDIDATES):
        whole = fold(match.name)
        parts = [whole, *words_of(whole)]
        score = max(difflib.SequenceMatcher(None, wanted, part).ratio() for part in parts)
        if score >= _FUZZY:
            scores[match.name] = score
    grams = HashedNgrams()
    for one in _similarities(reader, ANY_TIME, query, _by_words(reader, query), grams):
        if one.similarity >= grams.min_similarity:
            scores[one.name] = max(scores.get(one.name, 0.0), one.similarity)
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Match(name, score) for name, score in ranked[:limit]]


def _exact(reader: Reader, query: str, limit: int) -> list[Match]:
    """Match a whole name, type or observation, ignoring case and accents."""
    wanted = fold(query.strip())
    names = reader.names_starting_with(query.strip(), _CANDIDATES)
    names += [match.name for match in reader.match_words(query, "all", _CANDIDATES)]
    names = list(dict.fromkeys(names))
    texts = texts_of(reader, ANY_TIME, names)
    found = [
        Match(name, 1.0 if fold(name) == wanted else 0.5)
        for name in names
        if any(fold(text) == wanted for text in (name, *texts.get(name, ())))
    ]
    return sorted(found, key=lambda match: -match.score)[:limit]


def scan(reader: Reader, view: View, query: str, mode: str) -> Iterator[Match]:
    """Search at another time by scanning texts, because the index covers only the present."""
    words = [fold(word) for word in words_of(query)]
    whole = fold(query.strip())
    for names in _candidates(reader, view, words, mode):
        texts = texts_of(reader, view, names)
        present = texts_of(reader, View(reader.now()), names) if view.valid is None else texts
        for name in texts:
            score = _score(_folded(name, texts[name]), words, whole, mode)
            if score > 0 and present is not texts:
                is_now = name in present
                is_now = is_now and _score(_folded(name, present[name]), words, whole, mode) > 0
                score *= 1.0 if is_now else PAST
            if score > 0:
                yield Match(name, score)


def _folded(name: str, texts: Sequence[str]) -> list[str]:
    return [fold(text) for text in (name, *texts)]


def _candidates(
    reader: Reader, view: View, words: Sequence[str], mode: str
) -> Iterator[Sequence[str]]:
    """Yield names that may match: filtered by SQL if possible, else every entity."""
    if mode != "fuzzy" and words and all(word.isascii() for word in words):
        # An entity with all words has the longest word, which is usually rare.
        needed = list(words) if mode == "any" else [max(words, key=len)]
        names = reader.candidate_names(view, needed)
        for start in range(0, len(names), _SCAN_PAGE):
            yield names[start : start + _SCAN_PAGE]
        return
    after = ""
    while page := reader.entities(view, Page(after=after, limit=_SCAN_PAGE)):
        after = page[-1].name
        yield [one.name for one in page]


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
    """Return the type and the observations of each entity."""
    texts = {one.name: [one.kind] for one in reader.entities_named(names, view)}
    for one in reader.observations(names, view):
        if one.entity in texts:
            texts[one.entity].append(one.content)
    return texts


def find_similar_spelling(reader: Reader, query: str, limit: int) -> list[SimilarEntity]:
    """Return current entities with a text spelled like the query, the most similar first."""
    grams = HashedNgrams()
    return _similarities(reader, ANY_TIME, query, _by_words(reader, query), grams)[:limit]


def find_similar_spelling_at(reader: Reader, view: View, query: str) -> list[SimilarEntity]:
    """Like find_similar_spelling at another time: compares every entity with one of the words."""
    names = [match.name for match in scan(reader, view, query, "any")]
    return _similarities(reader, view, query, names, HashedNgrams())


def _by_words(reader: Reader, query: str) -> list[str]:
    """Return entities that share a word, the beginning of one, or a part of their name."""
    names = [match.name for match in reader.match_words(query, "any", _CANDIDATES)]
    # The index stores prefixes of length three and five.
    stems = [word[: 5 if len(word) > 6 else 3] for word in words_of(query) if len(word) > 3]
    names += [match.name for match in reader.match_prefixes(stems, _CANDIDATES)]
    names += [match.name for match in reader.match_spelling(query, _CANDIDATES // 2)]
    return list(dict.fromkeys(names))


def _similarities(
    reader: Reader, view: View, query: str, names: Sequence[str], grams: HashedNgrams
) -> list[SimilarEntity]:
    wanted = grams.weigh(query)
    now = reader.now() if view.valid is None else None
    best: dict[str, SimilarEntity] = {}
    for one in reader.entities_named(names, view):
        similarity = cosine(wanted, grams.weigh(f"{one.name} {one.kind}"))
        best[one.name] = SimilarEntity(one.name, similarity, "", status_of(one, now))
    for row in reader.observations(list(best), view):
        # Observations seldom repeat the name of their entity, but queries often contain it.
        name, text = row.entity, row.content
        whole = text if fold(name) in fold(text) else f"{name} {text}"
        similarity = cosine(wanted, grams.weigh(whole))
        if similarity > best[name].similarity:
            best[name] = SimilarEntity(name, similarity, text, status_of(row, now))
    found = list(best.values())
    found.sort(key=lambda one: (-one.similarity, one.name))
    return found


def fuse(
    words: Sequence[Match], similar: Sequence[SimilarEntity], weight: float, by_rank: bool
) -> dict[str, float]:
    """Combine the scores of both lists; `weight` is the share of similarity.

    A rank in the list by words is multiplied by the square of the matched share of the query,
    because a paraphrase shares single words with unrelated entities.
    """
    scores: dict[str, float] = {}
    highest = max((match.score for match in words), default=1.0) or 1.0
    for rank, match in enumerate(words):
        own = 1 / (_RANK_CONSTANT + rank) if by_rank else match.score / highest
        scores[match.name] = (1 - weight) * own * match.share**2
    for rank, one in enumerate(similar):
        own = 1 / (_RANK_CONSTANT + rank) if by_rank else one.similarity
        own *= 1.0 if one.status is None else PAST
        scores[one.name] = scores.get(one.name, 0.0) + weight * own
    return scores
