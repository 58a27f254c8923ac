"""The guard that the options of `dovetail run` describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.guard import Authenticator, Guard

__all__ = ["GuardChoice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardChoice:
    """What the command line says about who may call, how often, and what is written down."""

    keys: str | None = None
    key_header: str | None = None
    issuer: str | None = None
    resource: str | None = None
    read_only: bool = False
    rate: str | None = None
    audit: str | None = None

    def __post_init__(self) -> None:
        if self.key_header is not None and self.keys is None:
            raise UsageError("--key-header: only together with --keys")
        if (self.issuer is None) != (self.resource is None):
            raise UsageError("--issuer and --resource come together")

    @property
    def asks_who(self) -> bool:
        """Whether callers have to show who they are."""
        return self.keys is not None or self.issuer is not None

    def words(self) -> Sequence[str]:
        """The same on the command line of a worker."""
        words = []
        for option in fields(self):
            value = getattr(self, option.name)
            name = f"--{option.name.replace('_', '-')}"
            if value is True:
                words.append(name)
            elif value:
                words.append(f"{name}={value}")
        return words

    def make(self) -> Guard | None:
        """The guard; None where nothing is chosen. Raises UsageError."""
        if self == GuardChoice():
            return None
        # Who serves without a guard does not load it.
        from dovetail.guard import (  # noqa: PLC0415 - see above
            ApiKeys,
            AuditLog,
            Guard,
            Limits,
            OAuth,
            Rate,
        )

        authenticators: list[Authenticator] = []
        if self.keys is not None:
            authenticators.append(ApiKeys(self.keys, header=self.key_header))
        if self.issuer is not None and self.resource is not None:
            authenticators.append(OAuth(self.issuer, self.resource))
        chosen: dict[str, Any] = {}
        if self.rate is not None:
            chosen["limits"] = Limits(per_principal=Rate.parse(self.rate))
        if self.audit is not None:
            chosen["audit"] = AuditLog(None if self.audit == "-" else self.audit)
        return Guard(*authenticators, read_only=self.read_only, **chosen)
