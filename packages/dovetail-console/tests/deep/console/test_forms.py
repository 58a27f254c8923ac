"""Forms made from JSON Schema, in Chromium: every schema of the corpus can be filled in."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from playwright.sync_api import Browser, ConsoleMessage, Page, Route

import dovetail_console
from dovetail_console.event_streams import SECURITY_HEADERS
from dovetail_console.forms import DrawnField, FormRequest, answer_form
from tests.console.console_client import ConsoleClient
from tests.console.serving import serve_source
from tests.deep.console.random_values import draw_valid, mutate
from tests.patience import CAP

_HERE = Path(__file__).parent
_STATIC = Path(dovetail_console.__file__).parent / "static"
_SERVER = "from dovetail import Server\nserver = Server('forms')\n"
_FORM_FILES = ["form.js", "form-state.js", "json.js"]
_FILES = sorted((_HERE / "schemas").glob("*.jsonl"))


def _load(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


_CORPUS = [row for file in _FILES for row in _load(file)]


def _type(page: Page, text: str) -> None:
    page.keyboard.press("Control+A")
    if text:
        page.keyboard.insert_text(text)
    else:
        page.keyboard.press("Delete")


def _serve_page(route: Route, token: str) -> None:
    """Add a file of this folder to the console, with the headers of the console."""
    name = route.request.url.rpartition("/")[2]
    text = (_HERE / name).read_text("utf-8").replace("{{token}}", token)
    kind = {"html": "text/html", "js": "text/javascript"}[name.rpartition(".")[2]]
    headers = {key.decode(): value.decode() for key, value in SECURITY_HEADERS}
    route.fulfill(body=text, content_type=kind, headers=headers)


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page with the form, and the hands that click and type on it."""
    with serve_source(_SERVER, tmp_path_factory.mktemp("forms")) as served:
        with ConsoleClient(served.base) as client:
            token = client.token
        page = browser.new_page()
        page.set_default_timeout(CAP * 1000)
        page.route("**/console/form_*", partial(_serve_page, token=token))
        page.expose_function("clickAt", page.mouse.click)
        page.expose_function("typeText", partial(_type, page))
        page.expose_function("pressKey", page.keyboard.press)
        page.goto(f"{served.console}form_page.html")
        page.wait_for_function("() => window.show !== undefined")
        yield page
        page.close()


@pytest.fixture
def problems(page: Page) -> Iterator[list[str]]:
    """Errors of scripts, and what the Content-Security-Policy refused."""
    found: list[str] = []

    def on_error(error: object) -> None:
        found.append(str(error))

    def on_message(message: ConsoleMessage) -> None:
        if message.type == "error":
            found.append(message.text)

    page.on("pageerror", on_error)
    page.on("console", on_message)
    yield found
    page.remove_listener("pageerror", on_error)
    page.remove_listener("console", on_message)


def _validator(schema: Any) -> Any:
    known = validator_for(schema, default=Draft202012Validator)
    return known(schema, format_checker=known.FORMAT_CHECKER)


def _fill(page: Page, schema: Any, value: Any, *, is_real: bool = False) -> str | None:
    """Fill in the form; return what is wrong with what it sends."""
    found = page.evaluate("a => fill(...a)", [json.dumps(schema), json.dumps(value), is_real])
    if "stuck" in found:
        return str(found["stuck"])
    sent = json.loads(found["text"])
    wrong = [error.message for error in _validator(schema).iter_errors(sent)]
    is_same = json.dumps(sent, sort_keys=True) == json.dumps(value, sort_keys=True)
    return (
        None
        if is_same and not wrong and not found["errors"]
        else f"{sent} {found['errors']} {wrong}"
    )


def test_the_corpus_has_schemas_of_real_servers_and_of_every_keyword() -> None:
    assert len(_CORPUS) >= 200
    assert len({row["name"] for row in _CORPUS}) == len(_CORPUS)
    for row in _CORPUS:
        for value in row["values"]:
            assert not list(_validator(row["schema"]).iter_errors(value)), row["name"]


@pytest.mark.slow
@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_every_schema_can_be_filled_in(page: Page, problems: list[str], file: Path) -> None:
    failures = {}
    for row in _load(file):
        for value in row["values"]:
            if wrong := _fill(page, row["schema"], value):
                failures[row["name"]] = wrong
        if nameless := page.evaluate("unnamed()"):
            failures[row["name"]] = f"controls without a name: {nameless}"
    assert failures == {}
    assert problems == []


_BY_HAND = [
    *("string-multi-line-short-name", "integer-large", "enum-mixed", "multi-select", "names-odd"),
    *("map-of-object", "array-of-object", "tuple-and-more", "cycle-expression", "type-list-all"),
    *("one-of-root", "if-then-else", "elicitation"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", _BY_HAND)
def test_a_form_can_be_filled_in_with_mouse_and_keyboard(
    page: Page, problems: list[str], name: str
) -> None:
    [row] = [row for row in _CORPUS if row["name"] == name]
    for value in row["values"]:
        assert _fill(page, row["schema"], value, is_real=True) is None
    assert problems == []


def _show(page: Page, schema: Any, value: Any = None) -> None:
    page.evaluate(
        "texts => show(...texts)",
        [json.dumps(schema)] + ([] if value is None else [json.dumps(value)]),
    )


def _sent(page: Page) -> tuple[Any, list[str]]:
    found = page.evaluate("settled().then(sent)")
    return None if found["text"] is None else json.loads(found["text"]), found["errors"]


def _settle(page: Page) -> None:
    """Wait until the server has answered for what is on the page."""
    page.evaluate("settled()")


def _write_json(page: Page, text: str) -> None:
    page.get_by_label("Value as JSON").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    _settle(page)


# For random values: recursive shapes and those with formats take too many tries.
_DRAWN = [
    row
    for row in _CORPUS
    if "/" not in row["name"]
    and not any(
        word in json.dumps(row["schema"])
        for word in ("format", 'pattern"', '#"', "$dynamic", "#here", "item.json")
    )
]


def _draw(row: Any) -> list[Any]:
    """Random valid values, the same ones in every run."""
    return draw_valid(row["schema"], _validator(row["schema"]).is_valid, random.Random(row["name"]))


# Words that one of the two validators knows and the other does not, or knows in another way.
_UNSURE = ('"format"', "unevaluated", "multipleOf")


def test_the_errors_of_a_form_agree_with_an_independent_validator() -> None:
    dice = random.Random(21)
    asked = []
    for row in _CORPUS:
        valid = row["values"] + (_draw(row) if row in _DRAWN else [])
        asked.append((row["schema"], valid + [mutate(dice.choice(valid), dice) for _ in range(12)]))
    differences, counts, unchecked = [], {True: 0, False: 0}, set()
    for schema, values in asked:
        validator = _validator(schema)
        if any(word in json.dumps(schema) for word in _UNSURE):
            continue
        for value in values:
            answer = answer_form(FormRequest(schema, value))
            if answer.unchecked:
                unchecked.add(json.dumps(schema))
                continue
            is_valid = validator.is_valid(value)
            counts[is_valid] += 1
            if is_valid == bool(answer.errors):
                differences.append((schema, value, answer.errors, is_valid))
    assert differences == []
    assert min(counts.values()) > 500, counts
    # References by anchors, by `$id` and `$dynamicRef` are left to the server.
    assert len(unchecked) == 3


@pytest.mark.slow
def test_random_values_survive_the_way_through_both_tabs(page: Page, problems: list[str]) -> None:
    for row in _DRAWN[::4]:
        for value in _draw(row)[:2]:
            found = page.evaluate(
                "a => passThroughTabs(...a)", [json.dumps(row["schema"]), json.dumps(value)]
            )
            assert found["wrong"] == 0, row["name"]
            for sent in found["sent"]:
                assert (json.loads(sent["text"]), sent["errors"]) == (value, []), row["name"]
            assert json.loads(found["shown"]) == value
    assert problems == []


def test_broken_json_is_reported_and_keeps_its_tab(page: Page) -> None:
    _show(page, {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}})
    page.get_by_role("tab", name="JSON").click()
    _write_json(page, '{"a": 1')
    assert "is not JSON" in page.locator(".sf-problems").inner_text()
    page.get_by_role("tab", name="Form").click()
    assert page.get_by_label("Value as JSON").input_value() == '{"a": 1'
    _write_json(page, '{"a": 0}')
    assert "/a must be at least 1" in page.locator(".sf-problems").inner_text()
    page.get_by_role("tab", name="Form").click()
    assert page.get_by_label("a", exact=True).input_value() == "0"
    assert page.get_by_label("a", exact=True).get_attribute("aria-invalid") == "true"


def test_errors_appear_while_typing_and_are_tied_to_the_field(page: Page) -> None:
    _show(
        page,
        {
            "type": "object",
            "properties": {"a": {"type": "string", "minLength": 3, "description": "About."}},
            "required": ["a"],
        },
    )
    field = page.get_by_label("a", exact=True)
    assert field.get_attribute("aria-invalid") is None
    assert field.get_attribute("aria-required") == "true"
    field.click()
    page.keyboard.type("xy")
    _settle(page)
    described = " ".join(
        page.locator(f"#{name}").inner_text()
        for name in (field.get_attribute("aria-describedby") or "").split()
    )
    assert "must have at least 3 characters" in described
    assert "About." in described
    page.keyboard.type("z")
    _settle(page)
    assert field.get_attribute("aria-invalid") is None
    assert _sent(page) == ({"a": "xyz"}, [])


def test_a_required_field_complains_when_it_is_left(page: Page) -> None:
    _show(page, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    page.get_by_label("a", exact=True).focus()
    page.keyboard.press("Tab")
    assert page.locator('[data-path="/a"] [role=status]').inner_text() == "is required"
    assert _sent(page) == ({}, ["/a is required"])


def test_items_are_added_moved_and_removed_by_keyboard(page: Page) -> None:
    _show(
        page,
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "string"}}},
            "required": ["a"],
        },
    )
    page.get_by_label("Add item to a").focus()
    for word in ("one", "two", "three"):
        page.keyboard.press("Enter")
        _settle(page)
        page.keyboard.type(word)
        page.get_by_label("Add item to a").focus()
    page.get_by_label("Move a 3 up").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert _sent(page)[0] == {"a": ["three", "one", "two"]}
    page.get_by_label("Remove a 2").focus()
    page.keyboard.press("Enter")
    assert _sent(page)[0] == {"a": ["three", "two"]}
    assert page.evaluate("document.activeElement.ariaLabel") == "Remove a 2"


def test_an_optional_field_is_left_out_until_it_is_used(page: Page) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "default": "d", "examples": ["e"]}},
    }
    _show(page, schema)
    assert _sent(page) == ({}, [])
    assert page.get_by_label("a", exact=True).get_attribute("placeholder") == "default: d"
    page.get_by_label("Use example: a").click()
    assert _sent(page)[0] == {"a": "e"}
    page.get_by_label("Leave out a").click()
    assert _sent(page)[0] == {}
    page.get_by_label("Send an empty string: a").click()
    assert _sent(page)[0] == {"a": ""}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "format": "email"}, "string, email"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"enum": ["a", "b"]}, "one of a, b"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "array of (string or null)"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "[string]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object of integer"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}, "boolean"),
        ({}, "any JSON"),
    ],
)
def test_a_type_is_described_in_words(schema: Any, words: str) -> None:
    field = answer_form(FormRequest(schema)).field
    assert isinstance(field, DrawnField)
    assert field.type == words


def test_the_form_fits_a_narrow_window(page: Page) -> None:
    before = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 700})
    try:
        for row in _CORPUS:
            if row["name"] in {
                "depth-20-arrays",
                "depth-60",
                "names-odd",
                "cycle-expression",
                "elicitation",
                "string-markup",
            }:
                _show(page, row["schema"], row["values"][-1])
                assert page.evaluate("document.documentElement.scrollWidth") <= 360, row["name"]
    finally:
        assert before
        page.set_viewport_size(before)


def test_what_takes_too_long_to_check_is_left_to_the_server(page: Page) -> None:
    """Two alternatives at each of 60 levels are 2^60 paths."""
    part = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/n"}, "end": {"type": "integer"}},
    }
    schema = {
        "$defs": {"n": {"anyOf": [{**part, "title": "a"}, {**part, "title": "b"}]}},
        "$ref": "#/$defs/n",
    }
    value: Any = {"end": "wrong"}
    for _ in range(60):
        value = {"next": value}
    _show(page, schema, value)
    assert _sent(page) == (value, [])
    assert "The server checks the value" in page.locator("#form").inner_text()


def test_the_form_and_its_libraries_stay_small() -> None:
    form = sum((_STATIC / "js" / name).stat().st_size for name in _FORM_FILES)
    assert form <= 32_000
    assert (_STATIC / "vendor" / "preact.js").stat().st_size <= 14_000


def test_only_the_answer_for_the_newest_value_counts(page: Page) -> None:
    """The first answer is held back until the value has changed again."""
    _show(page, {"type": "object", "properties": {"a": {"type": "string", "minLength": 3}}})
    held: list[Route] = []
    page.route("**/api/form", lambda route: held.append(route), times=1)
    page.get_by_label("a", exact=True).click()
    with page.expect_request("**/api/form"):
        page.keyboard.type("x")
    page.keyboard.type("yz")
    form = page.locator("#form")
    assert form.get_attribute("aria-busy") == "true"
    old = {"errors": [{"path": [], "message": "is old"}]}
    held[0].fulfill(json=old)
    assert _sent(page) == ({"a": "xyz"}, [])
    assert form.get_attribute("aria-busy") == "false"
    assert page.get_by_label("a", exact=True).get_attribute("aria-invalid") is None


def test_a_form_stays_usable_while_the_server_is_gone(page: Page) -> None:
    _show(page, {"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}})
    page.route("**/api/form", lambda route: route.abort())
    field = page.get_by_label("a", exact=True)
    field.fill("7")
    assert _sent(page)[0] == {"a": 7}
    assert "could not be checked" in _sent(page)[1][0]
    assert "could not be checked" in page.locator("#form").inner_text()
    page.get_by_role("tab", name="JSON").click()
    _write_json(page, '{"a": 1}')
    assert _sent(page)[0] == {"a": 1}
    page.unroute("**/api/form")
    _write_json(page, '{"a": 2}')
    assert _sent(page) == ({"a": 2}, ["/a must be at least 5"])
    assert "could not be checked" not in page.locator("#form").inner_text()


def test_half_typed_text_is_never_sent(page: Page) -> None:
    _show(page, {"type": "object", "properties": {"a": {"type": "integer"}}})
    bodies: list[str] = []
    page.on("request", lambda sent: bodies.append(sent.post_data or ""))
    page.get_by_label("a", exact=True).fill("12x")
    assert _sent(page)[1] == ["/a must be a number"]
    assert bodies
    assert not any("12x" in body for body in bodies)
