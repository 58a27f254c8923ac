"""What every tool works on: the store, its rules, and what is said of names that are not there."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from dovetail import ToolError
from dovetail_graph.decay import Decay
from dovetail_graph.inputs import Time
from dovetail_graph.meaning import Meaning
from dovetail_graph.moments import View, read_moment
from dovetail_graph.storage import GraphStore, Reader
from dovetail_graph.text_rules import fold
from dovetail_graph.vocabulary import Vocabulary

__all__ = ["Memory", "explain_missing", "nearest", "require_entity", "view_at"]

_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Memory:
    """One namespace and its rules."""

    store: GraphStore
    namespace: str
    vocabulary: Vocabulary
    # What compares by meaning, where a model is installed.
    meaning: Meaning | None
    # Whether texts are compared at all; without a model by spelling.
    compares: bool = True
    # May a purge go ahead where the client cannot ask its user?
    purge_unasked: bool = False

    @property
    def decay(self) -> Decay:
        """How confidence fades."""
        return self.vocabulary.decay()


def view_at(reader: Reader, as_of: Time | None, name: str = "as_of") -> View:
    """The graph as it stood at a time; now without."""
    moment = read_moment(as_of, name)
    return View(reader.now()) if moment is None else View(moment, moment)


def nearest(reader: Reader, name: str, limit: int = 3) -> list[str]:
    """Names like this one, the most alike first."""
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
    """Says that there is no such entity, and which there are."""
    close = nearest(reader, name)
    hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
    return f"There is no entity {name[:200]!r}{hint or '; search_nodes finds names'}"


def require_entity(reader: Reader, name: str, view: View) -> str:
    """The name of an entity that is there; an alias counts."""
    if reader.entity(name, view) is not None:
        return name
    found = reader.find(name)
    if reader.entity(found, view) is None:
        raise ToolError(explain_missing(reader, name))
    return found
