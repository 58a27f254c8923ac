"""What the console shows: the servers, and how each of them is reached."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dovetail.runtime.auth_backend import AuthBackend
from dovetail.spec.models import Implementation

if TYPE_CHECKING:
    from dovetail.client.auth import TokenStore
    from dovetail_console.traffic import Traffic

__all__ = ["ConsoleMode", "ConsoleServer", "ConsoleSite", "SignInPlace"]

ConsoleMode: TypeAlias = Literal["server", "target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPlace:
    """Where the page signs in for a target that is not served here, and where the login is kept."""

    url: str
    store: TokenStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleServer:
    """One server on the page."""

    name: str
    info: Implementation
    # The path of its endpoint below the mount point of the application.
    path: str
    auth: AuthBackend | None = None
    # Revision -> path, if each revision has an endpoint of its own (a proxy for a target).
    endpoints: Mapping[str, str] = field(default_factory=dict)
    # The file that has the server, as on the command line.
    file: str | None = None
    # The command that starts it on stdio, for clients that start servers.
    command: Sequence[str] = ()
    # For a target that is not served here: its URL, or empty if it has none.
    url: str | None = None
    # What to pass to `dovetail call`, and the words for `dovetail check`; empty: the URL.
    target: str = ""
    check_words: Sequence[str] = ()
    sign_in: SignInPlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSite:
    """All servers of one address, and the settings of the console."""

    servers: Sequence[ConsoleServer]
    mode: ConsoleMode = "server"
    # As those of `server.http_app()`.
    allowed_hosts: Collection[str] | None = None
    allowed_origins: Collection[str] = ()
    traffic: Traffic | None = None
    # Several processes answer at this address, so a request may not come back to this one.
    is_shared: bool = False
    # Sent with every request to the API. Another site cannot read it.
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    # Tells a process from the one before it, which may have had the same token.
    process: str = field(default_factory=lambda: secrets.token_hex(8))

    def find(self, name: object) -> ConsoleServer | None:
        """The server of this name."""
        return next((server for server in self.servers if server.name == name), None)
