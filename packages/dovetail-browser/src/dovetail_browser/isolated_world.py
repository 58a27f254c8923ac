"""Scripts that run in a page's documents, out of reach of the page's own scripts.

Playwright runs what it is given in the page's world, where a page may have replaced
`getComputedStyle` and can so tell us that its hidden text is to be seen. An isolated world has the
same document and the browser's own functions. It is reached by DevTools: one session for the page,
and one for each frame that lives in a process of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

__all__ = ["Documents", "open_documents"]

_WORLD = "dovetail"
# What DevTools says of a document that has gone, in the words that Playwright has for it.
_GONE = (
    "Cannot find context",
    "Cannot find execution context",
    "No frame for given id",
    "Frame with",
)


@dataclass(slots=True)
class Documents:
    """The documents of a page, by the ids of their frames."""

    main: str
    _sessions: dict[str, CDPSession] = field(default_factory=dict)
    _children: dict[str, list[str]] = field(default_factory=dict)

    @property
    def frames(self) -> list[str]:
        """All frames, the page's own first."""
        return list(self._sessions)

    def children_of(self, frame: str) -> list[str]:
        """The frames in a document, in no particular order."""
        return self._children.get(frame, [])

    async def run(
        self, frame: str, function: str, given: dict[str, Any], owned: Sequence[str] = ()
    ) -> Any:
        """What a function returns, given a value and the elements that hold these frames."""
        session = self._sessions[frame]
        world = await self._send(
            session, "Page.createIsolatedWorld", {"frameId": frame, "worldName": _WORLD}
        )
        context = world["executionContextId"]
        owners = [await self._owner(session, child, context) for child in owned]
        answer = await self._send(
            session,
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": function,
                "executionContextId": context,
                "arguments": [{"value": given}, *owners],
                "returnByValue": True,
            },
        )
        if "exceptionDetails" in answer:
            raise _error(_describe(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def _owner(self, session: CDPSession, frame: str, context: int) -> dict[str, Any]:
        """The element that holds a frame, as an argument; null where it is there no more."""
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
        """A frame and all below it that a session reaches."""
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
    """The documents of a page as it is now."""
    from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not needed before

    sessions = [await page.context.new_cdp_session(page)]
    try:
        tree = (await sessions[0].send("Page.getFrameTree"))["frameTree"]
        documents = Documents(tree["frame"]["id"])
        documents.add_tree(sessions[0], tree)
        # Those in processes of their own are not in the tree; only asking tells which they are.
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
