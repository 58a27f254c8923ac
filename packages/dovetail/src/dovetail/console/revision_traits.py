"""What the page must know about each revision of the protocol, to be a client of it."""

from __future__ import annotations

from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family, Revision

__all__ = ["describe_traits"]


def describe_traits(revision: Revision, version: str) -> dict[str, Any]:
    """The differences that matter to the page, and what its messages must have.

    `hello` are the params of `initialize`, `meta` is the `_meta` of modern requests, and `taskMeta`
    that of requests that may become tasks.
    """
    info = {"name": "dovetail-console", "version": version}
    capabilities = _describe_capabilities(revision)
    is_modern = revision.family is Family.MODERN
    meta = {
        keys.PROTOCOL_VERSION: revision.date,
        keys.CLIENT_INFO: info,
        keys.CLIENT_CAPABILITIES: capabilities,
        keys.LOG_LEVEL: "debug",
    }
    with_tasks = {**capabilities, "extensions": {keys.TASKS: {}}}
    return {
        "modern": is_modern,
        "tasks": revision.tasks,
        "elicitation": revision.elicitation,
        "completions": revision.completions_capability,
        "hello": {
            "protocolVersion": revision.date,
            "capabilities": capabilities,
            "clientInfo": info,
        },
        "meta": meta if is_modern else {},
        "taskMeta": {**meta, keys.CLIENT_CAPABILITIES: with_tasks} if is_modern else {},
    }


def _describe_capabilities(revision: Revision) -> dict[str, Any]:
    """Everything that the page can ask its user."""
    found: dict[str, Any] = {
        "roots": {},
        "sampling": {"tools": {}} if revision.sampling_tools else {},
    }
    if revision.elicitation:
        found["elicitation"] = {"form": {}, "url": {}} if revision.url_elicitation else {}
    return found
