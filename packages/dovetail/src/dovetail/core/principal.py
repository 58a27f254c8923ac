"""`Principal`: the authenticated caller, and what it may use and see.

Entries that a caller may not use are hidden from it: they are not listed and not suggested, and
using one gives the same error as an unknown name. The exception are entries whose scopes the
caller can still request from its authorization server (`step_up`): those are listed, and using
one gives an error that names the missing scopes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dovetail.errors import InsufficientScopeError, UsageError

if TYPE_CHECKING:
    from dovetail.core.call import Call

__all__ = [
    "NO_REQUIREMENTS",
    "Permission",
    "Principal",
    "Requirements",
    "Restricted",
    "Visibility",
    "has_scopes",
    "may_use",
    "owner_of",
    "read_scopes",
    "to_principal",
    "visibility_of",
]

_NO_CLAIMS: Mapping[str, Any] = MappingProxyType({})


class Principal:
    """An authenticated caller: a unique id, its scopes and the claims about it."""

    __slots__ = ("claims", "id", "scopes", "trusted")

    def __init__(
        self,
        id: str,
        scopes: Iterable[str] = (),
        claims: Mapping[str, Any] | None = None,
        *,
        trusted: bool = False,
    ) -> None:
        """`trusted`: may use everything without scopes, for the operator of the server."""
        if not id:
            raise UsageError(f"a principal needs an id, a string that is not empty, got {id!r}")
        if isinstance(scopes, str):
            raise UsageError(f"scopes is a set of strings, {{{scopes!r}}} for one, got {scopes!r}")
        self.id: str = id
        self.scopes: frozenset[str] = frozenset(scopes)
        frozen = MappingProxyType(dict(claims)) if claims else _NO_CLAIMS
        self.claims: Mapping[str, Any] = frozen
        self.trusted: bool = trusted

    def __repr__(self) -> str:
        # Without the claims, which may contain names and addresses.
        return f"Principal({self.id!r}, scopes={sorted(self.scopes)})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Principal)
            and self.id == other.id
            and self.scopes == other.scopes
            and self.trusted == other.trusted
        )

    def __hash__(self) -> int:
        return hash(self.id)


def owner_of(principal: Principal | None) -> str | None:
    """Return the owner of sessions, tasks and sealed state: the id, since scopes may change."""
    return None if principal is None else principal.id


def to_principal(given: Principal | str | None) -> Principal | None:
    """Return the principal that an embedder passed; an id alone has no scopes."""
    return Principal(given) if isinstance(given, str) else given


class Requirements(NamedTuple):
    """What a caller needs to use an entry."""

    scopes: frozenset[str] = frozenset()
    # It may change something, so it is hidden if the guard is read-only.
    writes: bool = False
    # Its tags: servers may leave it out.
    tags: frozenset[str] = frozenset()


NO_REQUIREMENTS = Requirements()


class Permission(NamedTuple):
    """The settings of a guard that apply to all callers."""

    read_only: bool = False
    # Scopes that a caller can still request.
    step_up: frozenset[str] = frozenset()
    # Makes the WWW-Authenticate challenge for scopes, if the transport has one.
    challenge: Callable[[Collection[str]], str] | None = None


_NO_GUARD = Permission()


class Visibility(NamedTuple):
    """The part of a registry that one caller can see."""

    read_only: bool
    # None: all scopes.
    scopes: frozenset[str] | None

    def shows(self, requirements: Requirements) -> bool:
        """Whether the caller can see an entry with these requirements."""
        if self.read_only and requirements.writes:
            return False
        return self.scopes is None or requirements.scopes <= self.scopes


def may_use(call: Call, requirements: Requirements) -> bool:
    """Whether the caller may use an entry; False if the entry is hidden from it.

    Raises InsufficientScopeError if the caller can still request the missing scopes.
    """
    permission = call.services.permission or _NO_GUARD
    if permission.read_only and requirements.writes:
        return False
    if _holds(call.principal, requirements.scopes):
        return True
    held = call.principal.scopes if call.principal is not None else frozenset()
    if not requirements.scopes - held <= permission.step_up:
        return False
    # auth.scope.challenge-needed, auth.scope.single-challenge: all scopes of the operation
    challenge = (
        permission.challenge(requirements.scopes) if permission.challenge is not None else None
    )
    raise InsufficientScopeError(sorted(requirements.scopes), challenge=challenge)


def has_scopes(call: Call, requirements: Requirements) -> bool:
    """Whether the caller has every required scope; scopes it could still request do not count.

    For handlers that run without being named by the client, such as resource lists.
    """
    return _holds(call.principal, requirements.scopes)


def _holds(principal: Principal | None, scopes: frozenset[str]) -> bool:
    if principal is None:
        return not scopes
    return principal.trusted or scopes <= principal.scopes


class Restricted(Protocol):
    """A collection whose entries may have requirements."""

    @property
    def scopes(self) -> frozenset[str]:
        """All scopes that any entry requires."""

    @property
    def writes(self) -> bool:
        """Whether any entry may change something."""


def visibility_of(call: Call, entries: Restricted) -> Visibility | None:
    """Return what the caller can see of these entries, None for everything.

    Only scopes that some entry requires are included, so that callers with other scopes share
    cached pages.
    """
    permission = call.services.permission or _NO_GUARD
    principal = call.principal
    read_only = permission.read_only and entries.writes
    if not entries.scopes:
        return Visibility(True, None) if read_only else None
    if principal is not None and principal.trusted:
        return Visibility(read_only, None)
    held = principal.scopes if principal is not None else frozenset()
    return Visibility(read_only, entries.scopes & (held | permission.step_up))


def read_scopes(given: Iterable[str], where: str) -> frozenset[str]:
    """Return the scopes of a handler; raises UsageError for invalid ones (RFC 6749 section 3.3)."""
    if isinstance(given, str):
        raise UsageError(
            f"{where}: scopes is a set of strings, {{{given!r}}} for one, got {given!r}"
        )
    scopes = frozenset(given)
    for scope in scopes:
        if not scope or not _is_plain(scope):
            raise UsageError(
                f"{where}: a scope is printable ASCII without spaces, quotes and backslashes, "
                f"got {scope!r}"
            )
    return scopes


def _is_plain(scope: str) -> bool:
    return all("!" <= letter <= "~" and letter not in '"\\' for letter in scope)
