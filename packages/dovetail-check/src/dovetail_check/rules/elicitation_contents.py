"""client/elicitation, security: what forms request and what URLs contain, judged by their text.

Judging by names can be wrong, so only unambiguous names count as violations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import Question, questions_in
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import results_in
from dovetail_check.safety import is_loopback
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_ELICIT = "elicitation/create"
_ASKED = ("asking", "input-rounds")

# The end of the name of a field, with its words joined by underscores.
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|api_?key|access_?token|auth_?token|bearer_?token"
    r"|refresh_?token|client_?secret|secret_?key|private_?key|card_?number|credit_?card|cvv|cvc)$"
)
_SECRET_WORDS = re.compile(
    r"\b(?:password|passphrase|api[ -]key|access token|client secret|private key|"
    r"credit card|card number|cvv)\b",
    re.IGNORECASE,
)
# Query parameters whose value is a credential.
_CREDENTIALS = re.compile(
    r"^(?:password|passwd|pwd|access_token|api_?key|client_secret|bearer)$", re.I
)
_EMAIL = re.compile(r"[\w.+-]+(?:@|%40)[\w-]+\.[\w.]+")
_LINK = re.compile(r"\bhttps?://[^\s\"'<>]+", re.IGNORECASE)
# Token formats that are recognizable by their prefix.
_TOKENS = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|sk-[A-Za-z0-9_-]{32,}|xox[abprs]-[A-Za-z0-9-]{20,}"
    r"|AKIA[0-9A-Z]{16}|ya29\.[\w-]{20,})"
)


def _forms(session: ProbeSession) -> list[Question]:
    return [question for question in questions_in(session, _ELICIT) if question.is_form]


def _pages(session: ProbeSession) -> list[Question]:
    return [question for question in questions_in(session, _ELICIT) if question.is_url]


def _fields(question: Question) -> dict[str, dict[str, Any]]:
    schema = question.params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    found = fields if isinstance(fields, dict) else {}
    return {name: field for name, field in found.items() if isinstance(field, dict)}


# -- secrets ---------------------------------------------------------------------------------------


def _words_of(name: Any) -> str:
    """The name of a field, normalized: apiKey, API key and api-key become api_key."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name))
    return re.sub(r"[\s.-]+", "_", spaced).lower()


def _secret_field(question: Question) -> str | None:
    for name, field in _fields(question).items():
        is_secret = any(_SECRET_NAME.search(_words_of(one)) for one in (name, field.get("title")))
        # A boolean such as has_password is not a secret.
        if is_secret and field.get("type") in ("string", None) and "enum" not in field:
            return name
    return None


def _about_secrets(question: Question) -> str | None:
    texts = [question.params.get("message")]
    texts += [field.get("description") for field in _fields(question).values()]
    for text in texts:
        found = _SECRET_WORDS.search(text) if isinstance(text, str) else None
        if found:
            return found[0]
    return None


@rule("elicit.form.no-sensitive", reads=_ASKED)
def forms_do_not_ask_for_secrets(session: ProbeSession) -> Iterator[Note]:
    """No field for a password, key, token or card."""
    for question in _forms(session):
        name, word = _secret_field(question), _about_secrets(question)
        if name is not None:
            yield violated(question.where, f"a form asks for {name!r:.60}")
        elif word is not None:
            yield ambiguous(
                question.where,
                f"a form mentions {word!r}: a violation if it asks for one",
            )
        else:
            yield satisfied(question.where)


@rule("elicit.sensitive-by-url", reads=_ASKED)
def secrets_are_asked_for_by_url(session: ProbeSession) -> Iterator[Note]:
    """Secrets are requested in url mode, not with a form."""
    for question in _forms(session):
        name = _secret_field(question)
        if name is not None:
            yield violated(question.where, f"a form asks for {name!r:.60}; expected mode 'url'")
    for question in _pages(session):
        yield satisfied(question.where)


@rule("elicit.oauth.no-credentials-to-client", reads=("tool-calls", *_ASKED))
def no_credentials_reach_the_client(session: ProbeSession) -> Iterator[Note]:
    """No result contains what looks like a third-party token."""
    if not _pages(session):
        return
    for incoming, _ in results_in(session):
        found = _TOKENS.search(incoming.frame.text or "")
        if found:
            yield ambiguous(
                incoming,
                f"a result contains {found[0][:8]}..., which looks like a credential: a violation "
                "if it was obtained for the user",
            )
    for question in _pages(session):
        yield satisfied(question.where)


# -- URLs ------------------------------------------------------------------------------------------


def _split(url: Any) -> SplitResult | None:
    """The parts of a URL; None if it is not valid."""
    if not isinstance(url, str) or re.search(r"[\s<>\"{}|\\^`\x00-\x1f]", url):
        return None
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.scheme) and bool(parts.hostname or parts.path)
        is_web = parts.scheme.lower() in ("http", "https")
        # Reading an invalid port raises ValueError.
        return parts if is_whole and (parts.hostname or not is_web) and parts.port != 0 else None
    except ValueError:
        return None


@rule("elicit.url.valid", reads=_ASKED)
def the_url_is_valid(session: ProbeSession) -> Iterator[Note]:
    """It has a scheme and a host, and no spaces."""
    for question in _pages(session):
        url = question.params.get("url")
        if _split(url) is not None:
            yield satisfied(question.where)
        else:
            yield violated(question.where, f"the url is {url!r:.100}; expected a valid URL")


@rule("elicit.url.https", reads=_ASKED)
def the_url_is_https(session: ProbeSession) -> Iterator[Note]:
    """The URL is https, except on loopback during development."""
    for question in _pages(session):
        url = question.params.get("url")
        parts = _split(url)
        if parts is None:
            continue
        if parts.scheme.lower() == "https" or is_loopback(str(url)):
            yield satisfied(question.where)
        else:
            yield violated(question.where, f"the url is {url!r:.100}; expected https")


@rule("elicit.url.no-user-data", reads=_ASKED)
def the_url_has_no_user_data(session: ProbeSession) -> Iterator[Note]:
    """The URL contains no credentials and no email address."""
    for question in _pages(session):
        parts = _split(question.params.get("url"))
        if parts is None:
            continue
        key = next((k for k, v in parse_qsl(parts.query) if v and _CREDENTIALS.match(k)), None)
        email = _EMAIL.search(f"{parts.path}?{parts.query}")
        if parts.password or key is not None:
            what = "a password" if parts.password else f"the query parameter {key!r:.40}"
            yield violated(question.where, f"the url contains {what}")
        elif email:
            yield ambiguous(
                question.where,
                f"the url contains {email[0]!r:.60}: a violation if it is the user's address",
            )
        else:
            yield satisfied(question.where)


@rule("elicit.form.no-clickable", reads=_ASKED)
def forms_have_no_links(session: ProbeSession) -> Iterator[Note]:
    """The message and the field texts contain no URL, unless the format of the field is uri."""
    for question in _forms(session):
        link = next(filter(None, map(_LINK.search, _texts(question))), None)
        if link is None:
            yield satisfied(question.where)
        else:
            yield violated(question.where, f"a form shows the link {link[0]!r:.80}")


def _texts(question: Question) -> Iterator[str]:
    shown: list[Any] = [question.params.get("message")]
    for field in _fields(question).values():
        if field.get("format") != "uri":
            shown += [field.get(name) for name in ("title", "description", "default")]
            enum = field.get("enumNames")
            shown += enum if isinstance(enum, list) else []
    yield from (text for text in shown if isinstance(text, str))
