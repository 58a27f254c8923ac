"""One browser for each client, so that a page that ends its browser affects only one client.

Each browser has its own Playwright driver process. A browser starts with its client's first page
and ends with the client's last session, so the session limit also limits the number of browsers.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from dovetail_browser.driver import Driver, DriverOptions

__all__ = ["Drivers"]


class Drivers:
    """The drivers of all clients, by client name.

    With `profile` or `connect`, the first client gets the context that keeps cookies. When that
    client has no sessions left, the next client gets it.
    """

    def __init__(self, options: DriverOptions | None = None) -> None:
        # Raises UsageError for wrong options before anything starts.
        self._first = Driver(options)
        self._first_client: str | None = None
        self._others: dict[str, Driver] = {}

    def of_client(self, client: str) -> Driver:
        """Return the driver of a client; its browser starts on first use."""
        if client in self._others:
            return self._others[client]
        if self._first_client in (None, client):
            self._first_client = client
            return self._first
        options = replace(self._first.options, profile=None)
        self._others[client] = Driver(options, keeps_cookies=False)
        return self._others[client]

    async def end(self, client: str) -> None:
        """End the browser of a client that has no sessions."""
        other = self._others.pop(client, None)
        if other is not None:
            await other.close()
        elif client == self._first_client:
            self._first_client = None
            await self._first.stop()

    async def check_url(self, url: str) -> str | None:
        """Return why this URL is refused, or None; the rules are the same for all clients."""
        return await self._first.check_url(url)

    @property
    def warning(self) -> str | None:
        """Return the limits of address checks in this mode, or None."""
        return self._first.warning

    async def close(self) -> None:
        """End all browsers."""
        drivers = (self._first, *self._others.values())
        await asyncio.gather(*(driver.close() for driver in drivers))
