"""A value that is decoded from JSON is encoded with all of its fields, also those with defaults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import GenericAlias
from typing import Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Client, Context, Server, ToolResult
from dovetail.client.targets import LocalCaller
from dovetail.core.schema import arguments_schema, result_schema, type_schema
from dovetail.extensions import Extension, method
from dovetail.testing import call

T = TypeVar("T")


@dataclass
class Plain:
    item: str
    count: int = 1
    tags: list[int] = field(default_factory=list)
    note: str | None = None


@dataclass(slots=True)
class Slotted:
    item: str
    count: int = 1
    tags: list[int] = field(default_factory=list)
    note: str | None = None


@dataclass(frozen=True)
class Frozen:
    item: str
    count: int = 1
    tags: list[int] = field(default_factory=list)
    note: str | None = None


@dataclass(kw_only=True)
class ByKeyword:
    item: str
    count: int = 1
    tags: list[int] = field(default_factory=list)
    note: str | None = None


@dataclass
class Base:
    item: str
    count: int = 1


@dataclass
class Derived(Base):
    tags: list[int] = field(default_factory=list)
    note: str | None = None


@dataclass(slots=True)
class SlottedDerived(Base):
    tags: list[int] = field(default_factory=list)
    note: str | None = None


class Undecorated(Plain):
    pass


@dataclass
class Checked:
    item: str
    count: int = 1
    tags: list[int] = field(default_factory=list)
    note: str | None = None

    def __post_init__(self) -> None:
        self.item = self.item.strip()


@pydantic.dataclasses.dataclass
class OfPydantic:
    item: str
    count: int = 1
    tags: list[int] = pydantic.Field(default_factory=list)
    note: str | None = None


@attrs.define
class Attrs:
    item: str
    count: int = 1
    tags: list[int] = attrs.Factory(list)
    note: str | None = None


@attrs.define(slots=False)
class AttrsWithDict:
    item: str
    count: int = 1
    tags: list[int] = attrs.Factory(list)
    note: str | None = None


class Struct(msgspec.Struct):
    item: str
    count: int = 1
    tags: list[int] = []
    note: str | None = None


class Model(pydantic.BaseModel):
    item: str
    count: int = 1
    tags: list[int] = []
    note: str | None = None


CLASSES = [
    Plain, Slotted, Frozen, ByKeyword, Derived, SlottedDerived, Undecorated, Checked, OfPydantic,
    Attrs, AttrsWithDict, Struct, Model,
]  # fmt: skip
DEFAULTS = {"count": 1, "tags": [], "note": None}


class Dictionary(TypedDict):
    line: Plain
    more: NotRequired[Plain]


class Named(NamedTuple):
    line: Plain
    size: int = 1


class HoldingStruct(msgspec.Struct):
    line: Plain
    other: Plain | None = None


@dataclass
class Generic_(Generic[T]):
    line: T
    count: int = 1


class HoldingModel(pydantic.BaseModel):
    line: Plain


@attrs.define
class HoldingAttrs:
    line: Plain
    others: list[Plain] = attrs.Factory(list)


@dataclass
class Tree:
    value: int = 0
    children: list[Tree] = field(default_factory=list)


@dataclass
class Other:
    different: str


lines = st.fixed_dictionaries(
    {"item": st.text("ab", max_size=3)},
    optional={
        "count": st.integers(0, 3),
        "tags": st.lists(st.integers(0, 3), max_size=2),
        "note": st.none() | st.just("n"),
    },
)
children = st.lists(st.sampled_from([{}, {"value": 1}, {"children": [{}]}]), max_size=2)
trees = st.fixed_dictionaries({}, optional={"value": st.integers(0, 3), "children": children})


def full(line: Mapping[str, Any]) -> dict[str, Any]:
    return {**DEFAULTS, **line}


def full_tree(tree: Mapping[str, Any]) -> dict[str, Any]:
    children = [full_tree(child) for child in tree.get("children", [])]
    return {"value": 0, **tree, "children": children}


def always_sent(annotation: Any, value: Any) -> Any:
    """What a tool sends that returns its argument, without the default of the parameter."""

    def tool(it: Any) -> Any: ...

    tool.__annotations__.update(it=annotation)
    decoded = arguments_schema(tool).decode(json.dumps({"it": value}).encode())["it"]
    sent = json.loads(result_schema(annotation).encode(decoded))
    # Any encoder of msgspec writes the same, such as one in the author's code.
    again = type_schema(annotation).convert(value)
    if not isinstance(again, pydantic.BaseModel):
        assert json.loads(result_schema(annotation).encode(again)) == sent
    return sent


CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "alone": (lambda cls: cls, lambda line: line),
    "list": (lambda cls: GenericAlias(list, cls), lambda line: [line, line]),
    "dict": (lambda cls: GenericAlias(dict, (str, cls)), lambda line: {"a": line}),
    "tuple": (lambda cls: GenericAlias(tuple, (int, cls)), lambda line: [1, line]),
    "optional": (lambda cls: cls | None, lambda line: line),
    "union": (lambda cls: cls | int | list[str], lambda line: line),
    "union of classes": (lambda cls: cls | Other, lambda line: line),
    "nested": (
        lambda cls: GenericAlias(dict, (str, cls | None)),
        lambda line: {"a": line, "b": None},
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("cls", CLASSES)
def test_defaults_are_sent(cls: type, container: str) -> None:
    around, wrap = CONTAINERS[container]
    annotation = around(cls)

    @settings(max_examples=10, deadline=None, derandomize=True, database=None)
    @given(lines)
    def check(line: dict[str, Any]) -> None:
        assert always_sent(annotation, wrap(line)) == wrap(full(line))

    check()


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(lines, lines, trees)
def test_defaults_inside_other_classes_are_sent(
    one: dict[str, Any], two: dict[str, Any], tree: dict[str, Any]
) -> None:
    assert always_sent(Dictionary, {"line": one}) == {"line": full(one)}
    both = {"line": one, "more": two}
    assert always_sent(Dictionary, both) == {"line": full(one), "more": full(two)}
    assert always_sent(Named, [one]) == [full(one), 1]
    assert always_sent(HoldingStruct, {"line": one}) == {"line": full(one), "other": None}
    sent = always_sent(HoldingStruct, {"line": one, "other": two})
    assert sent == {"line": full(one), "other": full(two)}
    assert always_sent(Generic_[Plain], {"line": one}) == {"line": full(one), "count": 1}
    assert always_sent(HoldingModel, {"line": one}) == {"line": full(one)}
    sent = always_sent(HoldingAttrs, {"line": one, "others": [two]})
    assert sent == {"line": full(one), "others": [full(two)]}
    assert always_sent(Tree, tree) == full_tree(tree)


@dataclass
class NeverSet:
    item: str
    kind: str = field(default="n", init=False)


SHARED = msgspec.json.decode(b'{"item": "t"}', type=Frozen)
LINE = {"item": "t"}
SENT = {"item": "t", "count": 1, "tags": [], "note": None}


class Lines(Extension[None]):
    name = "org.example/lines"

    @method("lines/echo")
    async def echo(self, line: Plain) -> Any:
        return {"line": line, "own": msgspec.json.decode(b'{"item": "t"}', type=Plain)}


def make_server() -> Server:
    server = Server("s", extensions=[Lines()])

    @server.tool
    def own() -> Plain:
        return msgspec.json.decode(b'{"item": "t"}', type=Plain)

    @server.tool
    def shared() -> list[Frozen]:
        return [SHARED]

    @server.tool
    def never_set() -> NeverSet:
        return NeverSet("t")

    @server.tool
    def without_annotation(line: Plain) -> Any:
        return [line, msgspec.json.decode(b'{"item": "t"}', type=Plain)]

    @server.tool(output_schema={"type": "object"})
    def by_hand() -> Any:
        return {"line": msgspec.json.decode(b'{"item": "t"}', type=Plain)}

    @server.tool
    def explicit(line: Plain) -> ToolResult:
        return ToolResult([line], structured={"line": line})

    @server.tool
    async def once(ctx: Context) -> dict[str, Any]:
        async def work() -> Plain:
            return msgspec.json.decode(b'{"item": "t"}', type=Plain)

        return {"stored": await ctx.once("a", work), "typed": await ctx.once("b", work, Plain)}

    @server.tool
    async def state(line: Plain, ctx: Context) -> Any:
        mine = msgspec.json.decode(b'{"item": "t"}', type=Plain)
        await ctx.session_state.set("lines", [line, mine])
        return ToolResult(structured=await ctx.session_state.get("lines"))

    @server.tool
    async def ask(ctx: Context) -> dict[str, Any]:
        answer = await ctx.elicit("Which?", Base)
        return {"line": answer.data}

    add_other_features(server)
    return server


def add_other_features(server: Server) -> None:
    @server.prompt
    def prompt(line: Plain) -> list[Any]:
        return [line, msgspec.json.decode(b'{"item": "t"}', type=Plain)]

    @server.resource("lines://all")
    def resource() -> Plain:
        return msgspec.json.decode(b'{"item": "t"}', type=Plain)


@pytest.mark.parametrize("date", ["2025-06-18", "2026-07-28"])
def test_every_feature_sends_defaults(date: str) -> None:
    async def main() -> None:
        server = make_server()
        caller = LocalCaller(server, "anna")
        async with Client(
            caller, mode=date, elicit=lambda request: {"item": "t"}, extensions=[Lines()]
        ) as client:
            assert (await client.call("own")).data == SENT
            assert json.loads((await client.call("own")).text) == SENT
            assert (await client.call("shared")).data == [SENT]
            assert (await client.call("never_set")).data == {"item": "t", "kind": "n"}
            bare = await client.call("without_annotation", {"line": LINE})
            assert json.loads(bare.text) == [SENT, SENT]
            assert (await client.call("by_hand")).data == {"line": SENT}
            explicit = await client.call("explicit", {"line": LINE})
            assert explicit.structured == {"line": SENT} and json.loads(explicit.text) == [SENT]
            assert (await client.call("once")).data == {"stored": SENT, "typed": SENT}
            assert (await client.call("state", {"line": LINE})).data == [SENT, SENT]
            assert (await client.call("ask")).data == {"line": {"item": "t", "count": 1}}
            messages = (await client.get_prompt("prompt", {"line": json.dumps(LINE)})).messages
            texts = [message.content.text for message in messages]  # type: ignore[union-attr]
            assert [json.loads(text) for text in texts] == [SENT, SENT]
            assert json.loads((await client.read("lines://all")).text) == SENT
            if date == "2026-07-28":
                answer = await client.request("lines/echo", {"line": LINE})
                assert answer["line"] == answer["own"] == SENT

    asyncio.run(main())


@dataclass
class Part:
    name: str
    whole: Whole | None = None


@dataclass
class Whole:
    parts: list[Part]
    size: int = 0

    def __post_init__(self) -> None:
        for part in self.parts:
            part.whole = self


def test_a_circle_of_objects_is_followed_once() -> None:
    server = Server("s")

    @server.tool
    def count(whole: Whole) -> dict[str, int]:
        return {"size": vars(whole)["size"], "parts": len(whole.parts)}

    answer = call(server, "count", {"whole": {"parts": [{"name": "a"}, {"name": "b"}]}})
    assert answer.data == {"size": 0, "parts": 2}
