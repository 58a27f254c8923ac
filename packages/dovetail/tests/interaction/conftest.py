"""`link`: our client on every transport, at every revision that the transport carries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.interaction.links import COMBINATIONS, Combination, Link


@pytest.fixture(scope="session")
def find_link() -> Iterator[Callable[[Combination], Link]]:
    """One client and one server for each combination, opened when a test first wants them."""
    links: dict[Combination, Link] = {}

    def find(combination: Combination) -> Link:
        if combination not in links:
            links[combination] = Link(combination)
        return links[combination]

    yield find
    for link in links.values():
        link.close()


@pytest.fixture(params=COMBINATIONS, ids=str)
def link(request: pytest.FixtureRequest, find_link: Callable[[Combination], Link]) -> Link:
    """A client that can do everything, and somebody at the desk who has said nothing yet."""
    found = find_link(request.param)
    found.desk.reset()
    return found
