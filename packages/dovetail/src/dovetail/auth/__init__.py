"""Authentication, permissions and rate limits."""

from dovetail.auth.api_keys import ApiKeys
from dovetail.auth.bearer_tokens import BearerTokens
from dovetail.auth.credentials import Authenticator, Credentials, Rejected
from dovetail.auth.guard import Guard
from dovetail.auth.introspection import Introspection
from dovetail.auth.key_file import KeyFile
from dovetail.auth.limits import Limits
from dovetail.auth.oauth import OAuth
from dovetail.core.principal import Principal
from dovetail.runtime.rates import Rate

__all__ = [
    "ApiKeys",
    "Authenticator",
    "BearerTokens",
    "Credentials",
    "Guard",
    "Introspection",
    "KeyFile",
    "Limits",
    "OAuth",
    "Principal",
    "Rate",
    "Rejected",
]
