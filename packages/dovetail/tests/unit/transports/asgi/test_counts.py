"""The counts tell what is held, for as long as it is held."""

from __future__ import annotations

from dovetail.transports.asgi.in_flight import HttpCounts
from tests.unit.talk import LEGACY, run
from tests.unit.transports.streamable_http.workshop import Workshop


def test_nothing_is_held_at_first() -> None:
    async def play() -> None:
        assert Workshop().app.counts() == HttpCounts(0, 0, 0)

    run(play())


def test_a_session_counts_until_it_ends() -> None:
    async def play() -> None:
        workshop = Workshop()
        client = await workshop.client.open(LEGACY)
        await workshop.another().open(LEGACY)
        assert workshop.app.counts() == HttpCounts(sessions=2)
        await client.delete()
        assert workshop.app.counts() == HttpCounts(sessions=1)

    run(play())


def test_a_call_counts_while_it_waits_in_either_era() -> None:
    async def play() -> None:
        workshop = Workshop()
        client = await workshop.client.open(LEGACY)
        legacy, modern = client.call("wait"), client.modern_call("wait")
        await workshop.reached.wait()
        await legacy.until(lambda _: workshop.app.counts().calls == 2)
        assert workshop.app.counts() == HttpCounts(sessions=1, calls=2)
        workshop.gate.set()
        await legacy.done()
        await modern.done()
        assert workshop.app.counts() == HttpCounts(sessions=1)

    run(play())


def test_a_call_that_has_spoken_is_a_stream_as_well() -> None:
    async def play() -> None:
        workshop = Workshop()
        client = await workshop.client.open(LEGACY)
        talking = client.call("talk_and_wait")
        await talking.hear("notifications/message")
        assert workshop.app.counts() == HttpCounts(sessions=1, calls=1, streams=1)
        workshop.gate.set()
        await talking.done()
        assert workshop.app.counts() == HttpCounts(sessions=1)

    run(play())


def test_a_subscription_is_a_call_and_a_stream_until_its_client_goes() -> None:
    async def play() -> None:
        workshop = Workshop()
        listening = workshop.client.modern("subscriptions/listen", {"notifications": {}})
        await listening.hear("notifications/subscriptions/acknowledged")
        assert workshop.app.counts() == HttpCounts(calls=1, streams=1)
        listening.disconnect()
        await listening.done()
        assert workshop.app.counts() == HttpCounts()

    run(play())


def test_a_get_stream_is_a_stream_until_its_client_goes() -> None:
    async def play() -> None:
        workshop = Workshop()
        client = await workshop.client.open(LEGACY)
        listening = client.listen()
        await listening.until(lambda response: response.status == 200)
        assert workshop.app.counts() == HttpCounts(sessions=1, streams=1)
        listening.disconnect()
        await listening.done()
        assert workshop.app.counts() == HttpCounts(sessions=1)

    run(play())


def test_streams_of_the_old_transport_count_too() -> None:
    async def play() -> None:
        workshop = Workshop({"old_sse": "/sse"})
        stream = workshop.client.start("GET", b"", path="/sse", accept="text/event-stream")
        await stream.until(lambda response: response.status == 200)
        assert workshop.app.counts() == HttpCounts(streams=1)
        stream.disconnect()
        await stream.done()
        assert workshop.app.counts() == HttpCounts()

    run(play())
