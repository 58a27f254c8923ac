"""SIGTERM while clients call: the short form of that part of `make soak`."""

from __future__ import annotations

import asyncio
import random

import pytest

from qa.soak.shutdown import COMBINATIONS, SHORT_LOADS, Combination, stop_under_load
from qa.soak.stopping_clients import ANSWERED
from tests.patience import CAP

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_every_call_that_has_begun_is_answered(combination: Combination) -> None:
    stopped = asyncio.run(stop_under_load(combination, CAP, SHORT_LOADS, random.Random(1)))
    assert stopped.complaints == []
    assert stopped.outcomes[ANSWERED] >= sum(load.clients for load in SHORT_LOADS)
