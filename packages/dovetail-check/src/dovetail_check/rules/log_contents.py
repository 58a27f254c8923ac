"""server/utilities/logging: what must not stand in log messages, as far as patterns show it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from dovetail.wire import codec
from dovetail_check.exchanges import Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_PROBES = ("set-levels", "log-levels")

# Things with a form of their own: what looks like one is one.
_SECRETS = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "an AWS access key": r"\bAKIA[0-9A-Z]{16}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}\b",
    "a Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a JSON Web Token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    "a bearer token": r"\b[Bb]earer [A-Za-z0-9._~+/-]{16,}=*",
    "a password": r"(?i)\bpass(?:word|wd)[\"']?\s*[=:]\s*[\"']?[^\s\"'*<>{}]{6,}",
}
# What the checker itself sends as samples is nobody's data.
_PERSONAL = {
    "an e-mail address": r"\b[A-Za-z0-9._%+-]+@(?!example\.)[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b",
    "an IBAN": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b",
    "a social security number": r"\b\d{3}-\d{2}-\d{4}\b",
}
_INTERNAL = {
    "a Python stack trace": r"Traceback \(most recent call last\)",
    "a Java or JavaScript stack trace": r"\n\s+at [\w.$<>]+ ?\(",
    "a path of the machine": r"(?<![\w/.])/(?:home|root|Users|usr|var|opt|etc)/[\w.-]+/[\w./-]+",
    "a path of a Windows machine": r"\b[A-Z]:\\\\?(?:Users|Windows|Program Files)\\",
}


def _messages(seen: ProbeSession) -> list[tuple[Heard, str]]:
    found = seen.notifications("notifications/message")
    return [(heard, _text(heard)) for heard in found]


def _text(heard: Heard) -> str:
    data = heard.params.get("data")
    whole = data if isinstance(data, str) else codec.encode(data).decode("utf-8", "replace")
    return f"{heard.params.get('logger') or ''}\n{whole}"


def _find(text: str, patterns: dict[str, str]) -> str | None:
    return next((what for what, pattern in patterns.items() if re.search(pattern, text)), None)


def _judge_secrets(seen: ProbeSession) -> Iterator[Note]:
    for heard, text in _messages(seen):
        what = _find(text, _SECRETS)
        if what is not None:
            yield broken(heard, f"a log message holds what looks like {what}")
        else:
            yield kept(heard)


@rule("logging.remove-sensitive", reads=_PROBES)
def sensitive_data_is_removed(seen: ProbeSession) -> Iterator[Note]:
    """No message has the form of a secret."""
    yield from _judge_secrets(seen)


@rule("logging.no-secrets", reads=_PROBES)
def secrets_are_not_logged(seen: ProbeSession) -> Iterator[Note]:
    """No message has the form of a secret."""
    yield from _judge_secrets(seen)


def _judge_doubtful(seen: ProbeSession, patterns: dict[str, str], doubt: str) -> Iterator[Note]:
    for heard, text in _messages(seen):
        what = _find(text, patterns)
        if what is not None:
            yield unsettled(heard, f"a log message holds what looks like {what}: {doubt}")
        else:
            yield kept(heard)


@rule("logging.no-pii", reads=_PROBES)
def persons_are_not_logged(seen: ProbeSession) -> Iterator[Note]:
    """What looks like data of a person; a pattern cannot tell whose."""
    yield from _judge_doubtful(seen, _PERSONAL, "not allowed if it is of a real person")


@rule("logging.no-internals", reads=_PROBES)
def internals_are_not_logged(seen: ProbeSession) -> Iterator[Note]:
    """Stack traces and paths; a pattern cannot tell whether they help anybody."""
    yield from _judge_doubtful(seen, _INTERNAL, "not allowed if it helps an attacker")


@rule("logging.logger-name", reads=_PROBES)
def logger_names_are_consistent(seen: ProbeSession) -> Iterator[Note]:
    """No two names that differ in case or in their separators only."""
    spellings: dict[str, dict[str, Heard]] = defaultdict(dict)
    for heard in seen.notifications("notifications/message"):
        name = heard.params.get("logger")
        if isinstance(name, str):
            spellings[re.sub(r"[^a-z0-9]", "", name.lower())].setdefault(name, heard)
    for names in spellings.values():
        heard = next(iter(names.values()))
        if len(names) > 1:
            yield broken(heard, f"one logger has several names: {', '.join(sorted(names)[:5])}")
        else:
            yield kept(heard, f"logger {next(iter(names))!r:.60}")
