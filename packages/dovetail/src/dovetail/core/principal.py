"""Who calls, as far as somebody has verified it. What that allows is in `permission`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from dovetail.errors import UsageError

__all__ = ["Principal", "owner_of", "to_principal"]

_NO_CLAIMS: Mapping[str, Any] = MappingProxyType({})


class Principal:
    """A caller: an id that no other caller has, the scopes it was given, what else is known."""

    __slots__ = ("claims", "id", "scopes", "trusted")

    def __init__(
        self,
        id: str,
        scopes: Iterable[str] = (),
        claims: Mapping[str, Any] | None = None,
        *,
        trusted: bool = False,
    ) -> None:
        """`trusted`: may use everything, whatever its scopes; for whoever runs the server."""
        if not id:
            raise UsageError(f"a principal needs an id, a text that is not empty, got {id!r}")
        if isinstance(scopes, str):
            raise UsageError(f"scopes are several texts, not one: {{{scopes!r}}}")
        self.id = id
        self.scopes = frozenset(scopes)
        self.claims = _NO_CLAIMS if not claims else MappingProxyType(dict(claims))
        self.trusted = trusted

    def __repr__(self) -> str:
        # Claims may hold what is nobody's business: names, addresses.
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
    """What sessions, tasks and sealed states are bound to: not to scopes, which may grow."""
    return None if principal is None else principal.id


def to_principal(given: Principal | str | None) -> Principal | None:
    """A principal from what an embedder gives: an id alone has no scopes."""
    return Principal(given) if isinstance(given, str) else given
