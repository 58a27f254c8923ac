"""What a caller may use, and what it gets to see.

Something that a caller may not use does not exist for it: it is not listed, not suggested, and
answers as unknown. The one exception is what the caller may get the scopes for by asking its
authorization server again (`step_up`): that is listed, and using it says which scopes are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dovetail.core.principal import Principal
from dovetail.errors import InsufficientScopeError, UsageError

if TYPE_CHECKING:
    from dovetail.core.call import Call

__all__ = [
    "NOTHING",
    "Permission",
    "Requirements",
    "Restricted",
    "Visibility",
    "has_scopes",
    "may_use",
    "read_scopes",
    "visibility_of",
]


class Requirements(NamedTuple):
    """What using something takes."""

    scopes: frozenset[str] = frozenset()
    # It may change something, so it is not there where a server only reads.
    writes: bool = False


NOTHING = Requirements()


class Permission(NamedTuple):
    """What a guard says of all its callers."""

    read_only: bool = False
    # Scopes that a caller can get by asking for them.
    step_up: frozenset[str] = frozenset()
    # How to word the challenge that asks for scopes, where the transport has such a thing.
    challenge: Callable[[Collection[str]], str] | None = None


_NO_GUARD = Permission()


class Visibility(NamedTuple):
    """What one caller can see of a registry."""

    read_only: bool
    # None: every scope there is.
    scopes: frozenset[str] | None

    def shows(self, requirements: Requirements) -> bool:
        """Whether something with these needs exists for the caller."""
        if self.read_only and requirements.writes:
            return False
        return self.scopes is None or requirements.scopes <= self.scopes


def may_use(call: Call, requirements: Requirements) -> bool:
    """Whether the caller may use something; False where it does not exist for it.

    Raises InsufficientScopeError where the caller could get what is missing.
    """
    permission = call.services.permission or _NO_GUARD
    if permission.read_only and requirements.writes:
        return False
    if _holds(call.principal, requirements.scopes):
        return True
    held = call.principal.scopes if call.principal is not None else frozenset()
    if not requirements.scopes - held <= permission.step_up:
        return False
    # auth.scope.challenge-needed, auth.scope.single-challenge: all that the operation takes
    challenge = (
        permission.challenge(requirements.scopes) if permission.challenge is not None else None
    )
    raise InsufficientScopeError(sorted(requirements.scopes), challenge=challenge)


def has_scopes(call: Call, requirements: Requirements) -> bool:
    """Whether the caller has been given every scope that this takes; what it could get is not it.

    For what runs an author's function unasked: it must never run without its scopes.
    """
    return _holds(call.principal, requirements.scopes)


def _holds(principal: Principal | None, scopes: frozenset[str]) -> bool:
    if principal is None:
        return not scopes
    return principal.trusted or scopes <= principal.scopes


class Restricted(Protocol):
    """Things of which some may not be for everybody."""

    @property
    def scopes(self) -> frozenset[str]:
        """All scopes that any of them needs."""

    @property
    def writes(self) -> bool:
        """Whether any of them may change something."""


def visibility_of(call: Call, things: Restricted) -> Visibility | None:
    """What the caller sees of these things; None: everything.

    Only scopes that something needs are looked at, so callers that differ in others share what
    has been encoded for one of them.
    """
    permission = call.services.permission or _NO_GUARD
    principal = call.principal
    read_only = permission.read_only and things.writes
    if not things.scopes:
        return Visibility(True, None) if read_only else None
    if principal is not None and principal.trusted:
        return Visibility(read_only, None)
    held = principal.scopes if principal is not None else frozenset()
    return Visibility(read_only, things.scopes & (held | permission.step_up))


def read_scopes(given: Iterable[str], what: str) -> frozenset[str]:
    """The scopes an author names; raises UsageError for what can be none (RFC 6749 section 3.3)."""
    if isinstance(given, str):
        raise UsageError(f"{what}: scopes is a set of texts, {{{given!r}}} for one, got {given!r}")
    scopes = frozenset(given)
    for scope in scopes:
        if not scope or not _is_plain(scope):
            raise UsageError(
                f"{what}: a scope is printable ASCII without blanks, quotes and backslashes, "
                f"got {scope!r}"
            )
    return scopes


def _is_plain(scope: str) -> bool:
    return all("!" <= letter <= "~" and letter not in '"\\' for letter in scope)
