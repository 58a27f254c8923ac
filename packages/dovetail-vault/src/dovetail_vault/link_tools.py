"""Tools for links: discover-mocs and get-links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from dovetail import Param, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import READS
from dovetail_vault.answers import Reply, Vaults
from dovetail_vault.limits import DEFAULT_CHARS, MaxChars, Offset
from dovetail_vault.link_resolution import Resolver, StoredLink
from dovetail_vault.registration import Registrar
from dovetail_vault.results import LinkEdge, Links, Moc, Mocs
from dovetail_vault.search_request import next_offset
from dovetail_vault.vault import Vault
from dovetail_vault.words import fold

__all__ = ["add_link_tools"]

# Notes that are listed for a map of content.
_MAX_LINKED = 20


def add_link_tools(tools: Registrar, vaults: Vaults) -> None:
    """Register the tools."""

    def discover_mocs(
        mocName: Annotated[str | None, "Only notes with this text in title or file name."] = None,
        directory: str | None = None,
        minLinks: Annotated[int, Meta(ge=0)] = 0,
        offset: Annotated[Offset, Param(hidden=True)] = 0,
        maxChars: Annotated[MaxChars, Param(hidden=True)] = DEFAULT_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        """List maps of content: notes tagged `moc` that link to others. A good starting point."""
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        found = _find_mocs(chosen, chosen.folder_bounds(directory), mocName or "")
        mocs = [moc for moc in found if moc.link_count >= minLinks]
        page = mocs[offset:]
        return reply.first(
            len(page),
            lambda number: Mocs(
                mocs=page[:number],
                total=len(mocs),
                next_offset=next_offset(len(mocs), offset, number),
            ),
        )

    tools.add("discover-mocs", discover_mocs, READS, Mocs)

    def get_links(
        path: Annotated[str | None, "The note; optional for broken links and orphans."] = None,
        direction: Literal["out", "in", "both"] = "both",
        depth: Annotated[int, Meta(ge=1, le=3)] = 1,
        kind: Annotated[
            Literal["links", "broken", "orphans"],
            "broken: links without a target; orphans: notes without links in or out.",
        ] = "links",
        limit: Annotated[int, Meta(ge=1, le=5000)] = 500,
        offset: Offset = 0,
        maxChars: Annotated[MaxChars, Param(hidden=True)] = DEFAULT_CHARS,
        vault: str | None = None,
    ) -> ToolResult:
        """List links from and to a note, broken links, or notes without links."""
        reply = Reply(maxChars)
        chosen = vaults.pick(vault)
        resolver = Resolver(chosen.index)
        source = None if path is None else "/".join(chosen.resolve(path))
        items: Sequence[LinkEdge | str]
        if kind == "orphans":
            items = _orphans(chosen, resolver)
        elif kind == "broken":
            items = _broken(resolver, source)
        elif source is None:
            raise ToolError("Pass the note in `path`, or use kind=broken or kind=orphans")
        else:
            items = _neighbours(resolver, source, direction, depth)
        page = items[offset : offset + limit]
        return reply.first(
            len(page),
            lambda number: _links(
                page[:number],
                source if kind == "links" else None,
                total=len(items),
                following=next_offset(len(items), offset, number),
            ),
        )

    tools.add("get-links", get_links, READS, Links)


def _links(
    items: Sequence[LinkEdge | str], note: str | None, *, total: int, following: int | None
) -> Links:
    """Sort links into lists; the note itself is not repeated in each of them."""
    result = Links(total=total, next_offset=following)
    result.orphans = [item for item in items if isinstance(item, str)]
    edges = [item for item in items if not isinstance(item, str)]
    if note is None:
        result.broken = edges
        return result
    result.outgoing = [replace(edge, source="") for edge in edges if edge.source == note]
    result.incoming = [
        replace(edge, target="") for edge in edges if edge.target == note != edge.source
    ]
    result.further = [edge for edge in edges if note not in (edge.source, edge.target)]
    return result


def _find_mocs(vault: Vault, bounds: tuple[str, str], name: str) -> list[Moc]:
    first, end = bounds
    rows = vault.index.select(
        "WHERE id IN (SELECT note FROM tags WHERE folded = 'moc' OR folded LIKE 'moc/%') "
        "ORDER BY path"
    )
    resolver = Resolver(vault.index)
    mocs = []
    for row in rows:
        names = f"{fold(row.title)}\n{fold(row.path)}"
        if not first <= row.path < end or fold(name) not in names:
            continue
        targets = (
            resolver.resolve(link.source, link.target, link.kind).path or link.target
            for link in resolver.links_from(row.path)
        )
        linked = [target for target in dict.fromkeys(targets) if target != row.path]
        mocs.append(
            Moc(
                path=row.path,
                title="" if row.path.endswith(f"{row.title}.md") else row.title,
                link_count=len(linked),
                linked_notes=linked[:_MAX_LINKED],
            )
        )
    return mocs


def _edge(resolver: Resolver, link: StoredLink) -> LinkEdge:
    found = resolver.resolve(link.source, link.target, link.kind)
    is_clear = found.path is not None and not found.others
    return LinkEdge(
        source=link.source,
        target=found.path or "",
        written="" if is_clear else link.target,
        line=link.line,
        ambiguous=list(found.others),
    )


def _is_note_link(link: StoredLink) -> bool:
    """Whether a link may point to a note; links to images and other files are not checked."""
    name = link.target.rpartition("/")[2].lower()
    return name.endswith(".md") or "." not in name.strip(".")


def _broken(resolver: Resolver, source: str | None) -> list[LinkEdge]:
    links = resolver.all_links() if source is None else resolver.links_from(source)
    edges = (_edge(resolver, link) for link in links if _is_note_link(link))
    return [edge for edge in edges if not edge.target]


def _orphans(vault: Vault, resolver: Resolver) -> list[str]:
    linked = set()
    for link in resolver.all_links():
        target = resolver.resolve(link.source, link.target, link.kind).path
        if target is not None and target != link.source:
            linked |= {link.source, target}
    return [row.path for row in vault.index.select("ORDER BY path") if row.path not in linked]


def _neighbours(resolver: Resolver, source: str, direction: str, depth: int) -> list[LinkEdge]:
    """Return the links of a note, and those of notes up to `depth` steps away."""
    reached = {source}
    edges: dict[tuple[str, int, str], LinkEdge] = {}
    frontier = [source]
    for _ in range(depth):
        following = []
        for path in frontier:
            found = resolver.links_from(path) if direction in ("out", "both") else []
            found += resolver.links_to(path) if direction in ("in", "both") else []
            for link in found:
                edge = _edge(resolver, link)
                edges[link.source, link.line, link.target] = edge
                for end in (edge.source, edge.target):
                    if end and end not in reached:
                        reached.add(end)
                        following.append(end)
        frontier = following
    own = [edge for edge in edges.values() if source in (edge.source, edge.target)]
    others = [edge for edge in edges.values() if source not in (edge.source, edge.target)]
    return [*sorted(own, key=_place), *sorted(others, key=_place)]


def _place(edge: LinkEdge) -> tuple[str, int, str]:
    return edge.source, edge.line, edge.target
