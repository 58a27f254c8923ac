"""Where a clause can be read: the address of its page, and names of areas that say themselves."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.inventory import Requirement

__all__ = ["SNAPSHOT", "area_title", "clause_url"]

# The text of the specification that the inventory was taken from and held against.
SNAPSHOT = "commit b0f60ba5 of 2026-08-22"

_SITE = "https://modelcontextprotocol.io"

# What stands in `spec` where the clause is on no page of a revision.
_ELSEWHERE = {
    "jsonrpc 2.0 via basic/index": "https://www.jsonrpc.org/specification",
    "RFC 9728 via basic/authorization": "https://www.rfc-editor.org/rfc/rfc9728",
    "docs security_best_practices": f"{_SITE}/docs/tutorials/security/security_best_practices",
    "seps/2663": "https://github.com/modelcontextprotocol/modelcontextprotocol/issues/2663",
}

# Areas whose name in the inventory counts the revisions A to E.
_AREAS = {
    "base 2026-07-28": "base, modern era",
    "lifecycle A-D": "lifecycle, legacy era",
    "ping A-D": "ping, legacy era",
    "versioning E": "versioning, modern era",
    "streamable HTTP B-D": "Streamable HTTP, legacy era",
    "streamable HTTP E": "Streamable HTTP, modern era",
    "legacy HTTP+SSE (A)": "HTTP with SSE, 2024-11-05",
    "batching 2025-03-26": "batching, 2025-03-26",
    "MRTR E": "multi round-trip requests, modern era",
    "caching E": "caching, modern era",
    "subscriptions E": "subscriptions, modern era",
    "tasks D (experimental)": "tasks, 2025-11-25 (experimental)",
    "tasks extension E (SEP-2663)": "tasks extension, modern era",
    "elicitation / sampling / roots (server as requester)": "elicitation, sampling, roots",
}


def area_title(area: str) -> str:
    """The name of an area as people read it."""
    return _AREAS.get(area, area)


def clause_url(row: Requirement) -> str:
    """The page and section that a row was taken from."""
    page, _, section = row.spec.partition("#")
    anchor = f"#{section}" if section else ""
    if page in _ELSEWHERE:
        return _ELSEWHERE[page]
    kind, _, date = page.partition(" ")
    if kind == "changelog":
        return f"{_SITE}/specification/{date}/changelog{anchor}"
    # Pages are named as in the newest legacy revision that has the clause, if one has it.
    legacy = [revision for revision in row.revisions if revision.family is Family.LEGACY]
    newest = (legacy or row.revisions)[-1]
    return f"{_SITE}/specification/{newest}/{page.removesuffix('/index')}{anchor}"
