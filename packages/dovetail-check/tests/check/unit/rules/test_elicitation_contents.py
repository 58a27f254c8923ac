"""Rules that judge by names must not raise false alarms: allowed and forbidden texts."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.wire import codec
from dovetail_check import registry
from dovetail_check.exchanges import Incoming
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import Rule, rules
from dovetail_check.verdicts import Observation

registry.load()


def observations(row: str, params: Any) -> list[Observation]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params}
    text = codec.encode(message).decode()
    frame = Frame(n=1, at=0, session="s", connection="main", kind="received", text=text)
    judged_by = rules[row]
    assert isinstance(judged_by, Rule)
    assert Incoming(frame, message).is_request
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
def test_a_field_for_a_secret_is_detected(name: str, field: Any) -> None:
    assert observations("elicit.form.no-sensitive", form(**{name: field})) == [Observation.VIOLATED]


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
def test_a_field_with_a_similar_name_is_allowed(name: str, field: Any) -> None:
    assert observations("elicit.form.no-sensitive", form(**{name: field})) == [
        Observation.SATISFIED
    ]


def test_a_word_in_a_text_is_ambiguous() -> None:
    asked = form("We never ask for your password.", name={"type": "string"})
    assert observations("elicit.form.no-sensitive", asked) == [Observation.AMBIGUOUS]


@pytest.mark.parametrize("row", ["elicit.form.no-sensitive", "elicit.form.no-clickable"])
@pytest.mark.parametrize("schema", [None, 5, [], {"properties": []}, {"properties": {"a": 5}}])
def test_malformed_forms_are_read_as_far_as_possible(row: str, schema: Any) -> None:
    assert observations(row, {"message": 5, "requestedSchema": schema}) == [Observation.SATISFIED]


@pytest.mark.parametrize(
    ("url", "observation"),
    [
        ("https://example.org/page?state=abc", Observation.SATISFIED),
        ("http://localhost:8000/page", Observation.SATISFIED),
        ("myapp://open/page", Observation.SATISFIED),
        ("example.org/page", Observation.VIOLATED),
        ("https://", Observation.VIOLATED),
        ("https://example.org:port/", Observation.VIOLATED),
        ("https://example.org/a page", Observation.VIOLATED),
        ("", Observation.VIOLATED),
        (5, Observation.VIOLATED),
    ],
)
def test_url_validity(url: Any, observation: Observation) -> None:
    params = {"mode": "url", "message": "Please.", "url": url}
    assert observations("elicit.url.valid", params) == [observation]


@pytest.mark.parametrize(
    ("url", "observation"),
    [
        ("https://example.org/page?state=abc&token_type=x", Observation.SATISFIED),
        ("https://ada:secret@example.org/", Observation.VIOLATED),
        ("https://example.org/?api_key=abc", Observation.VIOLATED),
        ("https://example.org/?api_key=", Observation.SATISFIED),
        ("https://example.org/?login_hint=ada%40example.org", Observation.AMBIGUOUS),
        ("https://example.org/@ada", Observation.SATISFIED),
    ],
)
def test_a_url_with_user_data_is_detected(url: str, observation: Observation) -> None:
    params = {"mode": "url", "message": "Please.", "url": url}
    assert observations("elicit.url.no-user-data", params) == [observation]


def test_links_are_allowed_only_in_uri_fields() -> None:
    link = "such as https://example.org/me"
    wants = form(page={"type": "string", "format": "uri", "description": link})
    other = form(name={"type": "string", "description": link})
    assert observations("elicit.form.no-clickable", wants) == [Observation.SATISFIED]
    assert observations("elicit.form.no-clickable", other) == [Observation.VIOLATED]
