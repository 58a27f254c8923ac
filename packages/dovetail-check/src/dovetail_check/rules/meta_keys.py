"""basic/index#meta: the keys that a server puts into `_meta`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail_check.exchanges import Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import as_json, changes_by_itself, messages
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_OURS = ("modelcontextprotocol", "mcp")
# Keys with a reserved prefix that the specification defines.
_KNOWN = frozenset(
    {
        keys.PROTOCOL_VERSION,
        keys.CLIENT_INFO,
        keys.CLIENT_CAPABILITIES,
        keys.LOG_LEVEL,
        keys.SERVER_INFO,
        keys.SUBSCRIPTION_ID,
        f"{keys.PREFIX}related-task",
        f"{keys.PREFIX}model-immediate-response",
    }
)
# Application data: a member named `_meta` in it has no meaning for MCP.
_FOREIGN = frozenset(
    {"structuredContent", "inputSchema", "outputSchema", "requestedSchema", "data", "arguments"}
)
_TLDS = frozenset(
    [
        "com",
        "org",
        "net",
        "io",
        "dev",
        "ai",
        "app",
        "co",
        "edu",
        "gov",
        "info",
        "eu",
        "uk",
        "de",
        "fr",
        "us",
        "ca",
        "au",
        "jp",
        "cn",
        "in",
    ]
)
_TRACES = {
    "traceparent": re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"),
    "tracestate": re.compile(r"\s*|[^=,]+=[^=,]*(\s*,\s*([^=,]+=[^=,]*)?)*"),
    "baggage": re.compile(r"[^=,;]+=[^,;]*(;[^,]*)*(\s*,\s*[^=,;]+=[^,;]*(;[^,]*)*)*"),
}


class _Key(NamedTuple):
    """One key in `_meta`, and the message that has it."""

    text: str
    value: Any
    incoming: Incoming

    @property
    def prefix(self) -> str | None:
        """The part before the first slash; None if there is no slash."""
        before, slash, _ = self.text.partition("/")
        return before if slash else None

    @property
    def name(self) -> str:
        """The part after the prefix."""
        return self.text.partition("/")[2] if "/" in self.text else self.text


def _keys(session: ProbeSession) -> Iterator[_Key]:
    """Each key once, with its first message."""
    known: set[str] = set()
    for incoming in messages(session):
        for text, value in _find(incoming.message):
            if text not in known:
                known.add(text)
                yield _Key(text, value, incoming)


def _find(value: Any, depth: int = 12) -> Iterator[tuple[str, Any]]:
    if depth == 0:
        return
    if isinstance(value, dict):
        meta = value.get("_meta")
        yield from meta.items() if isinstance(meta, dict) else ()
        for name, inside in value.items():
            if name not in _FOREIGN and name != "_meta":
                yield from _find(inside, depth - 1)
    elif isinstance(value, list):
        for inside in value:
            yield from _find(inside, depth - 1)


@rule("base.meta.key-prefix-grammar")
def prefixes_are_dotted_labels(session: ProbeSession) -> Iterator[Note]:
    """As in com.example/: labels begin with a letter and end with a letter or digit."""
    for key in _keys(session):
        if key.prefix is None:
            continue
        if _PREFIX.fullmatch(key.prefix):
            yield satisfied(key.incoming)
        else:
            yield violated(
                key.incoming, f"the key {key.text!r}: {key.prefix!r} is not a series of labels"
            )


@rule("base.meta.key-name-grammar")
def names_begin_and_end_with_letters_or_digits(session: ProbeSession) -> Iterator[Note]:
    """Hyphens, underscores and dots are also allowed in between."""
    for key in _keys(session):
        if key.name == "" or _NAME.fullmatch(key.name):
            yield satisfied(key.incoming)
        else:
            text = "it must begin and end with a letter or digit, with - _ . in between"
            yield violated(key.incoming, f"the key {key.text!r}: {text}")


# base.meta.reserved-prefix (2025-11-25 basic/index): the second label decides. In earlier
# revisions it was any label but the last.
@rule("base.meta.reserved-prefix")
def reserved_prefixes_hold_known_keys(session: ProbeSession) -> Iterator[Note]:
    """A server does not invent keys under a reserved prefix."""
    for key in _keys(session):
        if key.prefix is None or not _is_reserved(key.prefix.lower().split("."), session):
            continue
        if key.text in _KNOWN:
            yield satisfied(key.incoming)
        elif f"{key.prefix}/" == keys.PREFIX:
            yield ambiguous(
                key.incoming, f"{key.text!r} has a reserved prefix; an extension may define it"
            )
        else:
            yield violated(
                key.incoming, f"the key {key.text!r} has a prefix that is reserved for MCP"
            )


def _is_reserved(labels: list[str], session: ProbeSession) -> bool:
    if session.revision.second_label_reserves:
        return len(labels) > 1 and labels[1] in _OURS
    return any(label in _OURS for label in labels[:-1]) or f"{'.'.join(labels)}/" == keys.PREFIX


@rule("base.meta.reverse-dns")
def prefixes_are_reverse_dns(session: ProbeSession) -> Iterator[Note]:
    """com.example instead of example.com, judged by common top-level domains."""
    for key in _keys(session):
        labels = (key.prefix or "").lower().split(".")
        if len(labels) < 2:
            continue
        if labels[-1] in _TLDS and labels[0] not in _TLDS:
            yield violated(
                key.incoming, f"the key {key.text!r} looks like a domain; expected reverse DNS"
            )
        else:
            yield satisfied(key.incoming)


@rule("base.meta.trace-context")
def trace_context_has_the_w3c_format(session: ProbeSession) -> Iterator[Note]:
    """traceparent, tracestate and baggage have the W3C format."""
    for incoming in messages(session):
        for name, value in _find(incoming.message):
            if name not in _TRACES:
                continue
            if isinstance(value, str) and _TRACES[name].fullmatch(value):
                yield satisfied(incoming)
            else:
                yield violated(incoming, f"{name} is {value!r:.80}; expected the W3C format")


@rule("base.meta.no-assumptions", reads=("meta-keys",))
def unknown_keys_change_nothing(session: ProbeSession) -> Iterator[Note]:
    """A list is the same with an unknown vendor key in `_meta`."""
    asked = {exchange.tag: exchange for exchange in session.tagged("meta-keys")}
    plain, keyed = asked.get("meta-keys/again"), asked.get("meta-keys/vendor-key")
    if plain is None or keyed is None or plain.result is None:
        return
    if keyed.result is None:
        yield violated(keyed, f"{keyed.method} with an unknown key in _meta got {keyed.describe()}")
    elif as_json(keyed.result) == as_json(plain.result):
        yield satisfied(keyed)
    elif changes_by_itself(session, plain):
        yield ambiguous(keyed, f"the result of {keyed.method} differs, but also without the key")
    else:
        yield violated(keyed, f"the result of {keyed.method} differs with an unknown key in _meta")
