"""Runs scripts in a page's documents, isolated from the page's own scripts.

Playwright evaluates scripts in the page's main world, where a page may have replaced functions
like `getComputedStyle` to make hidden text look visible. An isolated world has the same document
and the browser's original functions. It is used through DevTools: one session for the page, and
one for each frame in a separate process. `mask_hidden` in `page_mask.py` uses Playwright's own
isolated world.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

__all__ = ["Documents", "World", "open_documents"]

_WORLD = "dovetail"
# DevTools messages for a document that no longer exists.
_GONE = (
    "Cannot find context",
    "Cannot find execution context",
    "No frame for given id",
    "Frame with",
)


@dataclass(frozen=True, slots=True)
class World:
    """A JavaScript world of a document."""

    session: CDPSession
    context: int
    frame: str


@dataclass(slots=True)
class Documents:
    """The documents of a page, by frame id."""

    main: str
    _sessions: dict[str, CDPSession] = field(default_factory=dict)
    _children: dict[str, list[str]] = field(default_factory=dict)

    @property
    def frames(self) -> list[str]:
        """All frames, the main frame first."""
        return list(self._sessions)

    def children_of(self, frame: str) -> list[str]:
        """Return the child frames of a document, in no particular order."""
        return self._children.get(frame, [])

    async def run(
        self, frame: str, function: str, given: dict[str, Any], owned: Sequence[str] = ()
    ) -> Any:
        """Call a function with a value and the owner elements of frames; return its result."""
        session = self._sessions[frame]
        world = await self._send(
            session, "Page.createIsolatedWorld", {"frameId": frame, "worldName": _WORLD}
        )
        context = world["executionContextId"]
        owners = [await self._owner(session, child, context) for child in owned]
        return await self._call(session, context, function, [{"value": given}, *owners])

    async def _call(
        self, session: CDPSession, context: int, function: str, arguments: list[dict[str, Any]]
    ) -> Any:
        answer = await self._send(
            session,
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": function,
                "executionContextId": context,
                "arguments": arguments,
                "returnByValue": True,
            },
        )
        if "exceptionDetails" in answer:
            raise _error(_describe(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def find_worlds(self, name: str) -> dict[str, World]:
        """Return the isolated worlds of other DevTools clients whose name begins like this."""
        found: dict[str, World] = {}
        for session in {id(one): one for one in self._sessions.values()}.values():

            def add(event: dict[str, Any], session: CDPSession = session) -> None:
                context = event["context"]
                if context["name"].startswith(name):
                    frame = context["auxData"]["frameId"]
                    found[context["uniqueId"]] = World(session, context["id"], frame)

            session.on("Runtime.executionContextCreated", add)
            try:
                # Reports all contexts before it returns.
                await session.send("Runtime.enable")
                await session.send("Runtime.disable")
            finally:
                session.remove_listener("Runtime.executionContextCreated", add)
        return found

    async def run_in(self, world: World, function: str, given: dict[str, Any]) -> Any:
        """Call a function with a value in a world; return its result."""
        return await self._call(world.session, world.context, function, [{"value": given}])

    async def _owner(self, session: CDPSession, frame: str, context: int) -> dict[str, Any]:
        """Return the owner element of a frame as an argument; null if it no longer exists."""
        from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not needed before

        try:
            owner = await session.send("DOM.getFrameOwner", {"frameId": frame})
            node = await session.send(
                "DOM.resolveNode",
                {"backendNodeId": owner["backendNodeId"], "executionContextId": context},
            )
        except Error:
            return {"value": None}
        return {"objectId": node["object"]["objectId"]}

    async def _send(self, session: CDPSession, method: str, given: dict[str, Any]) -> Any:
        from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not needed before

        try:
            return await session.send(method, given)
        except Error as error:
            if any(sign in error.message for sign in _GONE):
                raise _error("Execution context was destroyed: the document has gone") from None
            raise

    def add_tree(self, session: CDPSession, tree: dict[str, Any]) -> None:
        """Add a frame and its descendants that a session can access."""
        waiting = [tree]
        while waiting:
            branch = waiting.pop()
            frame = branch["frame"]
            self._sessions[frame["id"]] = session
            parent = frame.get("parentId")
            if parent is not None and frame["id"] not in self._children.get(parent, []):
                self._children.setdefault(parent, []).append(frame["id"])
            waiting += branch.get("childFrames", [])


@contextlib.asynccontextmanager
async def open_documents(page: Page, most_frames: int) -> AsyncIterator[Documents]:
    """Yield the documents of a page."""
    from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not needed before

    sessions = [await page.context.new_cdp_session(page)]
    try:
        tree = (await sessions[0].send("Page.getFrameTree"))["frameTree"]
        documents = Documents(tree["frame"]["id"])
        documents.add_tree(sessions[0], tree)
        # Frames in separate processes are not in the tree; find them by attaching to each frame.
        for frame in page.frames[1 : most_frames + 1]:
            with contextlib.suppress(Error):
                session = await page.context.new_cdp_session(frame)
                sessions.append(session)
                documents.add_tree(session, (await session.send("Page.getFrameTree"))["frameTree"])
        yield documents
    finally:
        for session in sessions:
            with contextlib.suppress(Error):
                await session.detach()


def _error(message: str) -> Exception:
    from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not needed before

    return Error(message)


def _describe(details: dict[str, Any]) -> str:
    exception = details.get("exception", {})
    said = exception.get("description") or details.get("text", "")
    return f"The page could not be read: {str(said).splitlines()[0]}" if said else "no reason given"
