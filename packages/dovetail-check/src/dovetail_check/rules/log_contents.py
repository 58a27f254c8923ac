"""server/utilities/logging: forbidden contents of log messages, found by pattern."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from dovetail.wire import codec
from dovetail_check.exchanges import Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_PROBES = ("set-levels", "log-levels")

# Formats that are unambiguous.
_SECRETS = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "an AWS access key": r"\bAKIA[0-9A-Z]{16}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}\b",
    "a Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a JSON Web Token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    "a bearer token": r"\b[Bb]earer [A-Za-z0-9._~+/-]{16,}=*",
    "a password": r"(?i)\bpass(?:word|wd)[\"']?\s*[=:]\s*[\"']?[^\s\"'*<>{}]{6,}",
}
# The sample values that the checker sends do not match.
_PERSONAL = {
    "an e-mail address": r"\b[A-Za-z0-9._%+-]+@(?!example\.)[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b",
    "an IBAN": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b",
    "a social security number": r"\b\d{3}-\d{2}-\d{4}\b",
}
_INTERNAL = {
    "a Python stack trace": r"Traceback \(most recent call last\)",
    "a Java or JavaScript stack trace": r"\n\s+at [\w.$<>]+ ?\(",
    "a local path": r"(?<![\w/.])/(?:home|root|Users|usr|var|opt|etc)/[\w.-]+/[\w./-]+",
    "a local Windows path": r"\b[A-Z]:\\\\?(?:Users|Windows|Program Files)\\",
}


def _messages(session: ProbeSession) -> list[tuple[Incoming, str]]:
    found = session.notifications("notifications/message")
    return [(incoming, _text(incoming)) for incoming in found]


def _text(incoming: Incoming) -> str:
    data = incoming.params.get("data")
    whole = data if isinstance(data, str) else codec.encode(data).decode("utf-8", "replace")
    return f"{incoming.params.get('logger') or ''}\n{whole}"


def _find(text: str, patterns: dict[str, str]) -> str | None:
    return next((what for what, pattern in patterns.items() if re.search(pattern, text)), None)


def _judge_secrets(session: ProbeSession) -> Iterator[Note]:
    for incoming, text in _messages(session):
        what = _find(text, _SECRETS)
        if what is not None:
            yield violated(incoming, f"a log message contains what looks like {what}")
        else:
            yield satisfied(incoming)


@rule("logging.remove-sensitive", reads=_PROBES)
def sensitive_data_is_removed(session: ProbeSession) -> Iterator[Note]:
    """No log message contains what looks like a secret."""
    yield from _judge_secrets(session)


@rule("logging.no-secrets", reads=_PROBES)
def secrets_are_not_logged(session: ProbeSession) -> Iterator[Note]:
    """No log message contains what looks like a secret."""
    yield from _judge_secrets(session)


def _judge_doubtful(session: ProbeSession, patterns: dict[str, str], doubt: str) -> Iterator[Note]:
    for incoming, text in _messages(session):
        what = _find(text, patterns)
        if what is not None:
            yield ambiguous(incoming, f"a log message contains what looks like {what}: {doubt}")
        else:
            yield satisfied(incoming)


@rule("logging.no-pii", reads=_PROBES)
def personal_data_is_not_logged(session: ProbeSession) -> Iterator[Note]:
    """Ambiguous for what looks like personal data: it may not belong to a real person."""
    yield from _judge_doubtful(session, _PERSONAL, "a violation if it belongs to a real person")


@rule("logging.no-internals", reads=_PROBES)
def internals_are_not_logged(session: ProbeSession) -> Iterator[Note]:
    """Ambiguous for stack traces and paths: they may not help an attacker."""
    yield from _judge_doubtful(session, _INTERNAL, "a violation if it helps an attacker")


@rule("logging.logger-name", reads=_PROBES)
def logger_names_are_consistent(session: ProbeSession) -> Iterator[Note]:
    """No two logger names differ only in case or separators."""
    spellings: dict[str, dict[str, Incoming]] = defaultdict(dict)
    for incoming in session.notifications("notifications/message"):
        name = incoming.params.get("logger")
        if isinstance(name, str):
            spellings[re.sub(r"[^a-z0-9]", "", name.lower())].setdefault(name, incoming)
    for names in spellings.values():
        incoming = next(iter(names.values()))
        if len(names) > 1:
            yield violated(
                incoming, f"one logger has several names: {', '.join(sorted(names)[:5])}"
            )
        else:
            yield satisfied(incoming, f"logger {next(iter(names))!r:.60}")
