"""`make_guard`: a guard from plain settings, such as options of a command line."""

from __future__ import annotations

from typing import Any

from dovetail.auth.api_keys import ApiKeys
from dovetail.auth.credentials import Authenticator
from dovetail.auth.guard import Guard
from dovetail.auth.limits import Limits
from dovetail.auth.oauth import OAuth
from dovetail.observability.audit import AuditLog
from dovetail.runtime.rates import Rate

__all__ = ["make_guard"]


def make_guard(
    *,
    keys: str | None = None,
    key_header: str | None = None,
    issuer: str | None = None,
    resource: str | None = None,
    read_only: bool = False,
    rate: str | None = None,
    audit: str | None = None,
) -> Guard:
    """Return the guard; raises UsageError. `audit` is a file, or `-` for stderr."""
    authenticators: list[Authenticator] = []
    if keys is not None:
        authenticators.append(ApiKeys(keys, header=key_header))
    if issuer is not None and resource is not None:
        authenticators.append(OAuth(issuer, resource))
    chosen: dict[str, Any] = {}
    if rate is not None:
        chosen["limits"] = Limits(per_principal=Rate.parse(rate))
    if audit is not None:
        chosen["audit"] = AuditLog(None if audit == "-" else audit)
    return Guard(*authenticators, read_only=read_only, **chosen)
