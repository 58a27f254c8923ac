"""Every way of serving comes to the same verdict on hostile requests, however they are split."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.deep.http_corpus.sending import Sender, find_problems, in_two
from tests.deep.http_corpus.stacks import STACKS, serving
from tests.http_corpus.cases import CASES, WEBSOCKET_CASES, Case

BY_NAME = {case.name: case for case in CASES}
# Where a parser's state machine decides about the end of a message.
RUN_STACKS = [name for name in STACKS if name.startswith("run")]
# Stacks whose parser keeps state of its own between segments; the others are split less often.
SPLIT_EVERYWHERE = ("run, fast path", "uvicorn, httptools")
STRIDE = int(os.environ.get("CORPUS_STRIDE", "13"))
SPLIT = ("chunked", "both framings", "trailer", "h2c", "upgrade that smuggles", "pipelined")


@pytest.fixture(scope="module", params=STACKS)
def stack(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Sender]]:
    """The name of a way to serve, and a sender to it."""
    with serving(STACKS[request.param], tmp_path_factory.mktemp("stack") / "log") as port:
        sender = Sender(port)
        yield request.param, sender
        sender.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_request_has_one_meaning(stack: tuple[str, Sender], case: Case) -> None:
    assert find_problems(case, stack[1].play(case)) == []


@pytest.mark.parametrize("case", WEBSOCKET_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("stack", RUN_STACKS, indirect=True)
def test_a_websocket_is_not_offered(stack: tuple[str, Sender], case: Case) -> None:
    assert find_problems(case, stack[1].play(case)) == []


@pytest.mark.parametrize("name", SPLIT)
def test_it_does_not_matter_where_a_request_is_split(stack: tuple[str, Sender], name: str) -> None:
    case = BY_NAME[name]
    stride = 1 if stack[0] in SPLIT_EVERYWHERE else STRIDE
    found = {
        place: problems
        for place in range(1, len(case.raw), stride)
        if (problems := find_problems(case, stack[1].play(case, in_two(place))))
    }
    assert found == {}
