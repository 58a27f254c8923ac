"""Introspection of opaque access tokens (RFC 7662)."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from dovetail.errors import RateLimitError, UsageError
from dovetail.oauth.discovery import find_endpoint
from dovetail.oauth.fetch import check_url, fetch_json
from dovetail.runtime.rates import Bucket, Rate

__all__ = ["Introspection"]


class Introspection:
    """Asks the issuer about opaque tokens.

    `url` is discovered if it is not given. `rate` limits the requests to the issuer, because anyone
    can send unknown tokens.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str,
        *,
        url: str | None = None,
        rate: Rate | None = None,
    ) -> None:
        if not client_id or not client_secret:
            raise UsageError(
                "Introspection needs the id and the secret of a client registered with the issuer"
            )
        self.url = None if url is None else check_url(url, "introspection url")
        pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        self._headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        self._bucket = Bucket(rate or Rate(50))

    def __repr__(self) -> str:
        return f"Introspection(url={self.url!r})"

    async def ask(self, token: str, issuer: str) -> dict[str, Any] | None:
        """The claims of a token, or None if it is not active.

        Raises TransportError, and RateLimitError if the rate is exceeded.
        """
        wait = self._bucket.wait()
        if wait:
            raise RateLimitError("Too many unknown tokens", wait)
        self._bucket.take()
        if self.url is None:
            self.url = await find_endpoint(issuer, "introspection_endpoint")
        form = {"token": token, "token_type_hint": "access_token"}
        answer = await fetch_json(self.url, form, self._headers)
        return answer if answer.get("active") is True else None
