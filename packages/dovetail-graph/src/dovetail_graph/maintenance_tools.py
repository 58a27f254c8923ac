"""The tools for the graph as a whole: merge_entities, graph_stats, transfer_graph."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

from dovetail import ResourceLink, ResourceNotFoundError, ToolError, ToolResult
from dovetail_graph import mutations
from dovetail_graph.answers import answer
from dovetail_graph.export_folder import ExportFolder
from dovetail_graph.full_export import take_full, write_full
from dovetail_graph.import_export import WRITERS, take_snapshot
from dovetail_graph.importing import import_graph
from dovetail_graph.inputs import MAX_CHARS, bounded
from dovetail_graph.memory import Memory
from dovetail_graph.merging import merge_entities
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.rendering import render_change
from dovetail_graph.results import MergeResult, Stats, Transferred
from dovetail_graph.storage import ChangeFilter, Page, Reader
from dovetail_graph.text_normalization import fold
from dovetail_graph.timestamps import EARLIEST, FOREVER, View, format_timestamp
from dovetail_graph.toolbox import Toolbox
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import CHANGES, DESTROYS, READS

__all__ = ["add_maintenance_tools", "collect_stats"]

_TEXT = {"type": "string"}
# `from` is a Python keyword, so this schema is not derived from a function signature.
_MERGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "into": _TEXT,
        "from": {"type": "array", "items": _TEXT},
        "dryRun": {"type": "boolean", "default": False},
    },
    "required": ["into", "from"],
    "additionalProperties": False,
}
_MAX_MERGED = 50
_MAX_TYPES = 50
_MAX_DATA = 50_000_000
_MAX_EXAMINED = 1_000
_FADED = 0.3


def add_maintenance_tools(tools: Toolbox, memory: Memory, exports: ExportFolder) -> None:
    """Register the tools."""

    @tools.add(
        "merge_entities",
        "Merge entities into one; their names become aliases. A new name in `into` renames.",
        DESTROYS,
        MergeResult,
        _MERGE_SCHEMA,
    )
    def merge(**given: Any) -> ToolResult:
        if not 1 <= len(given["from"]) <= _MAX_MERGED:
            raise ToolError(f"from must have 1 to {_MAX_MERGED} names")
        with memory.store.writing() as writer:
            result = merge_entities(
                writer, given["into"], given["from"], given.get("dryRun", False)
            )
        budget = AnswerBudget(MAX_CHARS)
        merged, aliases = result.merged, result.aliases
        result.merged, result.aliases = budget.fitting(merged), budget.fitting(aliases)
        result.not_listed = len(merged) + len(aliases) - len(result.merged) - len(result.aliases)
        return answer(result)

    @tools.add(
        "graph_stats",
        "Counts by type, most connected entities, decayed relations, likely duplicates, and the "
        "last `changes`.",
        READS,
        Stats,
    )
    def graph_stats(changes: int = 0) -> ToolResult:
        with memory.store.reading() as reader:
            return answer(collect_stats(reader, memory, bounded(changes, 0, 100)))

    @tools.add(
        "transfer_graph",
        "Export the graph, or import json or jsonl from `data` or a file. json has all of history; "
        "jsonl is the format of the reference memory server. saveTo and loadFrom are file names in "
        "the exports folder; without saveTo the answer has the text.",
        CHANGES,
        Transferred,
    )
    def transfer_graph(
        action: Literal["export", "import"],
        format: Literal["jsonl", "json", "graphml", "mermaid"] = "jsonl",
        saveTo: str | None = None,
        data: str | None = None,
        loadFrom: str | None = None,
    ) -> ToolResult:
        if data is not None and len(data) > _MAX_DATA:
            raise ToolError(f"data has more than {_MAX_DATA} characters; use loadFrom")
        if action == "export":
            if data is not None or loadFrom is not None:
                raise ToolError("`data` and `loadFrom` are allowed only with action import")
            if saveTo is None:
                return answer(_export_text(memory, format))
            return _export_file(memory, format, exports, saveTo)
        if saveTo is not None or (data is None) == (loadFrom is None):
            raise ToolError("action import needs either `data` or `loadFrom`, and no `saveTo`")
        text = data if data is not None else exports.read(loadFrom or "")
        with memory.store.writing() as writer:
            return answer(import_graph(writer, text, format, memory.vocabulary))

    @tools.server.resource(
        "graph://export/{file}", name="export", title="An export", mime_type="text/plain"
    )
    def export(file: str) -> str:
        """A file that transfer_graph wrote."""
        try:
            return exports.read(file)
        except ToolError as error:
            raise ResourceNotFoundError(f"graph://export/{file[:200]}", str(error)) from None


def _export_text(memory: Memory, kind: str) -> Transferred:
    lines, result = _export(memory, kind)
    result.data = "\n".join(_bounded(lines))
    return result


def _export_file(memory: Memory, kind: str, exports: ExportFolder, name: str) -> ToolResult:
    exports.check_name(name)
    lines, result = _export(memory, kind)
    exports.write(name, lines)
    result.saved_to = name
    link = ResourceLink(uri=f"graph://export/{name}", name=name, mime_type="text/plain")
    return ToolResult([f"Saved to {name}.", link], structured=result)


def _export(memory: Memory, kind: str) -> tuple[Iterator[str], Transferred]:
    with memory.store.reading() as reader:
        whole = take_full(reader)
        graph = take_snapshot(reader, View(reader.now()))
    facts = {(one.entity, one.content) for one in whole.observations}
    shown = sum(map(len, graph.observations.values()))
    result = Transferred(
        action="export",
        format=kind,
        entities=len(graph.entities),
        relations=len(graph.relations),
        observations=shown,
        rejected=0,
    )
    if kind == "json":
        result.entities = len({one.name for one in whole.entities})
        result.relations = len({one.key for one in whole.relations})
        result.observations = len(facts)
        return write_full(whole), result
    result.left_out = len(facts) - shown
    return WRITERS[kind](graph), result


def _bounded(lines: Iterator[str]) -> Iterator[str]:
    budget = AnswerBudget(MAX_CHARS)
    for line in lines:
        if not budget.take(line):
            raise ToolError(
                f"The export does not fit into an answer of {MAX_CHARS} characters; pass a file "
                "name as saveTo and read the file"
            )
        yield line


def collect_stats(reader: Reader, memory: Memory, changes: int = 0) -> Stats:
    """Return statistics of the current graph, and its last changes."""
    now = View(reader.now())
    entities, relations = reader.count_types(now)
    some = [one.name for one in reader.entities(now, Page(limit=_MAX_EXAMINED))]
    decay = memory.decay
    faded = []
    for one in reader.relations(now, sources=some):
        left = decay.apply(one.confidence, one.reinforced, reader.now(), one.key.kind)
        if left < _FADED:
            faded.append((left, mutations.label(one.key)))
    last = reader.changes(ChangeFilter(EARLIEST, FOREVER, limit=max(1, changes)))
    embeddings = f"{HashedNgrams.name} (lexical)" if memory.compares else "off"
    if memory.vectors is not None:
        embeddings = f"{memory.vectors.embedder.name} (semantic)"
    # What matters least comes last, so that it is cut first.
    budget = AnswerBudget(MAX_CHARS)
    return Stats(
        namespace=memory.namespace,
        entities=sum(entities.values()),
        relations=sum(relations.values()),
        entity_types=dict(budget.fitting(_largest(entities))),
        relation_types=dict(budget.fitting(_largest(relations))),
        most_connected=dict(budget.fitting(reader.most_connected(now, 10))),
        low_confidence=budget.fitting(name for _, name in sorted(faded)[:10]),
        likely_duplicates=budget.fitting(_duplicates(some)),
        last_change=format_timestamp(last[0].at) if last else None,
        changes=budget.fitting(map(render_change, last[:changes])) or None,
        embeddings=embeddings,
    )


def _largest(counts: dict[str, int]) -> list[tuple[str, int]]:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ranked[:_MAX_TYPES]


def _duplicates(names: list[str]) -> list[list[str]]:
    """Return groups of names that differ only in case, accents, punctuation or one letter."""
    by_letters: dict[str, list[str]] = {}
    for name in names:
        letters = re.sub(r"[\W_]+", "", fold(name))
        by_letters.setdefault(letters or name, []).append(name)
    pairs = [group[:5] for group in by_letters.values() if len(group) > 1]
    # Sorted, names that differ only near the end are adjacent.
    ordered = sorted(by_letters)
    for one, other in pairwise(ordered):
        is_long = min(len(one), len(other)) > 5 and not re.search(r"\d", one + other)
        if is_long and difflib.SequenceMatcher(None, one, other).ratio() > 0.92:
            pairs.append([by_letters[one][0], by_letters[other][0]])
    return pairs[:10]
