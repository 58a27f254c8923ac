"""What cannot be had is not promised, and who asks for it is told so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dovetail.client import Client
from dovetail.errors import MethodNotFoundError
from tests.interaction.limits import LIMITS, Limit, lacks
from tests.interaction.links import COMBINATIONS, Link
from tests.interaction.workshop import JOURNAL

DEAF = [combination for combination in COMBINATIONS if lacks(combination, "changes")]
MUTE = [combination for combination in COMBINATIONS if lacks(combination, "telling")]
only_deaf = pytest.mark.parametrize("link", DEAF, indirect=True, ids=str)


@only_deaf
def test_changes_that_cannot_be_told_are_not_promised(link: Link) -> None:
    for name in ("tools", "prompts", "resources"):
        assert not link.client.capabilities[name].get("listChanged")
    assert not link.client.capabilities["resources"].get("subscribe")


@only_deaf
def test_who_wants_to_hear_of_changes_is_told_that_there_will_be_none(link: Link) -> None:
    async def scenario(client: Client) -> Sequence[str]:
        async with client.subscribe(tools=True, uris=[JOURNAL]) as changes:
            return changes.refused

    if link.is_modern:
        with pytest.raises(MethodNotFoundError):
            link.run(scenario)
    else:
        assert link.run(scenario) == ("tools", JOURNAL)


@only_deaf
def test_a_client_that_would_like_to_hear_of_changes_is_served_all_the_same(link: Link) -> None:
    async def scenario(_: Client) -> str:
        async with link.connect(on_change=link.desk.take_change) as client:
            return (await client.call("echo", {"text": "served"})).text

    assert link.run(scenario) == "served"


@pytest.mark.parametrize("link", MUTE, indirect=True, ids=str)
def test_log_messages_that_cannot_be_told_are_not_promised(link: Link) -> None:
    assert "logging" not in link.client.capabilities


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.what)
def test_a_limit_is_met_somewhere_and_not_everywhere(limit: Limit) -> None:
    met = [limit.is_met(combination) for combination in COMBINATIONS]
    assert any(met)
    assert not all(met)
