"""Forms from types, in the words of each revision, and answers held to what was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from dovetail import Choices, Context, Elicited, Server
from dovetail.errors import UsageError
from dovetail.features.elicitation import fit_form
from dovetail.spec.revisions import V2025_06_18, V2025_11_25, V2026_07_28
from tests.unit.talk import (
    FIRST_FORMS,
    LEGACY,
    MODERN,
    Json,
    Wire,
    answer,
    complaint_of,
    run,
    text_of,
)

BOTH: Json = {"elicitation": {"form": {}, "url": {}}}


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Data:
    name: str
    age: int = 3
    note: str | None = None


class Structure(msgspec.Struct):
    name: str
    age: int = 3
    note: str | None = None


class Model(pydantic.BaseModel):
    name: str
    age: int = 3
    note: str | None = None


class Typed(TypedDict):
    name: str
    age: NotRequired[int]
    note: NotRequired[str]


def asking(form: Any, seen: list[Any] | None = None, **options: Any) -> Server:
    """A server whose tool `ask` shows the form and keeps what came back."""
    server = Server("s")

    @server.tool
    async def ask(ctx: Context) -> str:
        answer: Elicited[Any] = (
            await ctx.elicit("Well?", **options)
            if form is None
            else await ctx.elicit("Well?", form, **options)
        )
        if seen is not None:
            seen.append(answer)
        return f"{answer.action} {answer.data!r}"

    return server


def form_shown(form: Any, revision: str = LEGACY) -> Json:
    """The schema a client of the revision gets to see."""
    return shown(asking(form), revision)["requestedSchema"]  # type: ignore[no-any-return]


def shown(server: Server, revision: str = LEGACY, capabilities: Json | None = None) -> Json:
    async def scenario() -> Json:
        declared = {"elicitation": {}} if capabilities is None else capabilities
        wire = await Wire(server, revision, declared).open()
        if revision == MODERN:
            result = (await wire.call("ask"))["result"]
            assert result["resultType"] == "input_required"
            [question] = result["inputRequests"].values()
        else:
            wire.put_call("ask")
            question = await wire.asked("elicitation/create")
        assert question["method"] == "elicitation/create"
        await wire.connection.close()
        params: Json = question["params"]
        return params

    return run(scenario())


def answered(form: Any, reply: Any, revision: str = LEGACY, **options: Any) -> tuple[Any, Json]:
    """What the handler got, and the response to the client."""
    seen: list[Any] = []
    server = asking(form, seen, **options)

    async def scenario() -> Json:
        wire = await Wire(server, revision, BOTH).open()
        if revision == MODERN:
            first = (await wire.call("ask"))["result"]
            [key] = first["inputRequests"]
            params = {
                "name": "ask",
                "arguments": {},
                "requestState": first["requestState"],
                "inputResponses": {key: reply},
            }
            response = await wire.ask("tools/call", params)
        else:
            id = wire.put_call("ask")
            wire.reply((await wire.asked("elicitation/create"))["id"], reply)
            response = await wire.response(id)
        await wire.connection.close()
        return response

    response = run(scenario())
    return (seen[0] if seen else None), response


# -- what is shown --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [Data, Structure, Model])
@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_form_comes_from_any_class_with_fields(form: Any, revision: str) -> None:
    schema = form_shown(form, revision)
    for member in schema["properties"].values():
        member.pop("title", None)
    assert schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "default": 3},
            "note": {"type": "string"},
        },
        "required": ["name"],
    }


def test_a_form_comes_from_a_typed_dict_and_from_a_schema_by_hand() -> None:
    assert form_shown(Typed)["required"] == ["name"]
    by_hand = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
    assert form_shown(by_hand) == by_hand


def test_fields_keep_what_a_form_can_say() -> None:
    @dataclass
    class Fields:
        short: Annotated[str, msgspec.Meta(max_length=5, description="Up to five")]
        odd: Annotated[str, msgspec.Meta(pattern="^a")]
        share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
        born: date | None = None
        agree: bool = True

    assert form_shown(Fields)["properties"] == {
        "short": {"type": "string", "maxLength": 5, "description": "Up to five"},
        "odd": {"type": "string"},
        "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
        "born": {"type": "string", "format": "date"},
        "agree": {"type": "boolean", "default": True},
    }


def test_formats_that_forms_do_not_know_are_left_out() -> None:
    @dataclass
    class Fields:
        id: Annotated[str, msgspec.Meta(extra_json_schema={"format": "uuid"})]
        mail: Annotated[str, msgspec.Meta(extra_json_schema={"format": "email"})]

    assert form_shown(Fields)["properties"] == {
        "id": {"type": "string"},
        "mail": {"type": "string", "format": "email"},
    }


TITLES = {"#f00": "Red", "#00f": "Blue"}
PAIRS = [{"const": "#f00", "title": "Red"}, {"const": "#00f", "title": "Blue"}]


@dataclass
class EveryChoice:
    plain: Annotated[str, Choices(["a", "b"])]
    titled: Annotated[str, Choices(TITLES)]
    legacy: Annotated[str, Choices(TITLES, legacy=True)]
    several: Annotated[list[str], Choices(["a", "b"])]
    several_titled: Annotated[list[str], Choices(TITLES)]
    literal: Literal["x", "y"] = "x"
    enum: Color = Color.BLUE
    some: list[Literal["x", "y"]] = field(default_factory=list)


def test_all_shapes_of_choices() -> None:
    properties = form_shown(EveryChoice)["properties"]
    assert properties["plain"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["titled"] == {"type": "string", "oneOf": PAIRS}
    assert properties["legacy"] == {
        "type": "string",
        "enum": ["#f00", "#00f"],
        "enumNames": ["Red", "Blue"],
    }
    assert properties["several"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["a", "b"]},
    }
    assert properties["several_titled"] == {"type": "array", "items": {"anyOf": PAIRS}}
    assert properties["literal"] == {"type": "string", "enum": ["x", "y"], "default": "x"}
    assert sorted(properties["enum"].pop("enum")) == ["blue", "red"]
    assert properties["enum"] == {"type": "string", "default": "blue"}
    assert properties["some"]["items"] == {"type": "string", "enum": ["x", "y"]}


def test_titles_are_enum_names_to_a_client_that_knows_no_better() -> None:
    @dataclass
    class Fields:
        titled: Annotated[str, Choices(TITLES)]
        age: int = 3
        agree: bool = True

    assert form_shown(Fields, FIRST_FORMS)["properties"] == {
        "titled": {"type": "string", "enum": ["#f00", "#00f"], "enumNames": ["Red", "Blue"]},
        "age": {"type": "integer"},
        "agree": {"type": "boolean", "default": True},
    }


def test_a_client_that_cannot_show_several_choices_is_told_so() -> None:
    server = asking(EveryChoice)

    async def scenario() -> Json:
        wire = await Wire(server, FIRST_FORMS, {"elicitation": {}}).open()
        response = await wire.call("ask")
        await wire.connection.close()
        return response

    result = run(scenario())["result"]
    assert result["isError"] is True
    assert "a choice of several values ('several')" in text_of(result)


def test_a_form_is_fitted_only_where_it_must_be() -> None:
    form = {"type": "object", "properties": {"a": {"enum": ["x"], "default": "x"}}}
    assert fit_form(form, V2025_11_25) is form
    assert fit_form(form, V2026_07_28) is form
    assert fit_form(form, V2025_06_18)["properties"] == {"a": {"enum": ["x"]}}


@dataclass
class Nested:
    inner: Data


@dataclass
class Mixed:
    value: int | str


@dataclass
class Lists:
    values: list[str]


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        (Nested, "field 'inner' is object"),
        (Mixed, "field 'value' is"),
        (Lists, "field 'values' is array"),
        (int, "a form is made from a class with fields"),
        (dict[str, int], "a form is made from a class with fields"),
        ({"type": "string"}, '"type": "object" and "properties"'),
        ({"type": "object", "properties": {"a": {"type": "nonsense"}}}, "is invalid"),
        (None, "either a type for a form or a url"),
    ],
)
def test_what_is_no_flat_form_is_the_authors_error(form: Any, complaint: str) -> None:
    server = Server("s")

    @server.tool
    async def ask(ctx: Context) -> str:
        with pytest.raises(UsageError, match=complaint):
            await ctx.elicit("?", form)
        return "refused"

    result = run(answer(server, "tools/call", {"name": "ask"}, revision=MODERN, capabilities=BOTH))
    assert text_of(result["result"]) == "refused"


# -- what comes back ------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [FIRST_FORMS, LEGACY, MODERN])
@pytest.mark.parametrize(
    ("form", "value"),
    [
        (Data, Data("Ann", 3, None)),
        (Structure, Structure("Ann")),
        (Model, Model(name="Ann")),
        (Typed, {"name": "Ann"}),
        ({"type": "object", "properties": {"name": {"type": "string"}}}, {"name": "Ann"}),
    ],
)
def test_an_accepted_answer_is_a_value_of_the_type(revision: str, form: Any, value: Any) -> None:
    got, _ = answered(form, {"action": "accept", "content": {"name": "Ann"}}, revision)
    assert got.accepted
    assert got.data == value and repr(got) == f"Accepted({value!r})"


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_refusal_has_no_data(revision: str, action: str) -> None:
    got, _ = answered(Data, {"action": action, "content": {"name": 5}}, revision)
    assert (got.action, got.data, got.accepted) == (action, None, False)
    assert repr(got) == {"decline": "Declined()", "cancel": "Cancelled()"}[action]


def test_what_was_left_empty_may_come_as_null() -> None:
    @dataclass
    class Fields:
        pick: Annotated[str | None, Choices(["a", "b"])] = None

    got, _ = answered(Fields, {"action": "accept", "content": {"pick": None}})
    assert got.data == Fields(None)


GOOD = {
    "plain": "a",
    "titled": "#f00",
    "legacy": "#00f",
    "several": ["a"],
    "several_titled": ["#f00", "#00f"],
}


def test_choices_that_were_on_offer_are_taken() -> None:
    got, _ = answered(EveryChoice, {"action": "accept", "content": {**GOOD, "enum": "red"}})
    assert got.data.enum is Color.RED
    assert got.data.several_titled == ["#f00", "#00f"]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize(
    ("form", "content", "place"),
    [
        (Data, {}, "name"),
        (Data, {"name": 5}, "name"),
        (Data, {"name": "a", "age": "old"}, "age"),
        (Model, {"name": None}, "name"),
        (EveryChoice, {**GOOD, "plain": "c"}, "plain"),
        (EveryChoice, {**GOOD, "titled": "Red"}, "titled"),
        (EveryChoice, {**GOOD, "legacy": "#0f0"}, "legacy"),
        (EveryChoice, {**GOOD, "several": ["a", "z"]}, "several"),
        (EveryChoice, {**GOOD, "several_titled": ["z"]}, "several_titled"),
        (EveryChoice, {**GOOD, "literal": "z"}, "literal"),
        (
            {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}},
            {"n": 4},
            "n",
        ),
    ],
)
def test_an_answer_that_does_not_fit_the_form_is_refused(
    revision: str, form: Any, content: Json, place: str
) -> None:
    got, response = answered(form, {"action": "accept", "content": content}, revision)
    assert got is None
    complaint = complaint_of(response, revision)
    assert "The answer to 'elicit-1' does not fit the form: " in complaint
    assert place in complaint


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize("reply", [{}, {"action": "maybe"}, {"action": "accept", "content": [1]}])
def test_what_is_no_elicitation_result_is_refused(revision: str, reply: Any) -> None:
    got, response = answered(Data, reply, revision, key="branch")
    assert got is None
    complaint = complaint_of(response, revision)
    assert "The answer to 'branch' is no elicitation result" in complaint


# -- modes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "declared", "mode", "possible"),
    [
        (FIRST_FORMS, {}, "form", True),
        (FIRST_FORMS, {"url": {}}, "url", False),
        (LEGACY, {}, "form", True),
        (LEGACY, {"form": {}}, "form", True),
        (LEGACY, {"url": {}}, "form", False),
        (LEGACY, {"form": {}, "url": {}}, "form", True),
        (LEGACY, {}, "url", False),
        (LEGACY, {"form": {}}, "url", False),
        (LEGACY, {"url": {}}, "url", True),
        (MODERN, {}, "form", True),
        (MODERN, {"url": {}}, "form", False),
        (MODERN, {"form": {}, "url": {}}, "url", True),
        (MODERN, {}, "url", False),
        (MODERN, None, "form", False),
        (LEGACY, True, "form", False),
        ("2025-03-26", {}, "form", False),
    ],
)
def test_only_modes_that_the_client_declared_are_used(
    revision: str, declared: Any, mode: str, possible: bool
) -> None:
    capabilities = {} if declared is None else {"elicitation": declared}
    server = (
        asking({"type": "object", "properties": {}})
        if mode == "form"
        else asking(None, url="https://example.com/consent")
    )

    async def scenario() -> Any:
        wire = await Wire(server, revision, capabilities).open()
        id = wire.put_call("ask")
        return await wire.until(lambda m: m.get("id") == id or m.get("method") is not None)

    said = run(scenario())
    if revision == MODERN:
        asked = said.get("result", {}).get("resultType") == "input_required"
    else:
        asked = said.get("method") == "elicitation/create"
    assert asked is possible, said


@pytest.mark.parametrize(("revision", "identified"), [(LEGACY, True), (MODERN, False)])
def test_a_page_to_visit_has_an_id_only_where_the_revision_wants_one(
    revision: str, identified: bool
) -> None:
    params = shown(asking(None, url="https://example.com/consent"), revision, BOTH)
    assert (params["mode"], params["url"]) == ("url", "https://example.com/consent")
    assert ("elicitationId" in params) is identified


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_visit_has_an_action_and_no_data(revision: str) -> None:
    got, _ = answered(None, {"action": "accept"}, revision, url="https://example.com/")
    assert (got.accepted, got.data) == (True, None)


def test_a_page_needs_a_whole_url() -> None:
    server = Server("s")

    @server.tool
    async def ask(ctx: Context) -> str:
        with pytest.raises(UsageError, match="an absolute URL, got 'consent'"):
            await ctx.elicit("?", url="consent")
        return "refused"

    result = run(answer(server, "tools/call", {"name": "ask"}, revision=MODERN, capabilities=BOTH))
    assert text_of(result["result"]) == "refused"


def test_two_questions_of_one_key_are_the_authors_error() -> None:
    server = Server("s")

    @server.tool
    async def ask(ctx: Context) -> str:
        form = {"type": "object", "properties": {}}
        await ctx.elicit("?", form, key="k")
        with pytest.raises(UsageError, match="the key 'k' is used for two questions"):
            await ctx.elicit("?", form, key="k")
        return "refused"

    async def scenario() -> Json:
        wire = await Wire(server, LEGACY, BOTH).open()
        id = wire.put_call("ask")
        wire.reply((await wire.asked("elicitation/create"))["id"], {"action": "decline"})
        response = await wire.response(id)
        await wire.connection.close()
        return response

    assert text_of(run(scenario())["result"]) == "refused"
