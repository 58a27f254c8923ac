"""The guard options of `dovetail run` and `dovetail serve`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.guard import Authenticator, Guard

__all__ = ["GuardOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardOptions:
    """Authentication, rate limit and audit log options of the command line."""

    keys: str | None = None
    key_header: str | None = None
    issuer: str | None = None
    resource: str | None = None
    read_only: bool = False
    rate: str | None = None
    audit: str | None = None

    def __post_init__(self) -> None:
        if self.key_header is not None and self.keys is None:
            raise UsageError("--key-header requires --keys")
        if (self.issuer is None) != (self.resource is None):
            raise UsageError("--issuer and --resource must be used together")

    @property
    def names(self) -> list[str]:
        """The options that are set, as on the command line."""
        return [argument.partition("=")[0] for argument in self.to_arguments()]

    def to_arguments(self) -> Sequence[str]:
        """These options as command line arguments for a worker."""
        arguments = []
        for option in fields(self):
            value = getattr(self, option.name)
            name = f"--{option.name.replace('_', '-')}"
            if value is True:
                arguments.append(name)
            elif value:
                arguments.append(f"{name}={value}")
        return arguments

    def build(self) -> Guard | None:
        """Build the guard; None if no option is set. Raises UsageError."""
        if self == GuardOptions():
            return None
        # A server without a guard does not import it.
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
