"""The scripts of the task store change nothing for a task that does not exist."""

from __future__ import annotations

from dovetail.state.redis_url import parse_url
from dovetail.stores.redis import task_scripts as module
from dovetail.stores.redis.node import RedisNode
from tests.unit.talk import run


def test_a_task_that_does_not_exist_is_not_created_by_a_change(cluster_url: str) -> None:
    async def scenario() -> None:
        node = RedisNode(parse_url(cluster_url), "test")
        prefix = (node.key(""),)
        async with node.opened():
            # Not all keys of the server: those of earlier tests expire.
            before = set(await node.client.do("KEYS", node.key("*")))
            for script, arguments, outcome in (
                (module.SAVE, ("a", 1, "working", "me", 0, 0, "PING"), 0),
                (module.TAKE, ("me", "a"), []),
                (module.LEAVE, ("a", "{}"), b""),
                (module.COLLECT, ("a",), []),
                (module.EXPIRE, (1.0,), []),
                (module.LOOK, (10,), [[]]),
                (module.PAGE, ("all", "", 0, 10), []),
            ):
                assert await node.client.run(script, prefix, ("me", *arguments)) == outcome
            assert set(await node.client.do("KEYS", node.key("*"))) == before

    run(scenario())
