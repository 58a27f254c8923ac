"""OAuth for clients: `Client(url, auth=OAuth())`.

`login`, `logout` and `find_login` are for programs that separate the login from the use;
`trace_requests` shows the requests of a login.
"""

from __future__ import annotations

from dovetail.client.auth.grants import (
    AuthorizationCode,
    ClientCredentials,
    DeviceCode,
    DevicePrompt,
    EnterpriseManaged,
    Grant,
    WorkloadIdentity,
)
from dovetail.client.auth.oauth import (
    Login,
    OAuth,
    find_login,
    find_token,
    list_logins,
    login,
    logout,
)
from dovetail.client.auth.storage import FileStore, MemoryStore, TokenStore, default_store
from dovetail.client.auth.token_endpoint import ClientKey
from dovetail.client.auth.user_agent import LoopbackBrowser, Redirect, UserAgent
from dovetail.client.http_auth import Auth
from dovetail.errors import (
    AuthorizationError,
    LoginRequiredError,
    TokenRefusedError,
)
from dovetail.oauth.fetch import AuthTrace, trace_requests

__all__ = [
    "Auth",
    "AuthTrace",
    "AuthorizationCode",
    "AuthorizationError",
    "ClientCredentials",
    "ClientKey",
    "DeviceCode",
    "DevicePrompt",
    "EnterpriseManaged",
    "FileStore",
    "Grant",
    "Login",
    "LoginRequiredError",
    "LoopbackBrowser",
    "MemoryStore",
    "OAuth",
    "Redirect",
    "TokenRefusedError",
    "TokenStore",
    "UserAgent",
    "WorkloadIdentity",
    "default_store",
    "find_login",
    "find_token",
    "list_logins",
    "login",
    "logout",
    "trace_requests",
]
