"""`GuardSettings`: a guard from plain values, such as options of a command line.

The metadata of its fields are the help texts of `dovetail run --help`. Importing this module does
not import guards, because most servers have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.auth.credentials import Authenticator
    from dovetail.auth.guard import Guard

__all__ = ["GuardSettings"]


# Parts of a guard that can be wrong by themselves; the audit log would be opened.
_INDEPENDENT = (("keys", "key_header"), ("issuer", "resource"), ("rate",))


def _setting(help: str, metavar: str) -> Any:
    return field(default=None, metadata={"help": help, "metavar": metavar})


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Authentication, rate limits and audit log, as in the options of `dovetail run`."""

    keys: str | None = _setting("Require an API key from this key file.", "FILE")
    key_header: str | None = _setting("Also accept API keys in this header.", "NAME")
    issuer: str | None = _setting("Accept access tokens of this OAuth issuer.", "URL")
    resource: str | None = _setting("Public URL of this server, the audience of tokens.", "URL")
    read_only: bool = field(
        default=False, metadata={"help": "Offer only tools that are annotated as read-only."}
    )
    rate: str | None = _setting("Limit calls per caller: 10/s, or 100/min burst 20.", "RATE")
    audit: str | None = _setting("Log each call as a JSON line; - logs to stderr.", "FILE")

    def build(self) -> Guard | None:
        """Return the guard, None if nothing is set; raises UsageError."""
        if self == GuardSettings():
            return None
        from dovetail.auth.api_keys import ApiKeys  # noqa: PLC0415 - only with a guard
        from dovetail.auth.guard import Guard  # noqa: PLC0415 - the same
        from dovetail.auth.limits import Limits  # noqa: PLC0415 - the same
        from dovetail.auth.oauth import OAuth  # noqa: PLC0415 - the same
        from dovetail.observability.logs import AuditLog  # noqa: PLC0415 - the same
        from dovetail.runtime.rates import Rate  # noqa: PLC0415 - the same

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

    def find_problems(self, path: str) -> Iterator[str]:
        """Yield options that need another one, and wrong values; `path` is where they are set."""
        if self.key_header is not None and self.keys is None:
            yield f"{path}.key_header: requires {path}.keys"
        if (self.issuer is None) != (self.resource is None):
            yield f"{path}: issuer and resource must be used together"
        for names in _INDEPENDENT:
            try:
                GuardSettings(**{name: getattr(self, name) for name in names}).build()
            except UsageError as error:
                yield f"{path}.{names[0]}: {error}"
