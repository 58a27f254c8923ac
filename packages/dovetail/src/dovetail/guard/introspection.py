"""Access tokens that only the issuer can read (RFC 7662)."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from dovetail.errors import RateLimitError, UsageError
from dovetail.guard.fetching import check_url, fetch_json
from dovetail.guard.issuer import find_endpoint
from dovetail.guard.rates import Bucket, Rate

__all__ = ["Introspection"]


class Introspection:
    """How to ask the issuer about a token.

    `url` is found by discovery unless it is given. `rate` bounds how often strangers can make the
    server ask.
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
            raise UsageError("introspection needs the id and the secret of a client of the issuer")
        self.url = None if url is None else check_url(url, "url of introspection")
        pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        self._headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        self._bucket = Bucket(rate or Rate(50))

    def __repr__(self) -> str:
        return f"Introspection(url={self.url!r})"

    async def ask(self, token: str, issuer: str) -> dict[str, Any] | None:
        """What the issuer says of a token; None: it is not good.

        Raises TransportError, and RateLimitError where it has been asked too often.
        """
        wait = self._bucket.wait()
        if wait:
            raise RateLimitError("Too many tokens that are not known", wait)
        self._bucket.take()
        if self.url is None:
            self.url = await find_endpoint(issuer, "introspection_endpoint")
        form = {"token": token, "token_type_hint": "access_token"}
        answer = await fetch_json(self.url, form, self._headers)
        return answer if answer.get("active") is True else None
