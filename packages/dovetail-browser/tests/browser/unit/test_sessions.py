"""Assignment of calls to sessions, without a browser."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from dovetail import Context, ToolError
from dovetail.auth import Principal
from dovetail_browser.drivers import Drivers
from dovetail_browser.saved_files import SavedFiles
from dovetail_browser.sessions import SessionLimits, Sessions


class Calling:
    """A call as far as sessions look at it: who calls, and what came with it."""

    def __init__(self, scope: Any = None, principal: str | None = None) -> None:
        self.scope = scope
        self.principal = None if principal is None else Principal(principal)

    async def once(self, _key: str, function: Callable[[], Any], _type: type | None = None) -> Any:
        return await function()


def posted(session: bytes | None = None, method: str = "POST") -> dict[str, Any]:
    headers = [(b"accept", b"*/*")]
    if session is not None:
        headers.append((b"mcp-session-id", session))
    return {"type": "http", "method": method, "headers": headers}


def make(most: int = 4, idle: float = 900.0) -> Sessions:
    limits = SessionLimits(most, idle)
    return Sessions(Drivers(), SavedFiles(Path()), limits, lambda: None)


async def handle_of(sessions: Sessions, call: Calling, handle: str | None = None) -> str:
    ctx = cast(Context, call)
    async with sessions.using(ctx, handle, may_create=True) as session:
        return session.handle


def test_a_process_has_one_session() -> None:
    async def run() -> None:
        sessions = make()
        assert await handle_of(sessions, Calling()) == await handle_of(sessions, Calling())
        assert await handle_of(sessions, Calling()) != await handle_of(sessions, Calling(), "new")

    asyncio.run(run())


def test_a_session_of_the_transport_is_one_for_each_caller() -> None:
    async def run() -> None:
        sessions = make()
        one = await handle_of(sessions, Calling(posted(b"abc"), "ada"))
        assert await handle_of(sessions, Calling(posted(b"abc"), "ada")) == one
        assert await handle_of(sessions, Calling(posted(b"xyz"), "ada")) != one
        # The same id of another caller is another session.
        assert await handle_of(sessions, Calling(posted(b"abc"), "bob")) != one

    asyncio.run(run())


def test_a_connection_of_the_old_transport_is_a_session() -> None:
    async def run() -> None:
        sessions = make()
        stream, other = posted(method="GET"), posted(method="GET")
        one = await handle_of(sessions, Calling(stream))
        assert await handle_of(sessions, Calling(stream)) == one
        assert await handle_of(sessions, Calling(other)) != one

    asyncio.run(run())


@pytest.mark.parametrize("scope", [posted(), object(), {"ip": "203.0.113.9"}])
def test_other_clients_pass_the_session(scope: Any) -> None:
    async def run() -> None:
        sessions = make()
        ctx = cast(Context, Calling(scope))
        with pytest.raises(ToolError, match="which browser session"):
            async with sessions.using(ctx, None):
                pass
        one = await handle_of(sessions, Calling(scope))
        assert await handle_of(sessions, Calling(scope)) != one
        assert await handle_of(sessions, Calling(scope), one) == one
        assert sessions.peek(ctx, None) is None

    asyncio.run(run())


def test_another_callers_session_is_not_found() -> None:
    async def run() -> None:
        sessions = make()
        hers = await handle_of(sessions, Calling(posted(), "ada"))
        with pytest.raises(ToolError, match="There is no session"):
            await handle_of(sessions, Calling(posted(), "bob"), hers)
        with pytest.raises(ToolError, match="There is no session"):
            sessions.peek(cast(Context, Calling(posted())), hers)

    asyncio.run(run())


def test_the_least_recently_used_session_makes_room_but_not_a_busy_one() -> None:
    async def run() -> None:
        sessions = make(most=2)
        first = await handle_of(sessions, Calling(posted()))
        second = await handle_of(sessions, Calling(posted()))
        await handle_of(sessions, Calling(posted()), first)
        await handle_of(sessions, Calling(posted()))
        assert len(sessions) == 2
        with pytest.raises(ToolError, match="to make room"):
            await handle_of(sessions, Calling(posted()), second)
        ctx = cast(Context, Calling(posted()))
        async with (
            sessions.using(ctx, "new", may_create=True),
            sessions.using(ctx, "new", may_create=True),
        ):
            with pytest.raises(ToolError, match="are busy"):
                await handle_of(sessions, Calling(posted()))

    asyncio.run(run())


def test_idle_sessions_are_closed_and_busy_ones_are_not() -> None:
    async def run() -> None:
        sessions = make(idle=0.0)
        await handle_of(sessions, Calling(posted()))
        ctx = cast(Context, Calling(posted()))
        async with sessions.using(ctx, None, may_create=True) as busy:
            await sessions.close_idle()
            assert len(sessions) == 1 and sessions.peek(ctx, busy.handle) is busy
        await sessions.close()
        assert len(sessions) == 0

    asyncio.run(run())


def test_a_client_learns_that_its_session_was_closed_for_idleness() -> None:
    async def run() -> None:
        sessions = make(idle=0.0)
        await handle_of(sessions, Calling())
        await sessions.close_idle()
        async with sessions.using(cast(Context, Calling()), None) as again:
            with pytest.raises(ToolError, match=r"No tab is open\. Its tabs were closed because"):
                again.tabs.find(None, None)
            with pytest.raises(ToolError, match=r"was idle\. There is no tab 't1'"):
                again.tabs.find("t1", None)

    asyncio.run(run())


def test_the_client_with_the_most_sessions_makes_room() -> None:
    async def run() -> None:
        sessions = make(most=4)
        ada, bob, eve = (Calling(posted(), name) for name in ("ada", "bob", "eve"))
        his = await handle_of(sessions, bob)
        for _ in range(6):
            await handle_of(sessions, ada)
        assert await handle_of(sessions, bob, his) == his
        hers = await handle_of(sessions, eve)
        await handle_of(sessions, ada)
        assert await handle_of(sessions, bob, his) == his
        assert await handle_of(sessions, eve, hers) == hers
        assert len(sessions) == 4

    asyncio.run(run())


def test_busy_sessions_of_one_client_leave_room_for_others() -> None:
    async def run() -> None:
        sessions = make(most=4)
        ada, bob = (Calling(posted(), name) for name in ("ada", "bob"))
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(3):
                busy = sessions.using(cast(Context, ada), "new", may_create=True)
                await stack.enter_async_context(busy)
            with pytest.raises(ToolError, match="3 sessions are busy"):
                await handle_of(sessions, ada)
            assert await handle_of(sessions, bob)

    asyncio.run(run())


def test_anonymous_clients_are_told_apart_by_address() -> None:
    async def run() -> None:
        sessions = make(most=4)
        one, other = ({**posted(), "client": (f"203.0.113.{n}", 5)} for n in (1, 2))
        first = await handle_of(sessions, Calling(one))
        for _ in range(6):
            await handle_of(sessions, Calling(other))
        assert await handle_of(sessions, Calling(one), first) == first

    asyncio.run(run())
