"""Plain text keeps the words, their order and their lines."""

from __future__ import annotations

import pytest

from dovetail_browser.plain_text import to_text

FORMS = {
    "paragraphs": ("<h1>A</h1><p>b <b>c</b></p>", "A\n\nb c"),
    "links": ("<p><a href=x>a</a>, <img src=i alt=cat></p>", "a, cat"),
    "stars": ("<p>2*3_</p>", "2*3_"),
    "list": ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
    "table": ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a\tb\n1\t2"),
    "code": ("<pre>x\n  y</pre>", "x\n  y"),
    "line break": ("<p>a<br>b</p>", "a\nb"),
    "rule": ("a<hr>b", "a\n\nb"),
}


@pytest.mark.parametrize(("html", "expected"), FORMS.values(), ids=FORMS.keys())
def test_each_kind_of_content_is_rendered(html: str, expected: str) -> None:
    assert to_text(html, "https://site.test/") == expected
