"""Shared by all tools: selection of a vault, and building of results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from dovetail import ResourceLink, Text, ToolError, ToolResult
from dovetail_serverkit.answer_size import answer_size
from dovetail_vault.limits import DEFAULT_CHARS, largest
from dovetail_vault.results import SearchResult
from dovetail_vault.search_request import SearchRequest
from dovetail_vault.semantic_search import MODES, SemanticSearcher
from dovetail_vault.text_search import TextSearcher
from dovetail_vault.vault import Vault

__all__ = ["Reply", "Vaults", "parse_time"]

# Characters of JSON around the text and the data: field names, `_meta`, the server's name.
_AROUND = 400


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


class Reply:
    """Measures the time of a call and builds its result within `max_chars`."""

    def __init__(self, max_chars: int = DEFAULT_CHARS) -> None:
        # Characters for the content.
        self.room = max_chars - _AROUND
        self._started = time.perf_counter()

    def first(
        self, count: int, build: Callable[[int], msgspec.Struct], least: int = 1
    ) -> ToolResult:
        """Return what `build` makes of as many of the first items as fit.

        Raises ToolError if there are items, and fewer than `least` of them fit.
        """
        number = largest(count, lambda number: self._fits(build(number)))
        if number < min(count, least):
            raise ToolError("maxChars is too small for the first result; pass a larger number")
        return self.data(build(number))

    def data(self, result: msgspec.Struct, links: Iterable[ResourceLink] = ()) -> ToolResult:
        """Return a result as structured content and as the same JSON in a text."""
        blocks = [Text(msgspec.json.encode(result).decode()), *links]
        return ToolResult(blocks, structured=result, meta=self._meta())

    def texts(self, blocks: list[str]) -> ToolResult:
        """Return plain texts."""
        return ToolResult([Text(block) for block in blocks], meta=self._meta())

    def _fits(self, result: msgspec.Struct) -> bool:
        return answer_size(result) <= self.room

    def _meta(self) -> dict[str, Any]:
        return {
            "executionTime": round((time.perf_counter() - self._started) * 1000, 3),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }


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
