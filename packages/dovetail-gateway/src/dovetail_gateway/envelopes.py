"""The `_meta` and the client capabilities of forwarded requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.core.call import Call
from dovetail.core.telemetry import continue_trace
from dovetail.errors import InvalidRequestError
from dovetail.spec.keys import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    LOG_LEVELS,
    PROGRESS_TOKEN,
    PROTOCOL_VERSION,
    TASKS,
)
from dovetail.spec.revisions import Revision

__all__ = [
    "HOPS",
    "MAX_HOPS",
    "count_hops",
    "declared_by",
    "fit_capabilities",
    "make_meta",
    "stamp_modern",
]

# Counts the proxies that a request has passed.
HOPS = "dovetail.proxy/hops"
# More is a loop.
MAX_HOPS = 8

# Members that belong to one connection; everything else, such as trace context, is passed on.
_OWN = frozenset(
    {PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL, PROGRESS_TOKEN, HOPS}
)
_QUESTIONS = ("elicitation", "sampling", "roots")
_LEVELS = tuple(LOG_LEVELS)


def count_hops(call: Call) -> int:
    """Return the number of proxies that a request has passed."""
    hops = call.meta.get(HOPS, 0)
    return hops if isinstance(hops, int) else MAX_HOPS


def make_meta(call: Call, hops: int) -> dict[str, Any]:
    """Return the `_meta` that is passed on, with the hop count; raises for a loop of proxies."""
    given = call.meta
    if hops >= MAX_HOPS:
        raise InvalidRequestError(
            f"Invalid request: it has passed {MAX_HOPS} proxies; they forward to each other"
        )
    meta = {key: value for key, value in given.items() if key not in _OWN}
    # The span of this call, if it has one, becomes the parent of the upstream's.
    meta.update(continue_trace(meta))
    meta[HOPS] = hops + 1
    return meta


def declared_by(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a client can be asked for, in the form of the newest revision."""
    found = {name: dict(given[name]) for name in _QUESTIONS if isinstance(given.get(name), dict)}
    if "elicitation" in found and not found["elicitation"]:
        # Before there were modes, elicitation was a form.
        found["elicitation"] = {"form": {}}
    if "roots" in found:
        # Changes of roots are not passed on.
        found["roots"] = {}
    return found


def fit_capabilities(declared: dict[str, Any], revision: Revision) -> dict[str, Any]:
    """Return the part of `declared` that a revision has, in its form."""
    fitted = dict(declared)
    if not revision.elicitation:
        fitted.pop("elicitation", None)
    elif "elicitation" in fitted and not revision.url_elicitation:
        fitted["elicitation"] = {}
    if "sampling" in fitted and not revision.sampling_tools:
        fitted["sampling"] = {}
    return fitted


def stamp_modern(
    meta: dict[str, Any],
    call: Call,
    revision: Revision,
    client_info: dict[str, Any],
    declared: dict[str, Any],
    *,
    tasks: bool,
) -> None:
    """Add what every modern request carries."""
    capabilities = {**declared, "extensions": {TASKS: {}}} if tasks else declared
    meta[PROTOCOL_VERSION] = revision.date
    meta[CLIENT_INFO] = client_info
    meta[CLIENT_CAPABILITIES] = capabilities
    rank = call.peer.log_rank
    if rank is not None and call.link.channels.messages:
        meta[LOG_LEVEL] = _LEVELS[rank]
