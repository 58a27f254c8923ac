"""Finding entities: by words, by spelling, by likeness, and both fused by rank."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from dovetail_graph.meaning import Likeness
from dovetail_graph.moments import View
from dovetail_graph.ngrams import HashedNgrams, cosine
from dovetail_graph.storage import Match, Page, Reader
from dovetail_graph.text_rules import fold, telling_words, words_of

__all__ = [
    "find_matches",
    "find_spelled_alike",
    "find_spelled_alike_then",
    "fuse",
    "scan",
    "texts_of",
]

_CANDIDATES = 200
_SCAN_PAGE = 500
# How much the first places of a list count against the later ones. 60 is usual for long lists of
# many systems; for two, this was better on the tuning questions of tests/servers/graph/retrieval.
_RANK_CONSTANT = 10
_FUZZY = 0.6


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
    return reader.match_words(telling_words(query), "any", limit), "any"


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
    """Entities of another time; the index knows now only, so their texts are looked through."""
    words = [fold(word) for word in words_of(query)]
    whole = fold(query.strip())
    for names in _candidates(reader, view, words, mode):
        texts = texts_of(reader, view, names)
        for name in names:
            folded = [fold(text) for text in (name, *texts.get(name, ()))]
            score = _score(folded, words, whole, mode)
            if name in texts and score > 0:
                yield Match(name, score)


def _candidates(
    reader: Reader, view: View, words: Sequence[str], mode: str
) -> Iterator[Sequence[str]]:
    """Who may have the words: by a look for their letters where that is enough, else everybody."""
    if mode != "fuzzy" and words and all(word.isascii() for word in words):
        # Who has them all has the longest, which few have.
        needed = list(words) if mode == "any" else [max(words, key=len)]
        names = reader.names_with_letters(view, needed)
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
    """The type and the observations of entities."""
    texts = {one.name: [one.kind] for one in reader.entities_named(names, view)}
    for one in reader.observations(names, view):
        if one.entity in texts:
            texts[one.entity].append(one.content)
    return texts


def find_spelled_alike(reader: Reader, query: str, limit: int) -> list[Likeness]:
    """Entities of now with a text that is spelled like the query, the most alike first."""
    view, grams = View(reader.now()), HashedNgrams()
    return _likeness_of(reader, view, query, _by_words(reader, query), grams)[:limit]


def find_spelled_alike_then(reader: Reader, view: View, query: str) -> list[Likeness]:
    """The same of another time: every entity with one of the words is looked at."""
    names = [match.name for match in scan(reader, view, query, "any")]
    return _likeness_of(reader, view, query, names, HashedNgrams())


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
    """Scores of both lists as one; `weight` is the share of likeness.

    A place among the words counts less the less of the query the entity has, by the square: a
    paraphrase shares a word with anything, and says nothing by it.
    """
    scores: dict[str, float] = {}
    highest = max((match.score for match in words), default=1.0) or 1.0
    for place, match in enumerate(words):
        own = 1 / (_RANK_CONSTANT + place) if by_rank else match.score / highest
        scores[match.name] = (1 - weight) * own * match.share**2
    for place, one in enumerate(alike):
        own = 1 / (_RANK_CONSTANT + place) if by_rank else one.similarity
        scores[one.name] = scores.get(one.name, 0.0) + weight * own
    return scores
