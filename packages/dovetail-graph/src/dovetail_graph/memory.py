"""The state that all tools share: the store and its rules; helpers to look up entities."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from dovetail import ToolError
from dovetail_graph.decay import Decay
from dovetail_graph.inputs import Time
from dovetail_graph.storage import GraphStore, Reader
from dovetail_graph.text_normalization import fold
from dovetail_graph.timestamps import EVER, View, format_timestamp, parse_timestamp
from dovetail_graph.vector_search import VectorSearch
from dovetail_graph.vocabulary import Vocabulary

__all__ = ["Memory", "explain_missing", "require_entity", "similar_names", "view_at"]

_CANDIDATES = 100
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Memory:
    """One namespace of the store, with its settings."""

    store: GraphStore
    namespace: str
    vocabulary: Vocabulary
    # None if no embedding model is installed or selected.
    vectors: VectorSearch | None
    # False with --embeddings off; if True and there is no model, n-grams compare spelling.
    compares: bool = True
    # Whether a purge is allowed if the client does not support elicitation.
    purge_unasked: bool = False

    @property
    def decay(self) -> Decay:
        """The decay parameters of the schema."""
        return self.vocabulary.decay()


def view_at(reader: Reader, as_of: Time | None, default: View | None = None) -> View:
    """Return what is known about a time, about any ("ever"), or the default (now)."""
    if as_of == "ever":
        return EVER
    if as_of is None and default is not None:
        return default
    timestamp = None if as_of == "now" else parse_timestamp(as_of, "asOf")
    return View(reader.now() if timestamp is None else timestamp)


def similar_names(reader: Reader, name: str, limit: int = 3) -> list[str]:
    """Return existing names that are spelled similarly, the most similar first."""
    name = name[:_MAX_NAME]
    names = [match.name for match in reader.match_spelling(name, _CANDIDATES)]
    if len(name) < 4:
        names += reader.names_starting_with(name, _CANDIDATES)
    wanted = fold(name)
    scored = [
        (difflib.SequenceMatcher(None, wanted, fold(one)).ratio(), one)
        for one in dict.fromkeys(names)
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    return [one for score, one in scored[:limit] if score >= 0.4]


def explain_missing(reader: Reader, name: str) -> str:
    """Return an error message that says when the entity is there, or names similar ones."""
    if periods := reader.entity_periods(name):
        starts, ends = periods[0].times.valid.start, periods[-1].times.valid.end
        return (
            f"{name[:200]!r} is not there at this time, but from {format_timestamp(starts)} to "
            f"{format_timestamp(ends)}; tools with asOf read that time"
        )
    close = similar_names(reader, name)
    hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
    return f"There is no entity {name[:200]!r}{hint or '; search to find names'}"


def require_entity(reader: Reader, name: str, view: View) -> str:
    """Return the name of an existing entity, resolving aliases. Raises ToolError if missing."""
    if reader.entity(name, view) is not None:
        return name
    found = reader.find(name)
    if reader.entity(found, view) is None:
        raise ToolError(explain_missing(reader, name))
    return found
