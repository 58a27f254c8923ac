"""A handler that changes its default changes it for one call only, not for other callers."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import attrs
import msgspec
import pydantic
import pytest

from dovetail import Client, Depends, Server, UsageError
from dovetail.client.targets import LocalCaller
from dovetail.core.schema.defaults import copy_maker, is_mutable
from dovetail.extensions import Extension, method
from dovetail.testing import call

MISSING = object()


class Model(pydantic.BaseModel):
    items: list[int] = [0]


@dataclass
class Data:
    items: list[int] = field(default_factory=lambda: [0])


class Struct(msgspec.Struct):
    items: list[int] = msgspec.field(default_factory=lambda: [0])


@attrs.define
class Attrs:
    items: list[int] = [0]  # noqa: RUF008 - the mistake of an author


@dataclass(frozen=True)
class Frozen:
    items: list[int] = field(default_factory=lambda: [0])


@attrs.define
class Outer:
    inner: Attrs = attrs.Factory(Attrs)


@dataclass(eq=False)
class Shared:
    items: list[int] = field(default_factory=lambda: [0])


@dataclass
class HoldsShared:
    shared: Shared = Shared()  # noqa: RUF009 - the mistake of an author

    @property
    def items(self) -> list[int]:
        return self.shared.items


@dataclass(slots=True)
class HoldsSharedInSlot:
    shared: Shared = Shared()  # noqa: RUF009


class HoldsSharedInStruct(msgspec.Struct, frozen=True):
    shared: Shared = Shared()


def callers(server: Server, ask: Callable[[Client], Any]) -> list[Any]:
    """What two calls of one principal and one of another get."""

    async def main() -> list[Any]:
        found = []
        for principal in ("anna", "anna", "bert"):
            async with Client(LocalCaller(server, principal), extensions=[Lists()]) as client:
                found.append(await ask(client))
        return found

    return asyncio.run(main())


def append_to(value: Any) -> int:
    """Change a value anywhere inside, and return how many items it has."""
    for step in ("inner", "shared", "items"):
        value = value if isinstance(value, dict) else getattr(value, step, value)
    value = value[0] if isinstance(value, tuple) else value
    value = value["items"] if isinstance(value, dict) else value
    value.add(len(value)) if isinstance(value, set) else value.append(1)
    return len(value)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (list[int], [0]),
        (set[int], {0}),
        (dict[str, list[int]], {"items": [0]}),
        (tuple[list[int], int], ([0], 1)),
        (Model, Model()),
        (Data, Data()),
        (Struct, Struct()),
        (Attrs, Attrs()),
        (Frozen, Frozen()),
        (Outer, Outer(Attrs([0]))),
        (list[int], pydantic.Field(default=[0])),
        (list[int], pydantic.Field(default_factory=lambda: [0])),
    ],
)
def test_each_call_of_a_tool_has_its_own_default(annotation: Any, default: Any) -> None:
    server = Server("s")

    def typed(value: Any = default) -> int:
        return append_to(value)

    typed.__annotations__["value"] = annotation
    server.tools.add(typed)
    server.tools.add(typed, name="by_hand", input_schema={"type": "object"})
    for name in ("typed", "by_hand"):

        async def ask(client: Client, name: str = name) -> Any:
            return (await client.call(name)).data

        assert callers(server, ask) == [2, 2, 2]


@pytest.mark.parametrize(
    "annotation", [Model, Data, Struct, Attrs, HoldsShared, HoldsSharedInSlot, HoldsSharedInStruct]
)
def test_each_call_has_its_own_defaults_inside_of_arguments(annotation: Any) -> None:
    server = Server("s")

    def tool(value: Any) -> int:
        return append_to(value)

    tool.__annotations__["value"] = annotation
    server.tools.add(tool)

    async def ask(client: Client) -> Any:
        return (await client.call("tool", {"value": {}})).data

    assert callers(server, ask) == [2, 2, 2]


class Lists(Extension[None]):
    name = "org.example/lists"

    @method("lists/length")
    async def length(self, value: list[int] = [0]) -> dict[str, int]:  # noqa: B006
        return {"length": append_to(value)}


def provide(value: list[int] = [0], /, *, more: Data = Data()) -> int:  # noqa: B006, B008
    return append_to(value) + append_to(more)


def make_server() -> Server:
    server = Server("s", extensions=[Lists()])

    @server.tool
    def depends(number: int = Depends(provide)) -> int:
        return number

    @server.prompt
    def prompt(topic: str, value: list[int] = [0]) -> str:  # noqa: B006
        return str(append_to(value))

    @server.resource("lists://fixed")
    def fixed(value: list[int] = [0]) -> str:  # noqa: B006
        return str(append_to(value))

    @server.resource("lists://all{?value}")
    def template(value: list[int] = [0]) -> str:  # noqa: B006
        return str(append_to(value))

    @server.complete(prompt, "topic")
    def complete(text: str, other: Any = None, number: int = Depends(provide)) -> list[str]:
        return [str(number)]

    return server


def test_every_feature_copies_defaults() -> None:
    async def ask(client: Client) -> Any:
        return (
            (await client.call("depends")).data,
            (await client.get_prompt("prompt", {"topic": "a"})).messages[0].content.text,  # type: ignore[union-attr]
            (await client.read("lists://fixed")).text,
            (await client.read("lists://all")).text,
            (await client.request("lists/length"))["length"],
            (await client.complete("prompt", "topic")).values,
        )

    server = make_server()
    [first, *others] = callers(server, ask)
    assert first == (4, "2", "2", "2", 2, ["4"])
    assert others == [first, first]


def test_immutable_defaults_are_passed_as_they_are() -> None:
    seen = []
    server = Server("s")

    @server.tool
    def tool(a: Any = MISSING, b: tuple[int, ...] = (1,), c: uuid.UUID = uuid.UUID(int=1)) -> None:  # noqa: B008
        seen.append(a)

    call(server, "tool")
    assert seen == [MISSING]
    for value in ((1, "a"), frozenset({1}), uuid.UUID(int=1), MISSING, msgspec.UNSET, int, None):
        assert not is_mutable(value) and copy_maker(value, "here") is None


def test_a_default_that_cannot_be_copied_is_refused() -> None:
    def tool(a: Any = threading.Lock()) -> None:  # noqa: B008
        ...

    with pytest.raises(UsageError, match=r"parameter 'a': each call gets its own copy .* use None"):
        Server("s").tools.add(tool)

    def provider(lock: Any = [threading.Lock()]) -> None:  # noqa: B006, B008
        ...

    def dependent(a: Any = Depends(provider)) -> None: ...

    with pytest.raises(UsageError, match=r"parameter 'lock': each call gets its own copy"):
        Server("s").tools.add(dependent)


class Pair(NamedTuple):
    items: list[int] = []  # noqa: RUF012


def test_a_named_tuple_cannot_have_a_mutable_default() -> None:
    def tool(pair: Pair) -> Pair:
        return pair

    with pytest.raises(UsageError, match=r"calls would share the default of Pair.items"):
        Server("s").tools.add(tool)

    def result() -> Pair:
        return Pair([1])

    server = Server("s")
    server.tools.add(result)
    assert call(server, "result").data == [[1]]


def test_every_feature_knows_the_default_of_a_field_in_an_annotation() -> None:
    Number = Annotated[int, pydantic.Field(default=3)]
    server = Server("s")

    def provide(other: Number = pydantic.Field(default=4)) -> int:  # noqa: B008
        return other

    @server.tool(input_schema={"type": "object"})
    def by_hand(number: Number, given: int = Depends(provide)) -> int:
        return number * 10 + given

    @server.prompt
    def prompt(number: Number) -> str:
        return str(number)

    @server.resource("numbers://fixed")
    def fixed(number: Number) -> str:
        return str(number)

    @server.resource("numbers://all{?number}")
    def template(number: Number) -> str:
        return str(number)

    async def main() -> None:
        async with Client(server) as client:
            assert (await client.call("by_hand")).data == 34
            assert (await client.get_prompt("prompt")).messages[0].content.text == "3"  # type: ignore[union-attr]
            assert (await client.read("numbers://fixed")).text == "3"
            assert (await client.read("numbers://all")).text == "3"

    asyncio.run(main())
