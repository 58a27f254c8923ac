"""Suggestions for arguments of prompts and variables of templates."""

from __future__ import annotations

import enum
from typing import Any, Literal

import pytest

from dovetail import Context, Server
from dovetail.errors import DuplicateError, UsageError
from tests.unit.talk import LEGACY, MODERN, OLDEST, ask, refusal

CITIES = ["Oslo", "Osaka", "Rome"]


def city_server() -> Server:
    server = Server("s")

    @server.prompt
    def plan(city: str, street: str = "") -> str:
        return city

    @server.resource("maps://{city}/{street}")
    def map_of(city: str, street: str) -> str:
        return city

    @server.complete(plan, "city")
    def cities(typed: str) -> list[str]:
        return [city for city in CITIES if city.startswith(typed)]

    @server.complete("maps://{city}/{street}", "street")
    async def streets(typed: str, settled: dict[str, str], ctx: Context) -> list[str]:
        return [f"{settled.get('city')}-{typed}-{ctx.request_id}"]

    return server


def complete(
    ref: dict[str, str], name: str, value: str, context: Any = None, revision: str = LEGACY
) -> Any:
    params: dict[str, Any] = {"ref": ref, "argument": {"name": name, "value": value}}
    if context is not None:
        params["context"] = context
    return ask(city_server(), "completion/complete", params, revision=revision)["completion"]


PLAN = {"type": "ref/prompt", "name": "plan"}
MAPS = {"type": "ref/resource", "uri": "maps://{city}/{street}"}


@pytest.mark.parametrize("revision", [OLDEST, LEGACY, MODERN])
def test_a_prompt_argument_is_completed(revision: str) -> None:
    assert complete(PLAN, "city", "Os", revision=revision) == {
        "values": ["Oslo", "Osaka"],
        "total": 2,
        "hasMore": False,
    }


@pytest.mark.parametrize(
    ("context", "city"),
    [(None, "None"), ({}, "None"), ({"arguments": {"city": "Oslo"}}, "Oslo")],
)
def test_a_template_variable_is_completed_with_what_is_settled(context: Any, city: str) -> None:
    assert complete(MAPS, "street", "Ka", context)["values"] == [f"{city}-Ka-1"]


def test_an_argument_without_a_completer_has_no_suggestions() -> None:
    assert complete(PLAN, "street", "x") == {"values": [], "total": 0, "hasMore": False}


@pytest.mark.parametrize(("count", "has_more"), [(99, False), (100, False), (101, True)])
def test_no_more_than_a_hundred_values_are_sent_and_the_total_is_told(
    count: int, has_more: bool
) -> None:
    server = Server("s")
    server.prompts.add(lambda n: n, name="p")
    server.complete("p", "n")(numbers_up_to(count))
    params = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "n", "value": ""}}
    found = ask(server, "completion/complete", params)["completion"]
    assert found["values"] == [str(n) for n in range(min(count, 100))]
    assert (found["total"], found["hasMore"]) == (count, has_more)


def numbers_up_to(count: int) -> Any:
    def numbers(typed: str) -> range:
        return range(count)

    return numbers


@pytest.mark.parametrize(
    ("ref", "argument", "complaint"),
    [
        (PLAN, "town", "prompt 'plan' has no argument 'town'; it has 'city', 'street'"),
        (MAPS, "town", "has no argument 'town'; it has 'city', 'street'"),
        ({"type": "ref/prompt", "name": "plam"}, "city", "Unknown prompt: 'plam'; did you mean"),
        ({"type": "ref/resource", "uri": "x://y"}, "city", "Unknown resource template: 'x://y'"),
        ({"type": "ref/tool", "name": "x"}, "city", "Invalid params"),
    ],
)
@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_what_cannot_be_completed_is_refused_with_what_can(
    ref: Any, argument: str, complaint: str, revision: str
) -> None:
    params = {"ref": ref, "argument": {"name": argument, "value": ""}}
    error = refusal(city_server(), "completion/complete", params, revision=revision)
    assert error["code"] == -32602
    assert complaint in error["message"]


def test_a_completer_is_registered_once_for_something_that_is_there() -> None:
    server = city_server()

    def more(typed: str) -> list[str]:
        return []

    with pytest.raises(DuplicateError, match="prompt 'plan' has a completer for 'city' already"):
        server.complete("plan", "city")(more)
    with pytest.raises(UsageError, match="'plan' has no argument 'town'; it has 'city', 'street'"):
        server.complete("plan", "town")(more)
    with pytest.raises(UsageError, match="is not a prompt or resource template of this server"):
        server.complete("plam", "city")(more)
    server.prompts.add(lambda: "x", name="bare")
    with pytest.raises(UsageError, match="'bare' has no argument 'a'; it has none"):
        server.complete("bare", "a")(more)


def test_a_template_can_be_named_by_its_function() -> None:
    server = Server("s")

    @server.resource("n://{x}")
    def n(x: str) -> str:
        return x

    @server.complete(n, "x")
    def xs(typed: str) -> list[str]:
        return [typed * 2]

    ref = {"type": "ref/resource", "uri": "n://{x}"}
    params = {"ref": ref, "argument": {"name": "x", "value": "ab"}}
    assert ask(server, "completion/complete", params)["completion"]["values"] == ["abab"]


@pytest.mark.parametrize("function", [lambda: [], lambda a, b, c: []])
def test_a_completer_takes_one_or_two_parameters(function: Any) -> None:
    server = city_server()
    function.__name__ = "odd"
    with pytest.raises(UsageError, match=r"completer 'odd' .* this one takes [03] parameters"):
        server.complete("plan", "street")(function)


def test_a_completer_goes_with_what_it_completed() -> None:
    server = city_server()
    server.prompts.remove("plan")
    server.resources.remove("maps://{city}/{street}")
    assert "completions" not in server.capabilities()

    @server.prompt
    def plan(city: str) -> str:
        return city

    server.complete("plan", "city")(numbers_up_to(1))
    assert "completions" in server.capabilities()


def test_one_suggestion_is_no_list_of_characters() -> None:
    server = Server("s")

    @server.prompt
    def plan(city: str) -> str:
        return city

    @server.complete(plan, "city")
    def only(typed: str) -> str:
        return "Oslo"

    params = {"ref": PLAN, "argument": {"name": "city", "value": ""}}
    assert ask(server, "completion/complete", params)["completion"]["values"] == ["Oslo"]


class Size(enum.Enum):
    SMALL = "small"
    EXTRA_SMALL = "extra small"
    LARGE = "Large"


@pytest.mark.parametrize("revision", [OLDEST, LEGACY, MODERN])
def test_values_that_a_type_lists_are_suggested(revision: str) -> None:
    server = Server("s")

    @server.prompt
    def order(
        size: Size | None = None,
        number: Literal[1, 2, 12] = 1,
        color: Literal["red"] = "red",
        free: str = "",
    ) -> str:
        return ""

    @server.resource("sizes://{size}")
    def sizes(size: Size) -> str:
        return size.value

    @server.complete(order, "color")
    def colors(typed: str) -> list[str]:
        return ["blue"]

    def suggested(ref: dict[str, str], name: str, value: str) -> Any:
        params = {"ref": ref, "argument": {"name": name, "value": value}}
        return ask(server, "completion/complete", params, revision=revision)["completion"]["values"]

    prompt = {"type": "ref/prompt", "name": "order"}
    assert suggested(prompt, "size", "") == ["small", "extra small", "Large"]
    assert suggested(prompt, "size", "SM") == ["small", "extra small"]
    assert suggested(prompt, "size", "x") == ["extra small"]
    assert suggested(prompt, "number", "1") == ["1", "12"]
    assert suggested(prompt, "color", "") == ["blue"]
    assert suggested(prompt, "free", "") == []
    assert suggested({"type": "ref/resource", "uri": "sizes://{size}"}, "size", "l") == [
        "Large",
        "small",
        "extra small",
    ]


def test_a_server_declares_suggestions_of_types() -> None:
    server = Server("s")
    server.prompts.add(lambda size="": size, name="free")
    assert "completions" not in server.capabilities()

    @server.resource("sizes://{size}")
    def sizes(size: Size) -> str:
        return size.value

    assert server.capabilities()["completions"] == {}
