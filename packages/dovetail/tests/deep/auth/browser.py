"""A user with a browser, for the consent page: opens it, reads it, agrees."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
from mcp.shared.auth import AuthorizationCodeResult

from tests.patience import CAP

_INPUT = re.compile(r"<input[^>]*>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


class Browser:
    """Logged in as `user` at the authorization server; agrees to everything it is asked."""

    def __init__(self, user: str) -> None:
        self._user = user
        self.visited: list[dict[str, list[str]]] = []
        # Where the page redirected to.
        self.location = ""

    async def visit(self, url: str) -> None:
        self.visited.append(parse_qs(urlsplit(url).query))
        async with httpx.AsyncClient(headers={"remote-user": self._user}, timeout=CAP) as client:
            page = await client.get(url)
            assert page.status_code == 200, page.text
            form = {"allow": "Authorize"}
            for tag in _INPUT.findall(page.text):
                attributes = dict(_ATTRIBUTE.findall(tag))
                if attributes.get("type") == "hidden":
                    form[attributes["name"]] = html.unescape(attributes.get("value", ""))
            answer = await client.post(urljoin(url, urlsplit(url).path), data=form)
        assert answer.status_code == 302, answer.text
        self.location = answer.headers["location"]

    async def come_back(self) -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(self.location).query)
        iss = query.get("iss", [None])[0]
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0], iss=iss)
