"""Authentication, permissions and rate limits.

Most names are imported on first use: commands read `GuardSettings` whether or not there is a guard.
"""

import typing as _typing
from importlib import import_module as _import_module

from dovetail.auth.settings import GuardSettings
from dovetail.core.principal import Principal
from dovetail.runtime.rates import Rate

if _typing.TYPE_CHECKING:
    from dovetail.auth.api_keys import ApiKeys, BearerTokens, KeyFile
    from dovetail.auth.credentials import Authenticator, Credentials, Rejected
    from dovetail.auth.guard import Guard
    from dovetail.auth.limits import Limits
    from dovetail.auth.oauth import Introspection, OAuth

__all__ = [
    "ApiKeys",
    "Authenticator",
    "BearerTokens",
    "Credentials",
    "Guard",
    "GuardSettings",
    "Introspection",
    "KeyFile",
    "Limits",
    "OAuth",
    "Principal",
    "Rate",
    "Rejected",
]

_MODULES = {
    "ApiKeys": "api_keys",
    "Authenticator": "credentials",
    "BearerTokens": "api_keys",
    "Credentials": "credentials",
    "Guard": "guard",
    "Introspection": "oauth",
    "KeyFile": "api_keys",
    "Limits": "limits",
    "OAuth": "oauth",
    "Rejected": "credentials",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
