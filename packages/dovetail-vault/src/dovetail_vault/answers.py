"""Shared by all tools: selection of a vault, and building of results."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from dovetail import ResourceLink, ToolError, ToolResult
from dovetail_vault.results import Pagination, SearchResult
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.semantic_search import MODES, SemanticSearcher
from dovetail_vault.text_search import TextSearcher
from dovetail_vault.vault import Vault

__all__ = ["Stopwatch", "Vaults", "paginate", "parse_time"]

# The structured content lists all notes; more links would only repeat it.
_MAX_LINKS = 20


class Vaults:
    """The vaults of a server, by name."""

    def __init__(self, vaults: Sequence[Vault]) -> None:
        self._by_name: Mapping[str, Vault] = {vault.name: vault for vault in vaults}
        self._searchers = {vault.name: TextSearcher(vault) for vault in vaults}
        self._semantic = {vault.name: SemanticSearcher(vault) for vault in vaults}

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def pick(self, name: str | None) -> Vault:
        """Return the vault with this name; None selects the first one."""
        if name is None:
            return next(iter(self._by_name.values()))
        if name not in self._by_name:
            names = ", ".join(map(repr, self._by_name))
            raise ToolError(f"There is no vault {name[:100]!r}; available: {names}")
        return self._by_name[name]

    def search(self, name: str | None, request: SearchRequest) -> SearchResult:
        """Search a vault."""
        searchers = self._semantic if request.mode in MODES else self._searchers
        return searchers[self.pick(name).name].search(request)


class Stopwatch:
    """Measures the time of a call and builds its result."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._started = time.perf_counter()

    def answer(
        self, result: msgspec.Struct, vault: Vault, notes: Iterable[tuple[str, str]] = ()
    ) -> ToolResult:
        """Return the result as structured content, as JSON text, and with links to notes."""
        links = [
            ResourceLink(
                uri=vault.uri_of(path),
                name=path,
                title=title or None,
                mime_type="text/markdown",
            )
            for path, title in list(notes)[:_MAX_LINKS]
        ]
        return ToolResult(
            [msgspec.json.encode(result).decode(), *links] if links else None,
            structured=result,
            meta={
                "tool": self._tool,
                "vault": vault.name,
                "executionTime": round((time.perf_counter() - self._started) * 1000, 3),
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            },
        )


def paginate(total: int, returned: int, limit: int, offset: int) -> Pagination:
    """Return the pagination of a page with an exact total."""
    return Pagination(
        total=total,
        returned=returned,
        limit=limit,
        offset=offset,
        has_more=offset + returned < total,
    )


def parse_time(text: str | None, name: str) -> int | None:
    """Parse a date or date-time into nanoseconds; without an offset it is UTC."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(
            f"{name} must be a date like 2025-01-31 or 2025-01-31T09:00:00Z, got {text[:50]!r}"
        ) from None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    return int(parsed.timestamp() * 1_000_000_000)
