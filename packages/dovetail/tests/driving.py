"""Ready servers as processes of their own, and clients of them: what all their tests do alike."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from dovetail.client import CallResult, Client
from tests.patience import CAP


@contextlib.asynccontextmanager
async def serving_http(words: list[str], count: int = 1) -> AsyncIterator[list[str]]:
    """A server process over HTTP; the URLs it says it has."""
    process = await asyncio.create_subprocess_exec(
        *words, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(CAP):
            urls: list[str] = []
            while len(urls) < count:
                line = (await process.stderr.readline()).decode()
                assert line, "the server ended before it served"
                urls += re.findall(r"serving (http://\S+);", line)
        yield urls
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def good(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The data of a call that must succeed."""
    result = await client.call(tool, arguments)
    assert not result.is_error, result.text
    # Before there was structured content, the same JSON came as the first text.
    first = result.text.partition("\n")[0]
    data: dict[str, Any] = result.data if isinstance(result.data, dict) else json.loads(first)
    return data


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The words of a call that must fail."""
    result: CallResult = await client.call(tool, arguments)
    assert result.is_error, result.text
    return result.text


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds.

    Most conditions call a server. The pause leaves it time for what the condition waits for.
    """
    async with asyncio.timeout(CAP):
        while not await condition():
            await asyncio.sleep(0.02)


def use_over_stdio(words: Sequence[str], use: Callable[[ClientSession], Awaitable[None]]) -> None:
    """Let the official client use a server on stdio."""

    async def run() -> None:
        # The official client passes only a part of the environment, without the import path.
        server = StdioServerParameters(command=words[0], args=list(words[1:]), env=dict(os.environ))
        async with (
            asyncio.timeout(CAP),
            stdio_client(server) as (receive, send),
            ClientSession(receive, send) as session,
        ):
            await use(session)

    asyncio.run(run())


def use_over_http(words: list[str], use: Callable[[ClientSession], Awaitable[None]]) -> None:
    """Let the official client use a server over HTTP; the words say at which port."""

    async def run() -> None:
        async with (
            serving_http(words) as [url],
            asyncio.timeout(CAP),
            streamable_http_client(url) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await use(session)

    asyncio.run(run())


async def run_check(*target: str) -> str:
    """Check a server as `dovetail check --fail-on should` does; return the report."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dovetail", "check", "--fail-on", "should", *target),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(CAP):
        report, _ = await process.communicate()
    return report.decode()


def refused_command(folder: Path, *words: str) -> str:
    """What `dovetail serve` says of a command line that it must refuse."""

    async def run() -> tuple[int | None, str]:
        homes = ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dovetail", "serve", *words),
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", **{home: str(folder / "home") for home in homes}},
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(CAP):
            _, errors = await process.communicate()
        return process.returncode, errors.decode()

    code, errors = asyncio.run(run())
    assert code == 2, errors
    return errors
