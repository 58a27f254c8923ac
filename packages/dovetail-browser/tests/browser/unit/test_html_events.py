"""HTML, also broken or deeply nested, becomes a well-formed stream without hidden content."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail_browser.html_events import End, Start, Text, read_events

BASE = "https://site.test/a/b.html"


def spelled(html: str, main_only: bool = False) -> str:
    written = ""
    for event in read_events(html, BASE, main_only):
        match event:
            case Start(tag, attributes):
                written += f"<{tag}{''.join(f' {k}={v}' for k, v in attributes.items())}>"
            case Text(text):
                written += text
            case End(tag):
                written += f"</{tag}>"
    return written


def test_every_start_has_its_end() -> None:
    assert spelled("<p>a<br>b<p>c") == "<p>a<br></br>b</p><p>c</p>"


def test_a_visible_child_of_a_hidden_parent_is_kept() -> None:
    html = '<div style="visibility:hidden" title=x>a<p style="visibility:visible">b</p>c</div>'
    assert spelled(html) == "<div><p style=visibility:visible>b</p></div>"


def test_closed_details_keep_their_summary() -> None:
    html = "<details>a<summary>b<i>c</i></summary>d<p>e</p></details>f"
    assert spelled(html) == "<details><summary>b<i>c</i></summary></details>f"
    assert "e" in spelled(html.replace("<details>", "<details open>"))


def test_urls_become_absolute_and_script_urls_are_removed() -> None:
    assert spelled("<a href=c.html>") == "<a href=https://site.test/a/c.html></a>"
    assert spelled("<a href=b.html#x>") == "<a href=#x></a>"
    assert spelled("<a href=javascript:x>") == "<a clickable=></a>"
    assert spelled("<form action=data:x>") == "<form></form>"
    assert spelled("<a href='http://[x'>") == "<a href=http://[x></a>"


def test_the_main_part_is_the_longest_of_its_kind() -> None:
    html = "<article>a</article><article>longer</article><nav>n</nav>"
    assert spelled(html, main_only=True) == "<article>longer</article>"


def test_extremely_deep_nesting_is_dropped() -> None:
    html = "<i>a</i>" + "<b>" * 3_000 + "x" + "</b>" * 3_000 + "<i>z</i>"
    written = spelled(html)
    assert written.startswith("<i>a</i>") and written.endswith("<i>z</i>")
    assert written.count("<b>") <= 500


def test_many_unclosed_items_do_not_count_as_depth() -> None:
    assert spelled("<ul>" + "<li>x<p>y" * 2_000).count("<li>") == 2_000


@given(st.text(alphabet="<>/=\"' abdehilmnpst-!", max_size=100))
def test_starts_and_ends_match_for_any_input(html: str) -> None:
    opened: list[str] = []
    for event in read_events(html, BASE):
        match event:
            case Start(tag, _):
                opened.append(tag)
            case End(tag):
                assert opened.pop() == tag
    assert opened == []
