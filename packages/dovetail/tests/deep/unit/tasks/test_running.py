"""Tasks that this process must not run any more, in a cluster."""

from __future__ import annotations

from typing import Any

from tests.cluster.shop import STATE_KEY
from tests.unit.talk import run
from tests.unit.tasks.test_running import Building


def test_a_run_whose_row_another_process_holds_ends_at_its_next_step(cluster_url: str) -> None:
    async def scenario() -> None:
        building = Building(state=cluster_url, state_keys=[STATE_KEY])
        id = await building.begin()
        node: Any = building.server.engine.shared.cluster  # type: ignore[union-attr]
        await node.client.do("HSET", node.key("task", id), "worker", "another")
        building.gate.set()
        await building.has_stopped.wait()
        assert building.did == ["roof"]
        assert id not in building.server._tasks._live
        assert await node.client.do("HGET", node.key("task", id), "status") == b"working"
        await building.server.close()

    run(scenario())
