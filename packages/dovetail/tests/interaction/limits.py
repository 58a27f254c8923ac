"""What a combination of transport and revision cannot carry by specification, and why.

`lacks` is asked by the scenarios, which say what happens instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.interaction.links import Combination

__all__ = ["LIMITS", "Limit", "at", "lacks", "legacy_at", "modern_at"]


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that cannot be had, where, and why."""

    what: str
    is_met: Callable[[Combination], bool]
    why: str


def at(*transports: str) -> Callable[[Combination], bool]:
    return lambda combination: combination.transport.name in transports


def legacy_at(*transports: str) -> Callable[[Combination], bool]:
    return lambda combination: at(*transports)(combination) and not combination.is_modern


def modern_at(*transports: str) -> Callable[[Combination], bool]:
    return lambda combination: at(*transports)(combination) and combination.is_modern


LIMITS = (
    Limit(
        "elicitation",
        lambda combination: not combination.revision.elicitation,
        "the revision does not have it",
    ),
    Limit(
        "elicitation",
        legacy_at("stateless", "plain"),
        "what the user says comes in a POST of its own, which only a session ties to the question",
    ),
    Limit(
        "asking",
        legacy_at("stateless", "plain"),
        "an answer comes in a POST of its own, which only a session ties to the question",
    ),
    Limit(
        "telling",
        at("plain"),
        "a response is one JSON document, so nothing can come before the answer",
    ),
    Limit(
        "changes",
        lambda combination: combination.is_deaf,
        "without sessions there is no GET stream, without streams no subscriptions/listen",
    ),
    Limit(
        "log level",
        legacy_at("stateless"),
        "the level is set by a request of its own, which nobody remembers",
    ),
    Limit(
        "cancelling",
        legacy_at("stateless", "plain"),
        "a cancellation is a POST of its own, which only a session ties to the call, "
        "and a closed connection does not mean one in this era",
    ),
    Limit(
        "noticing the end",
        legacy_at("sessions", "stateless", "plain"),
        "the end of a connection is not the end of the server; the next request finds out",
    ),
    Limit(
        "noticing the end",
        modern_at("plain"),
        "there is no stream that could end",
    ),
)


def lacks(combination: Combination, what: str) -> bool:
    return any(limit.what == what and limit.is_met(combination) for limit in LIMITS)
