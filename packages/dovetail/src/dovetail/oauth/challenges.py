"""The header WWW-Authenticate (RFC 9110, section 11.6.1), written and read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["Challenge", "find_challenge", "make_challenge", "parse_challenges"]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_SCHEME = re.compile(rf"\s*({_TOKEN})(?=[ \t]|,|$)(?!\s*=)[ \t]*")
_PARAM = re.compile(rf'\s*({_TOKEN})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"=]+))[ \t]*')
# A credential in token68 form, which no scheme that is used here has.
_TOKEN68 = re.compile(r"\s*[A-Za-z0-9._~+/-]+=*(?=\s*(?:,|$))")
# Longer headers are cut off.
_MAX_LENGTH = 16_384


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge: the scheme in lower case, and its parameters."""

    scheme: str = ""
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def error(self) -> str:
        """The error code, such as `insufficient_scope`."""
        return self.params.get("error", "")

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the server asks for."""
        return tuple(dict.fromkeys(self.params.get("scope", "").split()))

    @property
    def resource_metadata(self) -> str | None:
        """The URL of the protected resource metadata (RFC 9728, section 5.1)."""
        return self.params.get("resource_metadata")


def parse_challenges(header: str) -> list[Challenge]:
    """The challenges of a header; what cannot be parsed is skipped."""
    found: list[Challenge] = []
    rest = header[:_MAX_LENGTH]
    while rest.strip(" \t,"):
        rest = rest.lstrip(" \t,")
        scheme = _SCHEME.match(rest)
        if scheme is None:
            break
        rest = rest[scheme.end() :]
        params, rest = _read_params(rest)
        found.append(Challenge(scheme[1].lower(), params))
    return found


def _read_params(rest: str) -> tuple[dict[str, str], str]:
    params: dict[str, str] = {}
    while match := _PARAM.match(rest):
        quoted, plain = match[2], match[3]
        text = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        params.setdefault(match[1].lower(), text)
        rest = rest[match.end() :]
        after = rest.lstrip(" \t,")
        if not _PARAM.match(after):
            break
        rest = after
    if not params and (credential := _TOKEN68.match(rest)):
        rest = rest[credential.end() :]
    return params, rest


def find_challenge(header: str, schemes: Sequence[str]) -> Challenge:
    """The first challenge of the first of these schemes that is there; else an empty one."""
    challenges = parse_challenges(header)
    for scheme in schemes:
        for challenge in challenges:
            if challenge.scheme == scheme:
                return challenge
    return Challenge()


def make_challenge(
    *,
    metadata: str | None = None,
    scopes: Collection[str] = (),
    error: str | None = None,
    description: str | None = None,
    schemes: Mapping[str, str | None] = MappingProxyType({"Bearer": None}),
) -> str:
    """The value of WWW-Authenticate (RFC 6750 section 3, RFC 9728 section 5.1).

    `schemes` maps each accepted scheme to the algorithms that it allows (RFC 9449 section 7.1).
    """
    named = {
        "error": error,
        "error_description": description,
        "scope": " ".join(sorted(scopes)) or None,
        "resource_metadata": metadata,
    }
    challenges = []
    for scheme, algorithms in schemes.items():
        params = {**named, "algs": algorithms}
        words = (f'{name}="{value}"' for name, value in params.items() if value is not None)
        challenges.append(f"{scheme} {', '.join(words)}".strip())
    return ", ".join(challenges)
