"""Client profiles: the capabilities that the checker declares to the server."""

from __future__ import annotations

from enum import Enum
from typing import Any

from dovetail.spec.revisions import Family, Revision

__all__ = ["CLIENT_INFO", "ClientProfile", "capabilities_of", "narrow_capabilities"]

CLIENT_INFO = {"name": "dovetail-check", "version": "1"}


class ClientProfile(Enum):
    """How many capabilities the client declares."""

    # None: the server must not send requests to this client.
    MINIMAL = "minimal"
    # Every client feature without its options: form elicitation but not URL elicitation, sampling
    # but not sampling with tools.
    BASIC = "basic"
    # Everything that the revision defines.
    FULL = "full"


def capabilities_of(profile: ClientProfile, revision: Revision) -> dict[str, Any]:
    """Return the client capabilities of a profile at a revision."""
    if profile is ClientProfile.MINIMAL:
        return {}
    declared: dict[str, Any] = {"roots": {}, "sampling": {}}
    if revision.elicitation:
        declared["elicitation"] = {}
    if profile is ClientProfile.BASIC:
        return declared
    if revision.family is Family.LEGACY:
        declared["roots"] = {"listChanged": True}
    if revision.sampling_tools:
        declared["sampling"] = {"tools": {}, "context": {}}
    if revision.url_elicitation:
        declared["elicitation"] = {"form": {}, "url": {}}
    if revision.extensions:
        declared["extensions"] = {"io.modelcontextprotocol/tasks": {}}
    return declared


def narrow_capabilities() -> dict[str, dict[str, Any]]:
    """Return one capability at a time, by variant name, for requests that carry capabilities."""
    return {
        "nothing": {},
        "forms": {"elicitation": {}},
        "pages": {"elicitation": {"url": {}}},
        "model": {"sampling": {}},
        "roots": {"roots": {}},
    }
