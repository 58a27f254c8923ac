"""`opened`: a client of a proxy in every pairing, kept open for the whole module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proxy.pairing import PAIRINGS, UPSTREAM, Open, Pairing, at_url
from tests.proxy.upstream import make_upstream


@pytest.fixture(scope="session")
def upstream_url() -> Iterator[str]:
    with at_url(make_upstream()) as url:
        yield url


@pytest.fixture(scope="session")
def all_opened(upstream_url: str) -> Iterator[dict[Pairing, Open]]:
    found: dict[Pairing, Open] = {}
    yield found
    for each in found.values():
        each.close()


@pytest.fixture(params=PAIRINGS, ids=str)
def opened(
    request: pytest.FixtureRequest, all_opened: dict[Pairing, Open], upstream_url: str
) -> Open:
    pairing: Pairing = request.param
    if pairing not in all_opened:
        target = upstream_url if pairing.transport == "http" else UPSTREAM
        all_opened[pairing] = Open(pairing, target, at_url)
    found = all_opened[pairing]
    found.reset()
    return found
