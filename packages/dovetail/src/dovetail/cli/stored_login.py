"""The login of `dovetail login`, for commands that use a URL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dovetail.errors import UsageError
from dovetail.net.http_endpoint import parse_url

if TYPE_CHECKING:
    from dovetail.client.auth import OAuth

__all__ = ["make_auth", "read_login_headers"]


def make_auth(url: str) -> OAuth | None:
    """The authorization with the stored login; None if no token may be sent to this URL."""
    from dovetail.client.auth import OAuth  # noqa: PLC0415 - only URLs need it

    # Only `dovetail login` opens a browser: any other command may run in a script.
    auth = OAuth(interactive=False)
    try:
        auth.authorize(parse_url(url))
    except UsageError:
        # Tokens are not sent over plain HTTP; the server may work without one.
        return None
    return auth


def read_login_headers(url: str) -> dict[str, str]:
    """The headers of the stored login, renewed if it expires; empty if there is none."""
    auth = make_auth(url)
    if auth is None:
        return {}
    authorizer = auth.authorize(parse_url(url))

    async def read() -> dict[str, str]:
        try:
            return dict(await authorizer.headers("POST", url))
        finally:
            await authorizer.close()

    return asyncio.run(read())
