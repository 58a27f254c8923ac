"""What a wrapper passes on to the application that it wraps."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.transports.wrappers import AppWrapper


class Recorder:
    """An application that notes what is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.calls.append(("call", scope))

    def is_validated(self, request: Any) -> bool:
        self.calls.append(("is_validated", request))
        return True

    def begin(self, request: Any, body: bytes) -> None:
        self.calls.append(("begin", body))

    def serve_directly(self) -> None:
        self.calls.append(("serve_directly", None))

    def begin_shutdown(self) -> None:
        self.calls.append(("begin_shutdown", None))

    async def finish_shutdown(self, grace: float) -> None:
        self.calls.append(("finish_shutdown", grace))

    def close(self) -> None:
        self.calls.append(("close", None))


def test_everything_reaches_the_wrapped_application() -> None:
    inner = Recorder()
    wrapper = AppWrapper(inner)
    request: Any = object()

    async def use() -> None:
        await wrapper({"type": "http"}, None, None)  # type: ignore[arg-type]
        assert wrapper.is_validated(request) is True
        wrapper.begin(request, b"body")
        wrapper.serve_directly()
        wrapper.begin_shutdown()
        await wrapper.finish_shutdown(2.0)
        wrapper.close()

    asyncio.run(use())
    assert inner.calls == [
        ("call", {"type": "http"}),
        ("is_validated", request),
        ("begin", b"body"),
        ("serve_directly", None),
        ("begin_shutdown", None),
        ("finish_shutdown", 2.0),
        ("close", None),
    ]
