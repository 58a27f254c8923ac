"""URI templates: what they read out of a URI, what they refuse, and that they do it in time."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dovetail.core.uri_template import UnsafeValue, UriTemplate, is_template, is_uri
from dovetail.errors import UsageError


def test_text_with_a_brace_is_meant_as_a_template() -> None:
    assert is_template("note://{id}")
    assert not is_template("note://one")


def test_a_uri_has_a_scheme_and_no_blanks() -> None:
    for uri in ("note://one", "obsidian-note:///a%20b.md", "urn:x"):
        assert is_uri(uri)
    for text in ("", "note", "/note", "note://a b", "1:x", "note://{id}", "note://a\n"):
        assert not is_uri(text)


def test_variables_are_listed_in_the_order_of_the_text() -> None:
    template = UriTemplate("git://{repo}/{path*}{?ref,depth}{&raw}")
    assert template.text == "git://{repo}/{path*}{?ref,depth}{&raw}"
    assert template.variables == ("repo", "path", "ref", "depth", "raw")
    assert template.optional == {"ref", "depth", "raw"}
    assert repr(template) == "UriTemplate('git://{repo}/{path*}{?ref,depth}{&raw}')"


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("note://{id}", "note://7", {"id": "7"}),
        ("{id}", "7", {"id": "7"}),
        ("note://{id}/text", "note://7/text", {"id": "7"}),
        ("file:///{path*}", "file:///a/b/c.txt", {"path": "a/b/c.txt"}),
        ("file:///{+path}", "file:///a/b/c.txt", {"path": "a/b/c.txt"}),
        ("a://{x}-{y}", "a://1-2-3", {"x": "1", "y": "2-3"}),
        ("a://{x}/{y}.{z}", "a://1/2.3.4", {"x": "1", "y": "2", "z": "3.4"}),
        ("a://{path*}/v/{n}", "a://p/v/q/v/3", {"path": "p/v/q", "n": "3"}),
        ("a://{path*}.{ext}", "a://p/q.tar.gz", {"path": "p/q.tar", "ext": "gz"}),
        ("a://{x}-{path*}", "a://1-2-3/4", {"x": "1", "path": "2-3/4"}),
        ("a://{path*}-{y}-{z}!", "a://2-3-45-67!", {"path": "2-3", "y": "45", "z": "67"}),
        ("a://{x}#{y}", "a://1#2", {"x": "1", "y": "2"}),
        ("a://s{?q,n}", "a://s", {}),
        ("a://s{?q,n}", "a://s?n=2&q=x", {"q": "x", "n": "2"}),
        ("a://s{?q}", "a://s?q=", {"q": ""}),
        ("a://s{?q}", "a://s?q", {"q": ""}),
        ("a://s{?q}", "a://s?q=1=2+3", {"q": "1=2+3"}),
        ("a://s{?q}", "a://s?q=/a/b", {"q": "/a/b"}),
        ("a://s?q={text}{&n}", "a://s?n=2&q=x", {"text": "x", "n": "2"}),
        ("a://s?kind=all&q={q}", "a://s?q=x&kind=all", {"q": "x"}),
    ],
)
def test_a_uri_of_the_right_shape_gives_its_values(
    template: str, uri: str, values: dict[str, str]
) -> None:
    found = UriTemplate(template).match(uri)
    assert found == values
    assert list(found) == [name for name in UriTemplate(template).variables if name in values]


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("note://{id}", "note://"),
        ("note://{id}", "memo://7"),
        ("note://{id}", "note://7/8"),
        ("note://{id}", "note://7#part"),
        ("note://{id}", "note://7?x=1"),
        ("note://{id}", "note://7?"),
        ("note://{id}/text", "note://7/txt"),
        ("note://{id}/text", "note:///text"),
        ("file:///{path*}", "file:///"),
        ("file:///{path*}", "file:///a#b"),
        ("a://aa{path*}aa", "a://aaa"),
        ("a://{x}-{y}", "a://1/2-3"),
        ("a://{path*}/v/{n}", "a://p/v/"),
        ("a://s{?q}", "a://sx"),
        ("a://s{?q}", "a://"),
        ("a://s{?q}", "a://s?Q=1"),
        ("a://s{?q}", "a://s?q=1&other=2"),
        ("a://s{?q}", "a://s?q=1#part"),
        ("a://s?q={q}", "a://s"),
        ("a://s?kind=all&q={q}", "a://s?q=x&kind=some"),
        ("a://s?kind=all&q={q}", "a://s?q=x"),
    ],
)
def test_a_uri_of_another_shape_does_not_match(template: str, uri: str) -> None:
    assert UriTemplate(template).match(uri) is None


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("a%20b", "a b"),
        ("caf%C3%A9", "café"),
        ("café", "café"),
        ("a+b", "a+b"),
        ("...", "..."),
        ("a..b", "a..b"),
        ("%252e%252e", "%2e%2e"),
        ("%252F", "%2F"),
    ],
)
def test_values_are_decoded_exactly_once(raw: str, value: str) -> None:
    assert UriTemplate("note://{id}").match(f"note://{raw}") == {"id": value}


@pytest.mark.parametrize(
    ("template", "uri", "variable", "reason"),
    [
        ("note://{id}", "note://..", "id", "climbs out"),
        ("note://{id}", "note://%2e%2E", "id", "climbs out"),
        ("note://{id}", "note://..%2Fsecret", "id", "climbs out"),
        ("note://{id}", "note://a%2Fb", "id", "encoded slash"),
        ("note://{id}", "note://a%5Cb", "id", "encoded slash"),
        ("note://{id}", "note://a%00", "id", "NUL"),
        ("note://{id}", "note://a\0", "id", "NUL"),
        ("note://{id}", "note://a%", "id", "hexadecimal"),
        ("note://{id}", "note://a%2", "id", "hexadecimal"),
        ("note://{id}", "note://a%zz", "id", "hexadecimal"),
        ("note://{id}", "note://%ff", "id", "UTF-8"),
        ("note://{id}", "note://%c0%ae%c0%ae", "id", "UTF-8"),
        ("note://{id}", "note://\ud800", "id", "UTF-8"),
        ("note://{id}/{n}", "note://../1", "id", "climbs out"),
        ("file:///{path*}", "file:///a/../../b", "path", "climbs out"),
        ("file:///{path*}", "file:///..", "path", "climbs out"),
        ("file:///{path*}", "file:///a/%2e./b", "path", "climbs out"),
        ("file:///{path*}", "file:///a%2F..%2Fb", "path", "climbs out"),
        ("file:///{path*}", "file:///a\\..\\b", "path", "climbs out"),
        ("file:///{path*}", "file:///a%5C..%5Cb", "path", "climbs out"),
        ("file:///{path*}", "file:////etc/passwd", "path", "absolute"),
        ("file:///{path*}", "file:///%2Fetc/passwd", "path", "absolute"),
        ("file:///{path*}", "file:///%5C%5Chost/share", "path", "absolute"),
        ("file:///{path*}", "file:///C:/Windows", "path", "absolute"),
        ("file://{+path}", "file:///etc/passwd", "path", "absolute"),
        ("a://s{?dir}", "a://s?dir=../x", "dir", "climbs out"),
        ("a://s{?q}", "a://s?q=1&q=1", "q", "more than once"),
        ("a://s?q={text}", "a://s?q=1&q=2", "text", "more than once"),
        ("a://s?k=1{&q}", "a://s?k=1&k=1", "k", "more than once"),
    ],
)
def test_a_dangerous_value_is_refused_by_name_and_reason(
    template: str, uri: str, variable: str, reason: str
) -> None:
    with pytest.raises(UnsafeValue, match=reason) as caught:
        UriTemplate(template).match(uri)
    assert caught.value.variable == variable
    assert reason in caught.value.reason
    assert repr(variable) in str(caught.value)


@pytest.mark.parametrize(
    ("template", "position", "words"),
    [
        ("note://{id", 7, "never closed"),
        ("note://{id}}", 11, "percent-encode"),
        ("note://{}", 7, "unsupported"),
        ("note://{/id}", 7, "unsupported"),
        ("note://{#id}", 7, "unsupported"),
        ("note://{.id}", 7, "unsupported"),
        ("note://{;id}", 7, "unsupported"),
        ("note://{id:3}", 7, "unsupported"),
        ("note://{a,b}", 7, "unsupported"),
        ("note://{+id*}", 7, "unsupported"),
        ("note://{1st}", 7, "unsupported"),
        ("note://{id?}", 7, "unsupported"),
        ("note://{&id}", 7, "unsupported"),
        ("note://{?id*}", 7, "unsupported"),
        ("note://my notes/{id}", 9, "percent-encode"),
        ("note://caf\u00e9/{id}", 10, "percent-encode"),
        ("note://50%/{id}", 9, "percent-encode"),
        ("note://{a}{b}", 10, "directly after another"),
        ("note://{a*}/{+b}", 12, "second variable over slashes"),
        ("note://{a}/{a}", 11, "'a' a second time"),
        ("note://{a}{?a}", 10, "'a' a second time"),
        ("note://{?a,a}", 7, "'a' a second time"),
        ("note://?a={x}{&a}", 13, "'a' a second time"),
        ("note://{?a}{?b}", 11, "use '&'"),
        ("note://{?a}/more", 11, "not a query parameter"),
        ("note://?a={x}y", 13, "not a query parameter"),
        ("note://?flag{&x}", 7, "not a query parameter"),
        ("note://?a=1{b}", 11, "unsupported"),
    ],
)
def test_a_malformed_template_is_refused_with_the_position(
    template: str, position: int, words: str
) -> None:
    with pytest.raises(UsageError, match=rf"position {position} .*{words}"):
        UriTemplate(template)


@pytest.mark.parametrize("text", ["", "note://one", "note://one?a=b"])
def test_a_template_without_a_variable_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no variable"):
        UriTemplate(text)


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("note://{id}", {"id": "a b&c"}, "note://a%20b%26c"),
        ("file:///{+path}", {"path": "a/b c!.txt"}, "file:///a/b%20c!.txt"),
        ("file:///{path*}", {"path": "what?#[1]%"}, "file:///what%3F%23%5B1%5D%25"),
        ("a://s{?q,n}", {"n": "2"}, "a://s?n=2"),
        ("a://s{?q,n}", {}, "a://s"),
        ("a://s?k=1&q={q}{&n}", {"q": "é&=", "n": "/"}, "a://s?k=1&q=%C3%A9%26%3D&n=%2F"),
    ],
)
def test_expanding_percent_encodes_what_a_uri_cannot_hold(
    template: str, values: dict[str, str], uri: str
) -> None:
    assert UriTemplate(template).expand(values) == uri


def test_expanding_asks_for_every_name_it_needs_and_no_other() -> None:
    with pytest.raises(UsageError, match="missing: id, unknown: key"):
        UriTemplate("note://{id}{?q}").expand({"key": "1"})


def test_expanding_refuses_values_that_would_be_read_back_differently() -> None:
    with pytest.raises(UsageError, match="has other values"):
        UriTemplate("a://{x}-{y}").expand({"x": "1-2", "y": "3"})
    with pytest.raises(UsageError, match="has other values"):
        UriTemplate("a://{x}").expand({"x": ""})


@pytest.mark.parametrize("value", ["..", "a/b", "\0", "\ud800"])
def test_expanding_refuses_what_matching_would_refuse(value: str) -> None:
    with pytest.raises(UnsafeValue):
        UriTemplate("a://{x}").expand({"x": value})


@given(st.text(min_size=1), st.text(min_size=1), st.none() | st.text())
def test_what_is_expanded_is_read_back_the_same(ident: str, path: str, query: str | None) -> None:
    template = UriTemplate("a://{id}/x/{path*}/y{?q}")
    values = {"id": ident, "path": path} | ({} if query is None else {"q": query})
    try:
        uri = template.expand(values)
    except UnsafeValue:
        assume(False)
    assert uri.isascii()
    assert template.match(uri) == values


@given(st.text(alphabet="a./\\%2eEfF5cC0:"))
def test_no_value_that_reaches_a_handler_climbs_out(tail: str) -> None:
    for template in (
        UriTemplate("f:///{p*}"),
        UriTemplate("f:///{p}"),
        UriTemplate("f:///{p}/{q}"),
    ):
        try:
            values = template.match(f"f:///{tail}") or {}
        except UnsafeValue:
            continue
        for value in values.values():
            assert ".." not in value.replace("\\", "/").split("/")
            assert not value.startswith(("/", "\\"))


@given(st.text(alphabet="-/xa", max_size=12))
def test_matching_finds_a_way_whenever_there_is_one(text: str) -> None:
    def has_a_way(text: str) -> bool:
        # {a}-{b}/{p*}x{c}: every way of sharing the text, tried one by one.
        return any(
            0 < dash < slash - 1 and slash + 1 < mark and mark < len(text) - 1
            for slash in [text.find("/")]
            for dash in range(max(slash, 0))
            for mark in range(slash + 1, len(text))
            if text[dash] == "-" and text[mark] == "x" and "/" not in text[mark:]
        )

    template = UriTemplate("{a}-{b}/{p*}x{c}")
    try:
        found = template.match(text) is not None
    except UnsafeValue:
        found = True
    assert found == has_a_way(text)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{a}-{b}-{c}-{d}-{e}!", "-" * 400_000),
        ("{p*}-{a}-{b}-{c}!", "-" * 400_000 + "/"),
        ("{a}-{p*}-{b}!", "a-" * 200_000),
        ("{p*}", "%2e" * 130_000 + "%"),
        ("x{?q}", "x?" + "q=1&" * 100_000),
    ],
)
def test_a_long_hostile_uri_takes_linear_time(template: str, uri: str) -> None:
    parsed = UriTemplate(template)
    start = time.process_time()
    with contextlib.suppress(UnsafeValue):
        parsed.match(uri)
    # Linear time is some milliseconds; trying every split of the text would take hours.
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("users://{id}", "users://{name}", True),
        ("a://{x}/{y}?k={v}{&n}", "a://{p}/{q}?k={w}{&n}", True),
        ("a://{x}?k=1&l={v}", "a://{y}?l={w}&k=1", True),
        ("a://{+path}", "a://{file*}", True),
        ("users://{id}", "users://{+id}", False),
        ("users://{id}", "users://{id}/x", False),
        ("a://s{?q}", "a://s{?r}", False),
        ("a://s?q={q}", "a://s{?q}", False),
        ("a://{x}?k=1", "a://{x}?k=2", False),
    ],
)
def test_templates_that_differ_in_names_only_match_the_same_uris(
    first: str, second: str, same: bool
) -> None:
    assert UriTemplate(first).is_same_as(UriTemplate(second)) is same
    assert UriTemplate(second).is_same_as(UriTemplate(first)) is same
