"""Every way of serving comes to the same verdict on hostile requests, however they are split."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http_corpus.cases import CASES, WEBSOCKET_CASES, Case
from tests.http_corpus.sending import find_problems, in_two, play
from tests.http_corpus.stacks import STACKS, serving

BY_NAME = {case.name: case for case in CASES}
# Where a parser's state machine decides about the end of a message.
SPLIT = ("chunked", "both framings", "trailer", "h2c", "upgrade that smuggles", "pipelined")


@pytest.fixture(scope="module", params=STACKS)
def stack(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, int]]:
    """The name and port of a server."""
    with serving(STACKS[request.param], tmp_path_factory.mktemp("stack") / "log") as port:
        yield request.param, port


def check(stack: tuple[str, int], case: Case) -> None:
    assert find_problems(case, play(stack[1], case)) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_request_has_one_meaning(stack: tuple[str, int], case: Case) -> None:
    check(stack, case)


@pytest.mark.parametrize("case", WEBSOCKET_CASES, ids=lambda case: case.name)
def test_a_websocket_is_not_offered(stack: tuple[str, int], case: Case) -> None:
    if stack[0].startswith("run"):
        check(stack, case)


@pytest.mark.parametrize("name", SPLIT)
def test_it_does_not_matter_where_a_request_is_split(stack: tuple[str, int], name: str) -> None:
    case = BY_NAME[name]
    found = {
        place: problems
        for place in range(1, len(case.raw))
        if (problems := find_problems(case, play(stack[1], case, in_two(place))))
    }
    assert found == {}
