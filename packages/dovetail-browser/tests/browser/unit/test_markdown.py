"""Rendering of HTML as Markdown."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from dovetail_browser.markdown import to_markdown

BASE = "https://site.test/a/"

FORMS = {
    "headings": ("<h1>A</h1><p>b</p><h3>C <em>d</em></h3>", "# A\n\nb\n\n### C d"),
    "paragraphs": ("<p>a\n  b</p><p>c</p>", "a b\n\nc"),
    "text between blocks": ("a<div>b</div>c", "a\n\nb\n\nc"),
    "line break": ("<p>a<br>b</p>", "a\\\nb"),
    "emphasis": ("<p><b>a</b> <i> b </i><s>c</s>d</p>", "**a** *b* ~~c~~d"),
    "emphasis without a word": ("<p>a<b> </b>c</p>", "a c"),
    "code": ("<p><code>a*b</code> and <code>`x`</code></p>", "`a*b` and `` `x` ``"),
    "code block": ("<pre>a\n  b\n</pre>", "```\na\n  b\n```"),
    "code block with its language": (
        '<pre><code class="language-js">f()</code></pre>',
        "```js\nf()\n```",
    ),
    "code block in a named box": (
        '<div class="highlight-python notranslate"><pre><span>x</span> = 1</pre></div>',
        "```python\nx = 1\n```",
    ),
    "code block with ticks": ("<pre>```\nx</pre>", "````\n```\nx\n````"),
    "link": ("<p><a href=b.html>b</a></p>", "[b](https://site.test/a/b.html)"),
    "link with brackets": ("<a href='x_(y)'>a]b</a>", r"[a\]b](<https://site.test/a/x_(y)>)"),
    "link without text": (
        "<a href=x aria-label=Home><svg></svg></a>",
        "[Home](https://site.test/a/x)",
    ),
    "link of this page": ("<a href=#x>part</a>", "part"),
    "link around blocks": ("<a href=x><h3>A</h3><p>b</p></a>", "[A b](https://site.test/a/x)"),
    "image": ("<img src=i.png alt='A cat'>", "![A cat](https://site.test/a/i.png)"),
    "image without words": ("<p>a<img src=i.png></p>", "a"),
    "image in a link": ("<a href=x><img src=i.png alt=Cat></a>", "[Cat](https://site.test/a/x)"),
    "list": ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
    "numbers": ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
    "nested": ("<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  1. b\n  2. c\n- d"),
    "item with paragraphs": ("<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n- c"),
    "item with code": ("<ul><li>a<pre>x\n y</pre></ul>", "- a\n\n  ```\n  x\n   y\n  ```"),
    "list after text": ("<p>a</p><ul><li>b</ul><p>c</p>", "a\n\n- b\n\nc"),
    "quote": ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc"),
    "quoted list": ("<blockquote><ul><li>a<li>b</ul></blockquote>", "> - a\n> - b"),
    "terms": ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\n: b\n\nc\n: d"),
    "rule": ("a<hr>b", "a\n\n---\n\nb"),
    "table": (
        "<table><caption>T</caption><tr><th>a<th>b<tr><td>1|2<td><b>3</b></table>",
        "T\n\n| a | b |\n|---|---|\n| 1\\|2 | **3** |",
    ),
    "table without a head": (
        "<table><tr><td>1<td>2<tr><td colspan=2>3</table>",
        "|  |  |\n|---|---|\n| 1 | 2 |\n| 3 |  |",
    ),
    "table as a layout": ("<table><tr><td><h1>A</h1><td><ul><li>b</ul></table>", "# A\n\n- b"),
    "table of one column": ("<table><tr><td>a<tr><td>b</table>", "a\n\nb"),
    "stars": ("<p>2*3 and a_b and _c_</p>", r"2\*3 and a_b and \_c\_"),
    "marks at the start": ("<p># no</p><p>- no</p><p>1. no</p>", "\\# no\n\n\\- no\n\n1\\. no"),
    "tag as text": ("<p>&lt;b&gt; 1 &lt; 2</p>", r"\<b> 1 < 2"),
    "choice": ("<select><option>a<option selected>b</select>", "b"),
    "boxes": ("<label><input type=checkbox checked> a</label>", "[x] a"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("html", "expected"), FORMS.values(), ids=FORMS.keys())
def test_each_kind_of_content_is_rendered(html: str, expected: str) -> None:
    assert to_markdown(html, BASE) == expected


def test_very_deep_nesting_is_handled() -> None:
    deep = "<ul><li>" * 20_000 + "x"
    assert len(to_markdown(f"<p>first</p>{deep}", BASE)) < 10_000
    assert "first" in to_markdown("<p>first</p>" + "<div>" * 50_000 + "x", BASE)


@given(st.text(alphabet="ab*_`[]()<>#+-.1 \n\\~|!&", max_size=60))
def test_text_survives_a_round_trip_through_markdown(text: str) -> None:
    markdown = to_markdown(f"<p>x{escape(text)}</p>", BASE)
    rendered = MarkdownIt("commonmark").enable("table").enable("strikethrough").render(markdown)
    assert LexborHTMLParser(rendered).text().split() == f"x{text}".split()
