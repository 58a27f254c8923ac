"""The tools for the graph as a whole: merge_entities, graph_stats, transfer_graph."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import ResourceLink, ResourceNotFoundError, Server, ToolError, ToolResult
from dovetail_graph import mutations
from dovetail_graph.answers import answer, describe, tool
from dovetail_graph.export_folder import ExportFolder
from dovetail_graph.full_export import take_full, write_full
from dovetail_graph.import_export import WRITERS, take_snapshot
from dovetail_graph.importing import import_graph
from dovetail_graph.inputs import VISIBLE
from dovetail_graph.memory import Memory
from dovetail_graph.merging import merge_entities
from dovetail_graph.ngrams import HashedNgrams
from dovetail_graph.rendering import MAX_CHARS
from dovetail_graph.results import MergeResult, Stats, Transferred
from dovetail_graph.storage import ChangeFilter, Page, Reader
from dovetail_graph.text_normalization import fold
from dovetail_graph.timestamps import EARLIEST, FOREVER, View, format_timestamp
from dovetail_serverkit.tool_descriptions import CHANGES, DESTROYS, READS

__all__ = ["add_maintenance_tools", "collect_stats"]

_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_MERGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "into": {
            **_NAME,
            "pattern": VISIBLE,
            "description": "The entity that remains; a new name renames.",
        },
        "from": {
            "type": "array",
            "items": _NAME,
            "minItems": 1,
            "maxItems": 50,
            "description": "Entities to merge into it.",
        },
        "dryRun": {"type": "boolean", "default": False, "description": "Report the effect only."},
    },
    "required": ["into", "from"],
    "additionalProperties": False,
}
_MAX_TYPES = 50
_MAX_EXAMINED = 1_000
_FADED = 0.3


def add_maintenance_tools(server: Server, memory: Memory, exports: ExportFolder) -> None:
    """Register the tools."""

    @server.tool(
        **describe(
            "merge_entities",
            "Merge entities into one, with their observations and relations. The merged names "
            "become aliases. Merging into a new name renames the entity. History is kept.",
            DESTROYS,
            MergeResult,
        ),
        input_schema=_MERGE_SCHEMA,
    )
    def merge(**given: Any) -> ToolResult:
        with memory.store.writing() as writer:
            result = merge_entities(
                writer, given["into"], given["from"], given.get("dryRun", False)
            )
        return answer(result)

    @tool(
        server,
        "graph_stats",
        "Statistics of the graph: counts by type, the most connected entities, relations whose "
        "confidence has decayed, likely duplicates.",
        READS,
        Stats,
    )
    def graph_stats() -> ToolResult:
        with memory.store.reading() as reader:
            return answer(collect_stats(reader, memory))

    @tool(
        server,
        "transfer_graph",
        "Export the current graph as jsonl (format of the reference memory server), json, graphml "
        "or mermaid, or import jsonl or json from `data` or from a file in the exports folder. "
        "saveTo writes a file to that folder; without it the result contains the text, if it is "
        "short.",
        CHANGES,
        Transferred,
    )
    def transfer_graph(
        action: Literal["export", "import"],
        format: Literal["jsonl", "json", "graphml", "mermaid"] = "jsonl",
        saveTo: Annotated[str | None, "For export: a file name without folders."] = None,
        data: Annotated[str, Meta(max_length=50_000_000)] | None = None,
        loadFrom: Annotated[str | None, "For import: a file name without folders."] = None,
    ) -> ToolResult:
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

    @server.resource(
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
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_CHARS - 2_000:
            raise ToolError(
                f"The export is longer than {MAX_CHARS - 2_000} characters; pass a file name as "
                "saveTo and read the file"
            )
        yield line


def collect_stats(reader: Reader, memory: Memory) -> Stats:
    """Return statistics of the current graph."""
    now = View(reader.now())
    entities, relations = reader.count_types(now)
    some = [one.name for one in reader.entities(now, Page(limit=_MAX_EXAMINED))]
    decay = memory.decay
    faded = []
    for one in reader.relations(now, sources=some):
        left = decay.apply(one.confidence, one.reinforced, reader.now(), one.key.kind)
        if left < _FADED:
            faded.append((left, mutations.label(one.key)))
    last = reader.changes(ChangeFilter(EARLIEST, FOREVER, limit=1))
    embeddings = f"{HashedNgrams.name} (lexical)" if memory.compares else "off"
    if memory.vectors is not None:
        embeddings = f"{memory.vectors.embedder.name} (semantic)"
    return Stats(
        namespace=memory.namespace,
        entities=sum(entities.values()),
        relations=sum(relations.values()),
        entity_types=_largest(entities),
        relation_types=_largest(relations),
        most_connected=dict(reader.most_connected(now, 10)),
        low_confidence=[name for _, name in sorted(faded)[:10]],
        likely_duplicates=_duplicates(some),
        last_change=format_timestamp(last[0].at) if last else None,
        embeddings=embeddings,
    )


def _largest(counts: dict[str, int]) -> dict[str, int]:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(ranked[:_MAX_TYPES])


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
