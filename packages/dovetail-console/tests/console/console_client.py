"""What the page does with the console's HTTP API, without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from tests.patience import CAP

__all__ = ["ConsoleClient"]

_TOKEN = re.compile(r'name="console-token" content="([^"]+)"')


class ConsoleClient:
    """A client of the API at one address; it reads the token from the page."""

    def __init__(self, base: str, headers: Mapping[str, str] | None = None) -> None:
        self.base = base
        self.http = httpx.Client(base_url=base, timeout=CAP, headers=headers)
        found = _TOKEN.search(self.http.get("/console/").text)
        assert found is not None
        self.token = found[1]
        self._headers = {"X-Console-Token": self.token}

    def get(self, name: str) -> httpx.Response:
        return self.http.get(f"/console/api/{name}", headers=self._headers)

    def post(self, name: str, body: Any) -> httpx.Response:
        return self.http.post(f"/console/api/{name}", json=body, headers=self._headers)

    def config(self) -> dict[str, Any]:
        response = self.get("config")
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def events(self, name: str, body: Any = None) -> Iterator[tuple[str, Any]]:
        """The events of a stream, until it ends or the caller stops reading."""
        method = "GET" if body is None else "POST"
        url = f"/console/api/{name}"
        with self.http.stream(method, url, json=body, headers=self._headers) as response:
            assert response.status_code == 200, response.read()
            event = ""
            for line in response.iter_lines():
                key, _, value = line.partition(": ")
                if key == "event":
                    event = value
                elif key == "data":
                    yield event, json.loads(value)

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> ConsoleClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
