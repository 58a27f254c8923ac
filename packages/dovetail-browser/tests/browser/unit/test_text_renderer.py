"""Rendering that all formatters share."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_browser.formatter import Formatter
from dovetail_browser.html_events import Text, read_events
from dovetail_browser.html_vocabulary import words
from dovetail_browser.text_renderer import render

BLOCKS = {
    "blocks in a heading": ("<h1><div>a</div><div>b</div></h1>", "a b"),
    "heading in a link": ("<a href=x><h2>a</h2>b</a>", "a b"),
    "code in a cell": ("<table><tr><td><code>a</code><td>b</table>", "a\tb"),
    "code lines in a heading": ("<h1>a<pre>b\nc</pre></h1>", "a b c"),
    "code with line elements": ("<pre><div>a</div><div>b</div></pre>", "a\nb"),
    "code in code": ("<pre>a<pre>b</pre>c</pre>", "a\nb\nc"),
    "item without a list": ("<li>a<li>b", "- a\n\n- b"),
    "list in a cell": ("<table><tr><td><ul><li>a</ul><td>b</table>", "- a\n\nb"),
    "quote in a link": ("<a href=x><blockquote>a</blockquote></a>", "a"),
    "rule in a table": ("<table><tr><td>a<hr><td>b</table>", "a\tb"),
    "caption": ("<table><caption>c</caption><tr><td>a<td>b</table>", "c\n\na\tb"),
    "choice": ("<select><option>a<option selected>b<option>c</select>d", "bd"),
    "links side by side": ("<a href=x>a</a><a href=y>b</a>", "a b"),
    "wrapped links": ("<b><a href=x>a</a></b><b><a href=y>b</a></b>", "a b"),
    "labels": ("<label>a</label><label>b</label>c", "a bc"),
    "typed": ("<textarea>a</textarea> <input value=b>", "a b"),
}


@pytest.mark.parametrize(("html", "expected"), BLOCKS.values(), ids=BLOCKS.keys())
def test_blocks_in_inline_content(html: str, expected: str) -> None:
    assert render(read_events(html, ""), Formatter()) == expected


TAGS = words("p div h1 h2 ul ol li table tr td th a b code pre blockquote dl dt dd caption br hr")
PIECES = st.one_of(
    st.sampled_from(sorted(f"<{end}{tag}>" for tag in TAGS for end in ("", "/"))),
    st.integers(100, 999).map(lambda number: f" {number} "),
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_word_is_lost_in_any_nesting(html: str) -> None:
    given_words = [
        word
        for event in read_events(html, "")
        if isinstance(event, Text)
        for word in event.text.split()
    ]
    rendered = re.sub(r"\b\d\. ", "", render(read_events(html, ""), Formatter()))
    assert sorted(re.findall(r"\d{3}", rendered)) == sorted(given_words)
