"""What reads names must not cry wolf: texts that are fine, and texts that are not."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.wire import codec
from dovetail_check import pages
from dovetail_check.exchanges import Heard
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import Rule, rules
from dovetail_check.verdicts import Observation

pages.load()


def sights_of(row: str, params: Any) -> list[Observation]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params}
    text = codec.encode(message).decode()
    frame = Frame(n=1, at=0, session="s", line="main", kind="received", text=text)
    judged_by = rules[row]
    assert isinstance(judged_by, Rule)
    assert Heard(frame, message).is_request
    return [
        note.observation for note in judged_by.judge(ProbeSession("stdio", LATEST_LEGACY, [frame]))
    ]


def form(message: str = "Please.", **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields}
    return {"message": message, "requestedSchema": schema}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("password", {"type": "string"}),
        ("apiKey", {"type": "string"}),
        ("api-key", {"type": "string"}),
        ("value", {"type": "string", "title": "Access token"}),
        ("github_access_token", {"type": "string"}),
        ("CardNumber", {"type": "string"}),
    ],
)
def test_a_field_for_a_secret_is_known(name: str, field: Any) -> None:
    assert sights_of("elicit.form.no-sensitive", form(**{name: field})) == [Observation.BROKEN]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("name", {"type": "string"}),
        ("email", {"type": "string", "format": "email"}),
        ("max_tokens", {"type": "integer"}),
        ("token_count", {"type": "integer"}),
        ("has_password", {"type": "boolean"}),
        ("password_policy", {"type": "string"}),
        ("secretary", {"type": "string"}),
        ("key", {"type": "string"}),
        ("access_token", {"type": "string", "enum": ["keep", "drop"]}),
    ],
)
def test_a_field_that_only_sounds_like_it_is_fine(name: str, field: Any) -> None:
    assert sights_of("elicit.form.no-sensitive", form(**{name: field})) == [Observation.KEPT]


def test_a_word_in_a_text_is_left_open() -> None:
    asked = form("We never ask for your password.", name={"type": "string"})
    assert sights_of("elicit.form.no-sensitive", asked) == [Observation.UNSETTLED]


@pytest.mark.parametrize("row", ["elicit.form.no-sensitive", "elicit.form.no-clickable"])
@pytest.mark.parametrize("schema", [None, 5, [], {"properties": []}, {"properties": {"a": 5}}])
def test_strange_forms_are_read_as_far_as_they_go(row: str, schema: Any) -> None:
    assert sights_of(row, {"message": 5, "requestedSchema": schema}) == [Observation.KEPT]


@pytest.mark.parametrize(
    ("url", "observation"),
    [
        ("https://example.org/page?state=abc", Observation.KEPT),
        ("http://localhost:8000/page", Observation.KEPT),
        ("myapp://open/page", Observation.KEPT),
        ("example.org/page", Observation.BROKEN),
        ("https://", Observation.BROKEN),
        ("https://example.org:port/", Observation.BROKEN),
        ("https://example.org/a page", Observation.BROKEN),
        ("", Observation.BROKEN),
        (5, Observation.BROKEN),
    ],
)
def test_a_url_is_one_or_not(url: Any, observation: Observation) -> None:
    params = {"mode": "url", "message": "Please.", "url": url}
    assert sights_of("elicit.url.valid", params) == [observation]


@pytest.mark.parametrize(
    ("url", "observation"),
    [
        ("https://example.org/page?state=abc&token_type=x", Observation.KEPT),
        ("https://ada:secret@example.org/", Observation.BROKEN),
        ("https://example.org/?api_key=abc", Observation.BROKEN),
        ("https://example.org/?api_key=", Observation.KEPT),
        ("https://example.org/?login_hint=ada%40example.org", Observation.UNSETTLED),
        ("https://example.org/@ada", Observation.KEPT),
    ],
)
def test_a_url_with_the_users_data_is_known(url: str, observation: Observation) -> None:
    params = {"mode": "url", "message": "Please.", "url": url}
    assert sights_of("elicit.url.no-user-data", params) == [observation]


def test_a_link_is_for_fields_that_want_one() -> None:
    link = "such as https://example.org/me"
    wants = form(page={"type": "string", "format": "uri", "description": link})
    other = form(name={"type": "string", "description": link})
    assert sights_of("elicit.form.no-clickable", wants) == [Observation.KEPT]
    assert sights_of("elicit.form.no-clickable", other) == [Observation.BROKEN]
