"""URLs of clauses, and readable names of areas."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.inventory import Requirement

__all__ = ["SNAPSHOT", "area_title", "clause_url"]

# The snapshot of the specification that the inventory is based on.
SNAPSHOT = "commit b0f60ba5 of 2026-08-22"

_SITE = "https://modelcontextprotocol.io"

# Values of `spec` that are not a page of a revision.
_ELSEWHERE = {
    "jsonrpc 2.0 via basic/index": "https://www.jsonrpc.org/specification",
    "RFC 9728 via basic/authorization": "https://www.rfc-editor.org/rfc/rfc9728",
    "docs security_best_practices": f"{_SITE}/docs/tutorials/security/security_best_practices",
    "seps/2663": "https://github.com/modelcontextprotocol/modelcontextprotocol/issues/2663",
}

# Areas whose name in the inventory uses the letters A to E for the revisions.
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
    """Return the readable name of an area."""
    return _AREAS.get(area, area)


def clause_url(row: Requirement) -> str:
    """Return the URL of the page and section of a requirement."""
    page, _, section = row.spec.partition("#")
    anchor = f"#{section}" if section else ""
    if page in _ELSEWHERE:
        return _ELSEWHERE[page]
    kind, _, date = page.partition(" ")
    if kind == "changelog":
        return f"{_SITE}/specification/{date}/changelog{anchor}"
    # Page names are those of the newest legacy revision with the clause, if there is one.
    legacy = [revision for revision in row.revisions if revision.family is Family.LEGACY]
    newest = (legacy or row.revisions)[-1]
    return f"{_SITE}/specification/{newest}/{page.removesuffix('/index')}{anchor}"
