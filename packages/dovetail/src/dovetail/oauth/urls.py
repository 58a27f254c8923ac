"""Which URLs OAuth may use.

A server names the URLs of its authorization server, and that server names more. A hostile server
could name an address inside the user's network (server-side request forgery) or plain HTTP, so each
URL is checked before it is used: https unless it is on this machine, and no address that is less
public than that of the MCP server itself. The server decides what its name resolves to, so the
address that counts is the one that it answered from.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from dovetail.errors import AuthorizationError, UnreachableError, UsageError
from dovetail.net.addresses import AddressScope, is_loopback, resolve_addresses
from dovetail.net.http_endpoint import Endpoint, parse_url

__all__ = ["UrlPolicy", "check_url", "same_url", "within"]

_PORTS = {"http": 80, "https": 443}


def check_url(url: str, what: str) -> str:
    """A URL of the operator without a trailing slash; raises UsageError if it is not safe."""
    try:
        is_safe = _is_encrypted(parse_url(url)) and "#" not in url
    except UsageError:
        is_safe = False
    if not is_safe:
        raise UsageError(
            f"{what} must be an https URL without user and fragment (http only for localhost), "
            f"got {url!r}"
        )
    return url.rstrip("/")


class UrlPolicy:
    """Checks the URLs that lead from one MCP server to its authorization.

    Without a server, the operator has named the issuer, which may have any address.
    """

    def __init__(self, server: Endpoint | None = None) -> None:
        if server is not None and not _is_encrypted(server):
            # Tokens are never sent over plain HTTP, except to this machine.
            raise UsageError(
                f"OAuth needs an https URL (http only for localhost), got {server.origin}"
            )
        self._server = server
        # Where the server answered from, and the most public scope that is known of it.
        self._server_address: str | None = None
        self._server_scope: AddressScope | None = None
        # Origins that need no check of their address: the server itself, and what the user named.
        self._trusted = set() if server is None else {server.origin}

    @property
    def allows_any_address(self) -> bool:
        """Whether addresses are not checked, so that a proxy may choose them."""
        return self._server is None

    def trust(self, url: str, what: str) -> None:
        """Allow any address for a URL that the user named; raises AuthorizationError."""
        self._trusted.add(self.check(url, what).origin)

    def pin_server(self, address: str | None) -> None:
        """Take the address that the server has answered from as that of its name."""
        if address is not None:
            self._server_address = address
            self.note_server(address)

    def note_server(self, address: str) -> None:
        """Take an address that the server has answered from in an earlier program."""
        scope = AddressScope.of(address)
        self._server_scope = scope if self._server_scope is None else min(scope, self._server_scope)

    @property
    def server_address(self) -> str | None:
        """The address that the server has answered from."""
        return self._server_address

    def check(self, url: object, what: str) -> Endpoint:
        """The endpoint of a URL that another party named; raises AuthorizationError."""
        if not isinstance(url, str):
            raise AuthorizationError(f"{what} is not a URL; report this to the server's operator")
        try:
            endpoint = parse_url(url)
        except UsageError as error:
            raise AuthorizationError(f"{what} cannot be used: {error}") from None
        if "#" in url:
            raise AuthorizationError(f"{what} has a fragment: {endpoint}")
        if not _is_encrypted(endpoint):
            raise AuthorizationError(
                f"{what} is {endpoint}, which is not encrypted; it must be an https URL "
                "(http only for localhost)"
            )
        return endpoint

    async def find_address(self, endpoint: Endpoint) -> str:
        """An address of the endpoint to connect to; raises AuthorizationError.

        The check and the connection use the same address, so that a name that changes its
        address in between (DNS rebinding) gains nothing.
        """
        server = self._server
        if server is not None and endpoint.origin == server.origin and self._server_address:
            return self._server_address
        addresses = await _resolve(endpoint)
        if server is None or endpoint.origin in self._trusted:
            return addresses[0]
        if self._server_scope is None:
            # Nothing has been sent to the server yet.
            self._server_scope = min(map(AddressScope.of, await _resolve(server)))
        for address in addresses:
            if AddressScope.of(address) <= min(self._server_scope, AddressScope.LOOPBACK):
                return address
        raise AuthorizationError(
            f"{endpoint.origin} is on a private network ({addresses[0]}), and {server} "
            "is not; it was refused, because a server could reach into your network this way"
        )


def _is_encrypted(endpoint: Endpoint) -> bool:
    # auth.https (2025-11-25 basic/authorization): plain HTTP does not leave this machine
    return endpoint.is_secure or is_loopback(endpoint.host)


async def _resolve(endpoint: Endpoint) -> list[str]:
    try:
        return await resolve_addresses(endpoint)
    except UnreachableError as error:
        raise AuthorizationError(str(error)) from None


def _normalize(url: str) -> tuple[str, str | None, int | None, str]:
    parts = urlsplit(url)
    path = parts.path if parts.path != "/" else ""
    port = parts.port or _PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port, path + (f"?{parts.query}" if parts.query else "")


def same_url(one: str, other: str) -> bool:
    """Whether two URLs are equal apart from case of the host, default port and an empty path."""
    try:
        return _normalize(one) == _normalize(other)
    except ValueError:
        return False


def within(url: str, parents: Iterable[str]) -> bool:
    """Whether a URL is one of these URLs or below one of them."""
    scheme, host, port, path = _normalize(url)
    for parent in parents:
        try:
            other_scheme, other_host, other_port, other_path = _normalize(parent)
        except ValueError:
            continue
        if (scheme, host, port) != (other_scheme, other_host, other_port):
            continue
        if path == other_path or path.startswith(other_path.rstrip("/") + "/"):
            return True
    return False
