"""Assignment of browsers to clients, without a browser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dovetail import ToolError, UsageError
from dovetail_browser.driver import DriverOptions
from dovetail_browser.drivers import Drivers


def test_each_client_has_a_driver_and_the_first_one_has_the_profile(tmp_path: Path) -> None:
    async def run() -> None:
        drivers = Drivers(DriverOptions(profile=tmp_path, allow=("localhost",)))
        first, other = drivers.of_client("ada"), drivers.of_client("bob")
        assert drivers.of_client("ada") is first and drivers.of_client("bob") is other
        assert first.options.profile == tmp_path and other.options.profile is None
        assert other.options.allow == ("localhost",)
        # The next client gets the profile when the first has no sessions.
        await drivers.end("ada")
        assert drivers.of_client("eve") is first
        assert drivers.of_client("ada") is not first
        await drivers.end("bob")
        assert drivers.of_client("bob") is not other
        await drivers.end("unknown")
        await drivers.close()
        with pytest.raises(ToolError, match="shutting down"):
            await drivers.of_client("bob").browser()

    asyncio.run(run())


def test_urls_are_checked_without_a_client() -> None:
    async def run() -> None:
        drivers = Drivers()
        assert await drivers.check_url("http://10.0.0.1/") is not None
        assert drivers.warning is None
        await drivers.close()

    asyncio.run(run())
    assert Drivers(DriverOptions(connect="http://localhost:9222")).warning is not None
    with pytest.raises(UsageError):
        Drivers(DriverOptions(connect="localhost:9222"))
