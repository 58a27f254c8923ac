"""Read every list to its end. Most other probes and many rules need the items."""

from __future__ import annotations

from typing import Any

from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import Order, probe

__all__ = ["LISTS", "read_list", "walk_all"]

# The maximum number of pages to read.
MAX_PAGES = 50

# capability, method, member of the result, attribute of the catalogue
LISTS = (
    ("tools", "tools/list", "tools", "tools"),
    ("prompts", "prompts/list", "prompts", "prompts"),
    ("resources", "resources/list", "resources", "resources"),
    ("resources", "resources/templates/list", "resourceTemplates", "resource_templates"),
)


@probe("walk", order=Order.FIRST)
async def walk_lists(client: ProbeClient) -> None:
    """Follow the cursors of each list that the server declared."""
    for capability, method, member, kept_as in LISTS:
        if client.has(capability):
            getattr(client.catalogue, kept_as)[:] = await read_list(client, method, member)


async def read_list(
    client: ProbeClient, method: str, member: str, *, variant: str = ""
) -> list[dict[str, Any]]:
    """Read all pages of a list and return the items. `variant` defaults to the member."""
    found: list[dict[str, Any]] = []
    cursor: Any = None
    seen: list[Any] = []
    while len(seen) < MAX_PAGES:
        params = {} if cursor is None else {"cursor": cursor}
        exchange = await client.request(method, params, variant=variant or member)
        result = exchange.result or {}
        items = result.get(member)
        found += (
            [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        )
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            break
        seen.append(cursor)
    return found


async def walk_all(client: ProbeClient, where: str) -> list[dict[str, Any]]:
    """Read every declared list again, with the variant `where/member`, and return the items."""
    found: list[dict[str, Any]] = []
    for capability, method, member, _ in LISTS:
        if client.has(capability):
            found += await read_list(client, method, member, variant=f"{where}/{member}")
    return found
