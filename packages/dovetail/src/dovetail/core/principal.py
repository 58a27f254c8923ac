"""`Principal`: the authenticated caller. `permission` decides what it may do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from dovetail.errors import UsageError

__all__ = ["Principal", "owner_of", "to_principal"]

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
