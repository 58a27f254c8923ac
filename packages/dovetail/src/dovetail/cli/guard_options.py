"""The guard options of `dovetail run` and `dovetail serve`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.auth import Guard

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
        from dovetail.auth.settings import make_guard  # noqa: PLC0415 - see above

        return make_guard(**asdict(self))
