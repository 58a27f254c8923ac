"""Who the checker says it is: a client that declares nothing, everything, or a part of it."""

from __future__ import annotations

from enum import Enum
from typing import Any

from dovetail.spec.revisions import Family, Revision

__all__ = ["CLIENT_INFO", "Persona", "capabilities_of", "narrow_capabilities"]

CLIENT_INFO = {"name": "dovetail-check", "version": "1"}


class Persona(Enum):
    """How much the client declares."""

    # Nothing: a server must not ask it for anything.
    BARE = "bare"
    # Each thing that it can be asked for, without the options of any: forms, but no pages to
    # visit; a model, but none that uses tools.
    PLAIN = "plain"
    # Everything that the revision knows: a server may ask, and is answered.
    CAPABLE = "capable"


def capabilities_of(persona: Persona, revision: Revision) -> dict[str, Any]:
    """What the client declares at a revision."""
    if persona is Persona.BARE:
        return {}
    declared: dict[str, Any] = {"roots": {}, "sampling": {}}
    if revision.elicitation:
        declared["elicitation"] = {}
    if persona is Persona.PLAIN:
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
    """One thing at a time, by the name of the variant: for requests that carry capabilities."""
    return {
        "nothing": {},
        "forms": {"elicitation": {}},
        "pages": {"elicitation": {"url": {}}},
        "model": {"sampling": {}},
        "roots": {"roots": {}},
    }
