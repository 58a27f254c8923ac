"""Tools for links: discover-mocs and get-links."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Server, ToolError, ToolResult
from dovetail_serverkit.tool_descriptions import READS, schema_of
from dovetail_vault.answers import Stopwatch, Vaults, paginate
from dovetail_vault.link_resolution import Resolver, StoredLink
from dovetail_vault.paths import split_folder_path
from dovetail_vault.results import LinkEdge, LinkNode, Links, Moc, Mocs
from dovetail_vault.vault import Vault
from dovetail_vault.words import fold

__all__ = ["add_link_tools"]

_Offset = Annotated[int, Meta(ge=0, le=10_000_000)]
_VaultName = Annotated[str | None, "Name of the vault; default: the first one."]


def add_link_tools(server: Server, vaults: Vaults) -> None:
    """Register the tools."""

    @server.tool(
        name="discover-mocs",
        title="Maps of content",
        annotations=READS,
        output_schema=schema_of(Mocs),
    )
    def discover_mocs(
        mocName: Annotated[str | None, "Only notes with this text in title or file name."] = None,
        directory: str | None = None,
        minLinks: Annotated[int, Meta(ge=0)] = 0,
        vault: _VaultName = None,
    ) -> ToolResult:
        """List maps of content: notes tagged `moc` that link to others. A good starting point."""
        watch = Stopwatch("discover-mocs")
        chosen = vaults.pick(vault)
        found = _find_mocs(chosen, split_folder_path(directory or ""), mocName or "")
        mocs = [moc for moc in found if moc.link_count >= minLinks]
        result = Mocs(mocs=mocs, count=len(mocs))
        return watch.answer(result, chosen, [(moc.path, moc.title) for moc in mocs])

    @server.tool(name="get-links", title="Links", annotations=READS, output_schema=schema_of(Links))
    def get_links(
        path: Annotated[str | None, "The note; optional for broken links and orphans."] = None,
        direction: Literal["out", "in", "both"] = "both",
        depth: Annotated[int, Meta(ge=1, le=3)] = 1,
        kind: Annotated[
            Literal["links", "broken", "orphans"],
            "broken: links without a target; orphans: notes without links in or out.",
        ] = "links",
        limit: Annotated[int, Meta(ge=1, le=5000)] = 500,
        offset: _Offset = 0,
        vault: _VaultName = None,
    ) -> ToolResult:
        """List links from and to a note, broken links, or notes without links."""
        watch = Stopwatch("get-links")
        chosen = vaults.pick(vault)
        resolver = Resolver(chosen.index)
        source = None if path is None else "/".join(chosen.resolve(path))
        distances: dict[str, int] = {}
        edges: list[LinkEdge] = []
        if kind == "orphans":
            orphans = _orphans(chosen, resolver)
            total = len(orphans)
            distances = dict.fromkeys(orphans[offset : offset + limit], 0)
        elif kind == "broken":
            edges = _broken(resolver, source)
            total = len(edges)
            edges = edges[offset : offset + limit]
            distances = {edge.source: 0 for edge in edges}
        elif source is None:
            raise ToolError("Pass the note in `path`, or use kind=broken or kind=orphans")
        else:
            distances, edges = _neighbours(resolver, source, direction, depth)
            total = len(edges)
            edges = edges[offset : offset + limit]
            shown = {source, *(end for edge in edges for end in (edge.source, edge.target))}
            distances = {path: steps for path, steps in distances.items() if path in shown}
        returned = len(distances) if kind == "orphans" else len(edges)
        result = Links(
            nodes=_nodes(chosen, distances),
            edges=edges,
            pagination=paginate(total, returned, limit, offset),
        )
        return watch.answer(result, chosen, [(node.path, node.title) for node in result.nodes])


def _find_mocs(vault: Vault, folder: tuple[str, ...], name: str) -> list[Moc]:
    prefix = "".join(f"{part}/" for part in folder)
    rows = vault.index.select(
        "WHERE id IN (SELECT note FROM tags WHERE folded = 'moc' OR folded LIKE 'moc/%') "
        "ORDER BY path"
    )
    every = {row.path for row in rows}
    resolver = Resolver(vault.index)
    mocs = []
    for row in rows:
        names = f"{fold(row.title)}\n{fold(row.path)}"
        if not row.path.startswith(prefix) or fold(name) not in names:
            continue
        targets = (
            resolver.resolve(link.source, link.target, link.kind).path or link.target
            for link in resolver.links_from(row.path)
        )
        linked = [target for target in dict.fromkeys(targets) if target != row.path]
        tags = vault.index.query("SELECT tag FROM tags WHERE note = ?", (row.id,))
        mocs.append(
            Moc(
                path=row.path,
                title=row.title,
                uri=vault.uri_of(row.path),
                tags=[tag for (tag,) in tags],
                linked_notes=linked,
                link_count=len(linked),
                linked_mocs=[target for target in linked if target in every],
            )
        )
    return mocs


def _edge(resolver: Resolver, link: StoredLink) -> LinkEdge:
    found = resolver.resolve(link.source, link.target, link.kind)
    return LinkEdge(
        source=link.source,
        target=found.path,
        written=link.target,
        line=link.line,
        ambiguous=list(found.others),
    )


def _is_note_link(link: StoredLink) -> bool:
    """Whether a link may point to a note; links to images and other files are not checked."""
    name = link.target.rpartition("/")[2]
    return name.endswith(".md") or "." not in name.strip(".")


def _broken(resolver: Resolver, source: str | None) -> list[LinkEdge]:
    links = resolver.all_links() if source is None else resolver.links_from(source)
    edges = (_edge(resolver, link) for link in links if _is_note_link(link))
    return [edge for edge in edges if edge.target is None]


def _orphans(vault: Vault, resolver: Resolver) -> list[str]:
    linked = set()
    for link in resolver.all_links():
        target = resolver.resolve(link.source, link.target, link.kind).path
        if target is not None and target != link.source:
            linked |= {link.source, target}
    return [row.path for row in vault.index.select("ORDER BY path") if row.path not in linked]


def _neighbours(
    resolver: Resolver, source: str, direction: str, depth: int
) -> tuple[dict[str, int], list[LinkEdge]]:
    """Return the distance of each reachable note, and the links between them."""
    distances = {source: 0}
    edges: dict[tuple[str, int, str], LinkEdge] = {}
    frontier = [source]
    for distance in range(1, depth + 1):
        following = []
        for path in frontier:
            found = resolver.links_from(path) if direction in ("out", "both") else []
            found += resolver.links_to(path) if direction in ("in", "both") else []
            for link in found:
                edge = _edge(resolver, link)
                edges[link.source, link.line, link.target] = edge
                for end in (edge.source, edge.target):
                    if end is not None and end not in distances:
                        distances[end] = distance
                        following.append(end)
        frontier = following
    return distances, sorted(edges.values(), key=lambda e: (e.source, e.line, e.written))


def _nodes(vault: Vault, distances: dict[str, int]) -> list[LinkNode]:
    nodes = []
    for path, distance in distances.items():
        rows = vault.index.query("SELECT title FROM notes WHERE path = ?", (path,))
        title = rows[0][0] if rows else path
        nodes.append(LinkNode(path=path, title=title, uri=vault.uri_of(path), distance=distance))
    return nodes
