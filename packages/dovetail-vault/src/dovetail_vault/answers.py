"""What every tool of the vault has in common: which vault, how an answer is put together."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from dovetail import ResourceLink, ToolError, ToolResult
from dovetail_vault.meaning import MODES, MeaningSearcher
from dovetail_vault.results import Pagination, SearchResult
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.searching import Searcher
from dovetail_vault.vault import Vault

__all__ = ["Stopwatch", "Vaults", "paginate", "read_time"]

# Links beyond these say nothing that the structured part does not.
_MOST_LINKS = 20


class Vaults:
    """The vaults of a server, by name."""

    def __init__(self, vaults: Sequence[Vault]) -> None:
        self._by_name: Mapping[str, Vault] = {vault.name: vault for vault in vaults}
        self._searchers = {vault.name: Searcher(vault) for vault in vaults}
        self._meaning = {vault.name: MeaningSearcher(vault) for vault in vaults}

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def pick(self, name: str | None) -> Vault:
        """The vault of this name; None is the only one, or the first."""
        if name is None:
            return next(iter(self._by_name.values()))
        if name not in self._by_name:
            names = ", ".join(map(repr, self._by_name))
            raise ToolError(f"There is no vault {name[:100]!r}; there is: {names}")
        return self._by_name[name]

    def search(self, name: str | None, request: SearchRequest) -> SearchResult:
        """What a vault has to the request."""
        searchers = self._meaning if request.mode in MODES else self._searchers
        return searchers[self.pick(name).name].search(request)


class Stopwatch:
    """Puts answers together, with how long they took."""

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._begun = time.perf_counter()

    def answer(
        self, result: msgspec.Struct, vault: Vault, notes: Iterable[tuple[str, str]] = ()
    ) -> ToolResult:
        """The result as data, as JSON text for clients that read text, and as links to notes."""
        links = [
            ResourceLink(
                uri=vault.uri_of(path),
                name=path,
                title=title or None,
                mime_type="text/markdown",
            )
            for path, title in list(notes)[:_MOST_LINKS]
        ]
        return ToolResult(
            [msgspec.json.encode(result).decode(), *links] if links else None,
            structured=result,
            meta={
                "tool": self._tool,
                "vault": vault.name,
                "executionTime": round((time.perf_counter() - self._begun) * 1000, 3),
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            },
        )


def paginate(total: int, returned: int, limit: int, offset: int) -> Pagination:
    """Which part of an exact total a page is."""
    return Pagination(
        total=total,
        returned=returned,
        limit=limit,
        offset=offset,
        has_more=offset + returned < total,
    )


def read_time(text: str | None, name: str) -> int | None:
    """A date, or a date and time, in nanoseconds; without an offset it is UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(
            f"{name} must be a date like 2025-01-31 or 2025-01-31T09:00:00Z, got {text[:50]!r}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000_000_000)
