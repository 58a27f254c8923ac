"""Indexes of lists of tools, built when they are first searched."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from dovetail.compose.search.full_list import FullList
from dovetail.compose.search.ranking import Document, Field, Ranking
from dovetail.compose.search.terms import question_terms, split_terms

__all__ = ["Catalog", "Entry", "description_of", "document_of", "first_sentence"]

# A tool as in tools/list.
Entry: TypeAlias = dict[str, Any]

# Chosen with the questions in qa/bench/search/tuning.txt.
_FIELDS = {
    "name": Field(4.5, 1.0),
    "summary": Field(0.9, 0.5),
    "details": Field(0.3, 0.5),
    "parameters": Field(0.25, 0.0),
    "hints": Field(0.25, 0.25),
}
# Callers with different permissions, and clients of different revisions, have different lists.
_MOST_INDEXES = 8


class _Index(NamedTuple):
    entries: list[Entry]
    ranking: Ranking


class Catalog:
    """Finds tools in lists; each caller searches its own list only."""

    def __init__(self, excluded: frozenset[str]) -> None:
        self._excluded = excluded
        self._indexes: OrderedDict[FullList, _Index] = OrderedDict()
        self._building = threading.Lock()
        self._last_built: tuple[FullList, _Index] | None = None
        # The terms of the tools of the last list, because a change of a list changes few tools.
        self._documents: dict[str, tuple[Entry, Document]] = {}

    async def find(self, query: str, limit: int, listed: FullList) -> list[Entry]:
        """Return the tools of a list that match best."""
        index = self._indexes.get(listed)
        if index is None:
            # In a thread, because it takes half a millisecond for each new tool.
            index = await asyncio.to_thread(self._build_once, listed)
        self._indexes[listed] = index
        self._indexes.move_to_end(listed)
        if len(self._indexes) > _MOST_INDEXES:
            self._indexes.popitem(last=False)
        entries, ranking = index
        exact = [n for n, entry in enumerate(entries) if entry["name"] == query.strip()]
        numbers = dict.fromkeys([*exact, *ranking.find(question_terms(query))])
        return [entries[number] for number in [*numbers][:limit]]

    def _build_once(self, listed: FullList) -> _Index:
        # Clients that search at the same time after a change wait for one index.
        with self._building:
            if self._last_built is None or self._last_built[0] != listed:
                self._last_built = listed, self._build(listed)
            return self._last_built[1]

    def _build(self, listed: FullList) -> _Index:
        entries = [
            entry
            for body in listed.decode()
            for entry in body["tools"]
            if entry["name"] not in self._excluded
        ]
        known = self._documents
        documents = {entry["name"]: _describe(entry, known) for entry in entries}
        self._documents = documents
        return _Index(entries, Ranking([each for _, each in documents.values()], _FIELDS))


def _describe(entry: Entry, known: dict[str, tuple[Entry, Document]]) -> tuple[Entry, Document]:
    described = known.get(entry["name"])
    if described is not None and described[0] == entry:
        return described
    return entry, document_of(entry)


def document_of(tool: Entry) -> Document:
    """Return the terms of a tool, by field."""
    description = description_of(tool)
    summary = first_sentence(description)
    parameters = dict(_parameters(tool.get("inputSchema")))
    return {
        "name": split_terms(f"{tool['name']} {tool.get('title') or ''}"),
        "summary": split_terms(summary),
        "details": split_terms(description[len(summary) :]),
        "parameters": split_terms(" ".join(parameters)),
        "hints": split_terms(" ".join(parameters.values())),
    }


def description_of(tool: Entry) -> str:
    """Return the description of a tool; a server behind a proxy may send anything."""
    description = tool.get("description")
    return description if isinstance(description, str) else ""


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop or blank line."""
    sentence, stop, _ = text.partition("\n\n")[0].partition(". ")
    return sentence + stop.rstrip()


def _parameters(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield name and description of the parameters of a tool."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, field in properties.items() if isinstance(properties, dict) else ():
        text = field.get("description") if isinstance(field, dict) else None
        yield name, text if isinstance(text, str) else ""
