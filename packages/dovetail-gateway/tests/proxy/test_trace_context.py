"""A trace goes through a proxy: caller, proxy, upstream, in both eras."""

from __future__ import annotations

import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import ReadableSpan

from dovetail import Context, Proxy, Server
from dovetail.auth import Guard
from dovetail.client import Client, Telemetry
from dovetail.observability import Traces
from tests.patience import CAP
from tests.unit.auth.test_traces import Exported
from tests.unit.talk import run

ERAS = pytest.mark.parametrize("mode", ["modern", "legacy"])
UPSTREAM_ERAS = pytest.mark.parametrize("upstream_mode", ["modern", "legacy"])


class Town:
    """A caller, a proxy and an upstream, with one exporter."""

    def __init__(self, mode: str, upstream_mode: str, *, proxy_is_traced: bool) -> None:
        self._exported = Exported()
        self._mode = mode
        traces = Guard(middleware=[Traces(self._exported.provider)])
        self._upstream = Server("upstream", guard=traces)
        self.tracer = self._exported.provider.get_tracer("test")

        @self._upstream.tool
        async def look(ctx: Context) -> str:
            return str(ctx.meta.get("baggage"))

        guard = traces if proxy_is_traced else None
        self._proxy = Proxy(self._upstream, name="proxy", mode=upstream_mode, guard=guard)

    def call(self) -> tuple[str, list[ReadableSpan]]:
        """The result, and the spans of the call from the inside out."""

        async def use() -> str:
            telemetry = Telemetry(self._exported.provider)
            async with Client(
                self._proxy, mode=self._mode, timeout=CAP, telemetry=telemetry
            ) as client:
                text = (await client.call("look")).text
            await self._proxy.close()
            await self._upstream.close()
            return text

        text = run(use())
        return text, [span for span in self._exported.spans if span.name == "tools/call look"]


@ERAS
@UPSTREAM_ERAS
def test_each_span_is_the_child_of_the_one_before(mode: str, upstream_mode: str) -> None:
    token = context.attach(baggage.set_baggage("team", "red"))
    text, spans = Town(mode, upstream_mode, proxy_is_traced=True).call()
    context.detach(token)
    upstream, proxy, client = spans
    assert client.context is not None and proxy.context is not None
    assert proxy.parent is not None and upstream.parent is not None
    assert proxy.parent.span_id == client.context.span_id
    assert upstream.parent.span_id == proxy.context.span_id
    assert text == "team=red"


@ERAS
@UPSTREAM_ERAS
def test_a_proxy_without_spans_passes_the_callers_on(mode: str, upstream_mode: str) -> None:
    _, (upstream, client) = Town(mode, upstream_mode, proxy_is_traced=False).call()
    assert client.context is not None and upstream.parent is not None
    assert upstream.parent.span_id == client.context.span_id
