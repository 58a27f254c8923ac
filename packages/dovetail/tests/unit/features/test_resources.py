"""Resources: fixed URIs and templates, contents of every kind, refusals that name the reason."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from dovetail import (
    Annotations,
    Context,
    EmbeddedResource,
    Icon,
    Image,
    ResourceNotFoundError,
    Server,
)
from dovetail.errors import DuplicateError, UsageError
from dovetail.spec.models import BlobContents, TextContents
from tests.unit.fakes import make_call
from tests.unit.talk import ERAS, LEGACY, MODERN, OLDEST, REVISIONS, answer, ask, refusal, run

PNG = b"\x89PNG\r\n\x1a\nrest"
BLOB = base64.b64encode(PNG).decode()


@dataclass
class Point:
    x: int


class Model(pydantic.BaseModel):
    name: str


def resource_of(returns: Any, value: Any, **options: Any) -> Server:
    server = Server("s")

    def r() -> Any:
        return value

    r.__annotations__["return"] = returns
    server.resources.add("n://a", r, blocking=False, **options)
    return server


def read(server: Server, uri: str = "n://a", **how: Any) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = ask(server, "resources/read", {"uri": uri}, **how)["contents"]
    return contents


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize(
    ("returns", "value", "listed", "contents"),
    [
        (str, "A", "text/plain", {"mimeType": "text/plain", "text": "A"}),
        (str | None, "A", "text/plain", {"mimeType": "text/plain", "text": "A"}),
        (str | bytes, PNG, None, {"mimeType": "image/png", "blob": BLOB}),
        (bytes, PNG, None, {"mimeType": "image/png", "blob": BLOB}),
        (bytes, b"\x00", None, {"mimeType": "application/octet-stream", "blob": "AA=="}),
        (Image, Image(PNG), None, {"mimeType": "image/png", "blob": BLOB}),
        (dict[str, int], {"a": 1}, "application/json",
         {"mimeType": "application/json", "text": '{"a":1}'}),
        (Point, Point(1), "application/json",
         {"mimeType": "application/json", "text": '{"x":1}'}),
        (Model, Model(name="a"), "application/json",
         {"mimeType": "application/json", "text": '{"name":"a"}'}),
        (Any, [1, 2], None, {"mimeType": "application/json", "text": "[1,2]"}),
        (list, [], None, {"mimeType": "application/json", "text": "[]"}),
        (TextContents, TextContents(uri="n://a", text="T"), None, {"text": "T"}),
    ],
)  # fmt: skip
def test_what_a_resource_returns_becomes_contents(
    revision: str, returns: Any, value: Any, listed: str | None, contents: Any
) -> None:
    server = resource_of(returns, value)
    assert read(server, revision=revision) == [{"uri": "n://a", **contents}]
    [listing] = ask(server, "resources/list", revision=revision)["resources"]
    assert listing.get("mimeType") == listed


def test_several_contents_keep_their_own_uris_and_types() -> None:
    value = [
        EmbeddedResource("n://a/1", "one"),
        EmbeddedResource("n://a/2", PNG),
        BlobContents(uri="n://a/3", blob="AA=="),
    ]
    assert read(resource_of(Any, value)) == [
        {"uri": "n://a/1", "mimeType": "text/plain", "text": "one"},
        {"uri": "n://a/2", "mimeType": "image/png", "blob": BLOB},
        {"uri": "n://a/3", "blob": "AA=="},
    ]


def test_a_mime_type_that_is_given_is_listed_and_sent() -> None:
    server = resource_of(str, "# A", mime_type="text/markdown")
    assert read(server)[0]["mimeType"] == "text/markdown"
    assert read(resource_of(Any, {"a": 1}, mime_type="application/ld+json"))[0]["mimeType"] == (
        "application/ld+json"
    )


@pytest.mark.parametrize(("revision", "code"), [(LEGACY, -32002), (MODERN, -32602)])
def test_nothing_there_is_an_error_and_not_an_empty_answer(revision: str, code: int) -> None:
    def missing() -> str:
        raise ResourceNotFoundError("n://b", "Gone since Monday")

    server = resource_of(Any, None)
    server.resources.add("n://b", missing)
    error = refusal(server, "resources/read", {"uri": "n://a"}, revision=revision)
    assert (error["code"], error["data"]) == (code, {"uri": "n://a"})
    own = refusal(server, "resources/read", {"uri": "n://b"}, revision=revision)
    assert (own["code"], own["message"]) == (code, "Gone since Monday")


@pytest.mark.parametrize(
    ("revision", "code"), [(OLDEST, -32002), (LEGACY, -32002), (MODERN, -32602)]
)
def test_an_unknown_uri_is_answered_with_the_nearest_one(revision: str, code: int) -> None:
    server = resource_of(str, "A")
    error = refusal(server, "resources/read", {"uri": "n://b"}, revision=revision)
    assert error["code"] == code
    assert error["message"] == "Resource not found: 'n://b'; did you mean 'n://a'?"
    assert error["data"] == {"uri": "n://b"}


def test_what_is_no_content_is_our_error(caplog: pytest.LogCaptureFixture) -> None:
    error = refusal(resource_of(Any, object()), "resources/read", {"uri": "n://a"})
    assert error["code"] == -32603
    assert "is neither content nor JSON" in caplog.text


# -- templates --------------------------------------------------------------------------------


def template_server() -> Server:
    server = Server("s")

    @server.resource("users://{id}/files/{+path}", title="Files")
    async def files(id: int, path: str, ctx: Context) -> str:
        """A user's file."""
        return f"{id} {path} {ctx.revision}"

    @server.resource("search://all{?q,limit}")
    def search(q: str = "", limit: int = 10) -> str:
        return f"{q!r} {limit}"

    return server


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("users://5/files/a/b%20c.txt", f"5 a/b c.txt {LEGACY}"),
        ("search://all", "'' 10"),
        ("search://all?q=x%26y&limit=3", "'x&y' 3"),
    ],
)
def test_variables_reach_the_function_decoded_and_typed(uri: str, text: str) -> None:
    [contents] = read(template_server(), uri)
    assert (contents["uri"], contents["text"]) == (uri, text)


@pytest.mark.parametrize(
    ("uri", "complaint"),
    [
        ("users://x/files/a", "'users://x/files/a' does not fit 'users://{id}/files/{+path}': id:"),
        ("users://5/files/../secret", "Refused: "),
        ("users://5/files/%2e%2e%2fsecret", "Refused: "),
    ],
)
@pytest.mark.parametrize("revision", ERAS)
def test_values_that_do_not_fit_or_climb_out_never_reach_the_function(
    uri: str, complaint: str, revision: str
) -> None:
    error = refusal(template_server(), "resources/read", {"uri": uri}, revision=revision)
    assert error["code"] == -32602
    assert error["message"].startswith(complaint)
    assert error["data"] == {"uri": uri}


def test_templates_have_a_list_of_their_own() -> None:
    server = template_server()
    first, second = ask(server, "resources/templates/list")["resourceTemplates"]
    assert first == {
        "uriTemplate": "users://{id}/files/{+path}",
        "name": "files",
        "title": "Files",
        "description": "A user's file.",
        "mimeType": "text/plain",
    }
    assert second["name"] == "search"
    assert ask(server, "resources/list")["resources"] == []
    assert [template.name for template in server.resources.templates()] == ["files", "search"]
    assert server.resources.list() == []
    assert len(server.resources) == 2


def test_a_fixed_uri_wins_over_a_template() -> None:
    server = Server("s")
    server.resources.add("n://{x}", lambda x: "template", name="t", blocking=False)
    server.resources.add("n://a", lambda: "fixed", name="f", blocking=False)
    assert read(server)[0]["text"] == "fixed"
    assert read(server, "n://b")[0]["text"] == "template"
    server.resources.remove("n://{x}")
    server.resources.remove("n://a")
    assert len(server.resources) == 0


@pytest.mark.parametrize(
    ("uri", "exists"),
    [
        ("users://5/files/a", True),
        ("users://x/files/a", False),
        ("users://5/files/../a", False),
        ("n://other", False),
    ],
)
def test_whether_a_uri_could_give_anything_is_known_without_reading(uri: str, exists: bool) -> None:
    server = template_server()
    call = make_call()
    call.services = server.engine
    assert server.resources.exists(call, uri) is exists


# -- registering ------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["", "today", "n:// a", "n://a\n", "1n://a", 'n://"a"'])
def test_what_is_no_uri_is_refused(uri: str) -> None:
    server = Server("s")
    with pytest.raises(UsageError, match="a resource needs a URI such as notes://today, got"):
        server.resources.add(uri, lambda: "A", name="a")


@pytest.mark.parametrize(
    ("uri", "function", "complaint"),
    [
        ("n://a", lambda x: x, r"has no variable for parameter 'x'; write \{x\} into it"),
        ("n://{x}", lambda: "A", "variable 'x' has no parameter"),
        ("n://{x}", lambda x, y: "A", "parameter 'y' is not always in the URI, give it a default"),
        ("n://a{?x}", lambda x: "A", "parameter 'x' is not always in the URI, give it a default"),
    ],
)
def test_a_uri_and_a_function_that_do_not_fit_are_refused(
    uri: str, function: Any, complaint: str
) -> None:
    server = Server("s")
    with pytest.raises(UsageError, match=complaint):
        server.resources.add(uri, function, name="f")


def test_a_fixed_uri_takes_a_function_with_defaults_and_a_context() -> None:
    server = Server("s")

    @server.resource("n://a", size=7)
    def a(ctx: Context, n: int = 3) -> str:
        return f"{n} {ctx.request_id}"

    assert read(server)[0]["text"] == "3 1"
    assert ask(server, "resources/list")["resources"][0]["size"] == 7


@pytest.mark.parametrize("uri", ["n://a", "n://{x}"])
def test_a_uri_is_registered_once(uri: str) -> None:
    server = Server("s")
    server.resources.add(uri, lambda x="": "A", name="a")
    with pytest.raises(DuplicateError, match=r"is registered already \(.*\); remove it first"):
        server.resources.add(uri, lambda x="": "B", name="b")


def test_a_template_with_other_names_is_the_same_template() -> None:
    server = Server("s")
    server.resource("users://{id}")(by_id)
    with pytest.raises(DuplicateError) as caught:
        server.resource("users://{name}")(by_name)
    lines = by_id.__code__.co_firstlineno, by_name.__code__.co_firstlineno
    assert str(caught.value) == (
        f"resource 'by_name' (test_resources.py:{lines[1]}): the template 'users://{{name}}' "
        "matches the same URIs as 'users://{id}' of resource 'by_id' "
        f"(test_resources.py:{lines[0]}); remove one of them or change its URI"
    )
    server.resources.remove("users://{id}")
    server.resource("users://{name}")(by_name)
    assert read(server, "users://7")[0]["text"] == "name 7"


def by_id(id: str) -> str:
    return f"id {id}"


def by_name(name: str) -> str:
    return f"name {name}"


@pytest.mark.parametrize(
    "options", [{"ttl_ms": -1}, {"cache_scope": "everyone"}, {"ttl_ms": -1, "cache_scope": "x"}]
)
def test_cache_hints_are_checked(options: Any) -> None:
    with pytest.raises(UsageError, match="cache_scope is 'public' or 'private'"):
        resource_of(str, "A", **options)


def test_cache_hints_reach_a_modern_client_only() -> None:
    server = resource_of(str, "A", ttl_ms=5000, cache_scope="public")
    modern = run(answer(server, "resources/read", {"uri": "n://a"}, revision=MODERN))["result"]
    assert (modern["ttlMs"], modern["cacheScope"]) == (5000, "public")
    plain = run(answer(resource_of(str, "A"), "resources/read", {"uri": "n://a"}, revision=MODERN))
    assert (plain["result"]["ttlMs"], plain["result"]["cacheScope"]) == (0, "private")
    assert "ttlMs" not in run(answer(server, "resources/read", {"uri": "n://a"}))["result"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_listing_says_all_that_the_revision_knows(revision: str) -> None:
    server = resource_of(
        str,
        "A",
        title="The A",
        description="First",
        annotations=Annotations(priority=1.0),
        icons=[Icon(src="https://e.com/i.png")],
        meta={"example.com/k": 1},
    )
    [listing] = ask(server, "resources/list", revision=revision)["resources"]
    assert (listing["uri"], listing["name"], listing["description"]) == ("n://a", "r", "First")
    assert listing["annotations"] == {"priority": 1.0}
    assert ("title" in listing) is (revision not in REVISIONS[:2])
    assert ("icons" in listing) is (revision in REVISIONS[3:])
