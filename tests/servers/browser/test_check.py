"""Our own checker finds nothing wrong with the server, on stdio and over HTTP."""

from __future__ import annotations

import asyncio

import pytest

from tests.servers.browser.driving import command
from tests.servers.graph.test_check import check
from tests.servers.vault.driving import serving_http


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_the_checker_finds_nothing_on_stdio() -> None:
    code, said = asyncio.run(check("--", *command("--enable-scripts")))
    assert code == 0 and "0 failed, 0 warnings" in said, said


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_the_checker_finds_nothing_over_http() -> None:
    async def run() -> tuple[int | None, str]:
        async with serving_http(command("--enable-scripts", "--http", "0")) as [url]:
            return await check(url)

    code, said = asyncio.run(run())
    assert code == 0 and "0 failed, 0 warnings" in said, said
