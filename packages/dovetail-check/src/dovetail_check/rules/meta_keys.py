"""basic/index#meta: the keys that a server puts into `_meta`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail_check.exchanges import Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import as_json, changes_by_itself, messages
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_OURS = ("modelcontextprotocol", "mcp")
# What the pages of the specification themselves put under a reserved prefix.
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
# Data of an application: a member called `_meta` in there is its own.
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
    """One key as it was seen."""

    text: str
    value: Any
    heard: Heard

    @property
    def prefix(self) -> str | None:
        """What stands before the first slash; None where there is none."""
        before, slash, _ = self.text.partition("/")
        return before if slash else None

    @property
    def name(self) -> str:
        """What stands behind it."""
        return self.text.partition("/")[2] if "/" in self.text else self.text


def _keys(seen: ProbeSession) -> Iterator[_Key]:
    """Each key once: what repeats says nothing new."""
    known: set[str] = set()
    for heard in messages(seen):
        for text, value in _find(heard.message):
            if text not in known:
                known.add(text)
                yield _Key(text, value, heard)


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
def prefixes_are_dotted_labels(seen: ProbeSession) -> Iterator[Note]:
    """com.example/: labels begin with a letter and end with a letter or digit."""
    for key in _keys(seen):
        if key.prefix is None:
            continue
        if _PREFIX.fullmatch(key.prefix):
            yield kept(key.heard)
        else:
            yield broken(key.heard, f"the key {key.text!r}: {key.prefix!r} is no series of labels")


@rule("base.meta.key-name-grammar")
def names_begin_and_end_with_letters_or_digits(seen: ProbeSession) -> Iterator[Note]:
    """In between may be hyphens, underscores and dots as well."""
    for key in _keys(seen):
        if key.name == "" or _NAME.fullmatch(key.name):
            yield kept(key.heard)
        else:
            text = "it must begin and end with a letter or digit, with - _ . in between"
            yield broken(key.heard, f"the key {key.text!r}: {text}")


# base.meta.reserved-prefix (2025-11-25 basic/index): the second label decides; before, it was
# any label that another one follows.
@rule("base.meta.reserved-prefix")
def reserved_prefixes_hold_known_keys(seen: ProbeSession) -> Iterator[Note]:
    """A server does not make up keys of its own there."""
    for key in _keys(seen):
        if key.prefix is None or not _is_reserved(key.prefix.lower().split("."), seen):
            continue
        if key.text in _KNOWN:
            yield kept(key.heard)
        elif f"{key.prefix}/" == keys.PREFIX:
            yield unsettled(key.heard, f"{key.text!r} is reserved; it may be an extension's")
        else:
            yield broken(key.heard, f"the key {key.text!r} has a prefix that MCP keeps for itself")


def _is_reserved(labels: list[str], seen: ProbeSession) -> bool:
    if seen.revision.second_label_reserves:
        return len(labels) > 1 and labels[1] in _OURS
    return any(label in _OURS for label in labels[:-1]) or f"{'.'.join(labels)}/" == keys.PREFIX


@rule("base.meta.reverse-dns")
def prefixes_are_reverse_dns(seen: ProbeSession) -> Iterator[Note]:
    """com.example rather than example.com, as far as that can be told."""
    for key in _keys(seen):
        labels = (key.prefix or "").lower().split(".")
        if len(labels) < 2:
            continue
        if labels[-1] in _TLDS and labels[0] not in _TLDS:
            yield broken(key.heard, f"the key {key.text!r} reads like a domain; reversed was due")
        else:
            yield kept(key.heard)


@rule("base.meta.trace-context")
def traces_have_the_format_of_the_w3c(seen: ProbeSession) -> Iterator[Note]:
    """traceparent, tracestate and baggage."""
    for heard in messages(seen):
        for name, value in _find(heard.message):
            if name not in _TRACES:
                continue
            if isinstance(value, str) and _TRACES[name].fullmatch(value):
                yield kept(heard)
            else:
                yield broken(heard, f"{name} is {value!r:.80}; the format of the W3C was due")


@rule("base.meta.no-assumptions", reads=("meta-keys",))
def unknown_keys_change_nothing(seen: ProbeSession) -> Iterator[Note]:
    """A list is the same with a vendor's key in `_meta`."""
    asked = {exchange.tag: exchange for exchange in seen.tagged("meta-keys")}
    plain, keyed = asked.get("meta-keys/again"), asked.get("meta-keys/vendor-key")
    if plain is None or keyed is None or plain.result is None:
        return
    if keyed.result is None:
        yield broken(keyed, f"{keyed.method} with an unknown key in _meta got {keyed.describe()}")
    elif as_json(keyed.result) == as_json(plain.result):
        yield kept(keyed)
    elif changes_by_itself(seen, plain):
        yield unsettled(keyed, f"{keyed.method} differs, but it does so without the key as well")
    else:
        yield broken(keyed, f"{keyed.method} differs with an unknown key in _meta")
