"""Cleaned HTML is short and safe, and its elements can still be addressed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from dovetail_browser.html_cleaner import clean_html

BASE = "https://site.test/docs/page.html"

# As served, with no browser at hand: what attributes alone tell.
GONE = {
    "hidden with children": "<div hidden><p>a</p><p>SECRET</p></div>",
    "hidden in capitals": "<DIV HIDDEN><P>SECRET</DIV>",
    "hidden, never closed": "<p>SHOWN</p><div hidden><b>SECRET",
    "hidden, closed twice": "<div hidden><i>SECRET</i></div></div><p>SHOWN</p>",
    "hidden by an empty value": '<div hidden=""><div><div>SECRET</div></div></div>',
    "display none": '<div style="color:red;display : none"><p>a</p>SECRET</div>',
    "display none, important": '<p style="display:none!important">SECRET</p>',
    "display none in capitals": '<p style="DISPLAY:NONE">SECRET</p>',
    "display none behind a comment": '<p style="/*x*/display:/*y*/none">SECRET</p>',
    "display none without quotes": "<p style=display:none>SECRET</p>",
    "visibility": '<p style="visibility:hidden">SECRET</p>',
    "opacity": '<p style="opacity:0.0">SECRET</p>',
    "font size": '<p style="font-size:0px">SECRET</p>',
    "far away": '<p style="position:absolute;left:-9999px">SECRET</p>',
    "indented": '<p style="text-indent:-999em">SECRET</p>',
    "no size": '<p style="height:0;overflow:hidden">SECRET</p>',
    "clipped": '<p style="clip-path:inset(100%)">SECRET</p>',
    "clipped the old way": '<p style="clip:rect(0 0 0 0);position:absolute">SECRET</p>',
    "same colour": '<p style="color:#fff;background:#fff">SECRET</p>',
    "handler without quotes": "<img src=x onerror=alert(/SECRET/)>",
    "handler in capitals": "<b ONCLICK=SECRET()>SHOWN</b>",
    "handler behind a slash": "<img/onerror=SECRET()/src=x>",
    "handler with a new line": "<b onclick\n=\n'SECRET()'>SHOWN</b>",
    "script": "<script>SECRET</script>",
    "script with a space": "<script >SECRET</script >",
    "script never closed": "<p>SHOWN</p><script>SECRET",
    "script in an svg": "<svg><script>SECRET</script></svg>",
    "style": "<style>SECRET</style>",
    "noscript": "<noscript><p>SECRET</p></noscript>",
    "template": "<template>SECRET</template>",
    "comment": "<!-- SECRET -->",
    "comment never closed": "<p>SHOWN</p><!-- SECRET",
    "comment that ends early": "<!--><b hidden>SECRET</b>",
    "conditional comment": "<!--[if IE]><p>SECRET</p><![endif]-->",
    "processing instruction": "<?php SECRET ?>",
    "cdata": "<![CDATA[SECRET]]>",
    "head": "<head><title>SECRET</title><meta content=SECRET></head>",
    "script address": '<a href="javascript:SECRET">SHOWN</a>',
    "script address in capitals": '<a href=" JaVaScRiPt:SECRET">SHOWN</a>',
    "script address with entities": '<a href="&#106;avascript:SECRET">SHOWN</a>',
    "script address with a new line": '<a href="java\nscript:SECRET">SHOWN</a>',
    "data image": '<img alt=x src="data:image/png;base64,SECRET">',
    "form action": '<form action="javascript:SECRET"><input></form>',
    "frame source": '<iframe srcdoc="<p>SECRET"></iframe>',
    "fallback": "<canvas>SECRET</canvas><video>SECRET</video><object>SECRET</object>",
    "hidden input": "<input type=HIDDEN value=SECRET>",
    "password": "<input type=password value=SECRET>",
    "closed details": "<details><summary>SHOWN</summary>SECRET<p>SECRET</p></details>",
    "dialog": "<dialog>SECRET</dialog>",
    "class and data": "<p class=SECRET data-x=SECRET style='color:SECRET'>SHOWN</p>",
    "srcset": "<img alt=x srcset='SECRET 2x' src=/i.png>",
    "unseen characters": "<p>SHOWN\u200b\U000e0041</p>",
}


@pytest.mark.parametrize("html", GONE.values(), ids=GONE.keys())
def test_content_hidden_by_attributes_is_removed_from_served_html(html: str) -> None:
    cleaned = clean_html(f"<p>SHOWN</p>{html}", BASE)
    assert "SECRET" not in cleaned
    assert "\U000e0041" not in cleaned
    assert cleaned.count("SHOWN") == 1 + html.count("SHOWN")


KEPT = {
    "id": ("<button id=go>Go</button>", "<button id=go>Go</button>"),
    "test id": ("<div data-testid=row class=x>Go</div>", "<div data-testid=row>Go</div>"),
    "role and label": (
        '<div role=button aria-label="Close it" class=x></div>',
        '<div role=button aria-label="Close it"></div>',
    ),
    "label for": ("<label for=a class=x>A</label>", "<label for=a>A</label>"),
    "field": (
        "<input class=x type=text name=q placeholder='Find it' value='' required>",
        '<input type=text name=q placeholder="Find it" value required>',
    ),
    "checked": ("<input type=checkbox checked>", "<input type=checkbox checked>"),
    "absolute link": ("<a href=../x.html>x</a>", "<a href=https://site.test/x.html>x</a>"),
    "link of this page": ("<a href=page.html#part>x</a>", "<a href=#part>x</a>"),
    "link with a query": (
        "<a href='?a=1&b=2'>x</a>",
        '<a href="https://site.test/docs/page.html?a=1&amp;b=2">x</a>',
    ),
    "image": ("<img src=i.png alt='A cat'>", '<img src=https://site.test/docs/i.png alt="A cat">'),
    "clickable": ("<div onclick=go()>Go</div>", "<div clickable>Go</div>"),
    "script link": ("<a href=javascript:go()>Go</a>", "<a clickable>Go</a>"),
    "reachable by keyboard": ("<div tabindex=0>Go</div>", "<div tabindex=0>Go</div>"),
    "editable": ("<div contenteditable=true>x</div>", "<div contenteditable=true>x</div>"),
    "title without text": ("<button title=Close></button>", "<button title=Close></button>"),
    "title beside text": ("<a href=#x title=Close>Shut</a>", "<a href=#x>Shut</a>"),
    "wrappers": ("<div><div><span>x</span></div><div>y</div></div>", "x\ny"),
    "white space": ("<p>  a \n\t b  </p>\n\n <p>c</p>", "<p>a b</p>\n<p>c</p>"),
    "space between words": ("<b>a</b> <i>b</i><i>c</i>", "<b>a</b> <i>b</i><i>c</i>"),
    "code": (
        "<pre class='x language-python'>\n\n  a\n    b</pre>",
        "<pre class=language-python>\n\n  a\n    b</pre>",
    ),
    "list": ("<ul class=x><li>a</li><li>b</li></ul>", "<ul><li>a<li>b</ul>"),
    "nested list": (
        "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
        "<ul><li>a\n<ul><li>b</ul><li>c</ul>",
    ),
    "table": (
        "<table><tbody><tr><td>a</td><td colspan=2></td></tr></tbody></table>",
        "<table><tr><td>a<td colspan=2></table>",
    ),
    "select": (
        "<select name=s><option value=1>a</option><option selected>b</option></select>",
        "<select name=s><option value=1>a<option selected>b</select>",
    ),
    "nothing": ("<p></p><div><span> </span></div><section class=x></section>", ""),
    "entities": ("<p>1 &lt; 2 &amp; 3</p>", "<p>1 &lt; 2 &amp; 3</p>"),
    "drawing": ("<svg aria-label=Menu><path d=M0></svg>", "<svg aria-label=Menu></svg>"),
    "drawing without a word": ("<svg><path d=M0><g><path></g></svg>", ""),
}


@pytest.mark.parametrize(("html", "expected"), KEPT.values(), ids=KEPT.keys())
def test_needed_attributes_are_kept_and_others_removed(html: str, expected: str) -> None:
    assert clean_html(html, BASE) == expected


def test_the_base_element_is_respected() -> None:
    assert "https://other.test/x" in clean_html("<base href=//other.test/><a href=x>x</a>", BASE)


def test_long_text_in_an_attribute_is_truncated() -> None:
    assert len(clean_html(f"<img src=i.png alt='{'word ' * 500}'>", BASE)) < 300


MAIN = {
    "main": "<nav>N</nav><main><p>M</p></main><footer>F</footer>",
    "role": "<div role=navigation>N</div><div role=main>M</div>",
    "article": "<header>N</header><article>M</article>",
    "neither": "<header>N</header><nav>N</nav><div>M</div><footer>F</footer>",
    "navigation inside": "<main><nav>N</nav>M</main>",
}


@pytest.mark.parametrize("html", MAIN.values(), ids=MAIN.keys())
def test_the_main_content_alone(html: str) -> None:
    cleaned = clean_html(html, BASE, main_only=True)
    assert "M" in cleaned
    assert "N" not in cleaned and "F" not in cleaned


def test_very_deep_nesting_is_handled() -> None:
    cleaned = clean_html("<p>SHOWN</p>" + "<div>" * 50_000 + "deep" + "</div>" * 50_000, BASE)
    assert "SHOWN" in cleaned
    assert "after" in clean_html("<div>" * 2_000 + "</div>" * 2_000 + "<p>after</p>", BASE)


@given(st.text(alphabet="<>/=\"'!- abdhinoprstuvy&;", max_size=80))
def test_cleaning_twice_does_not_change_the_text(html: str) -> None:
    once = clean_html(html, BASE)
    words = LexborHTMLParser(once).text().split()
    assert LexborHTMLParser(clean_html(once, BASE)).text().split() == words


@given(st.text(alphabet="<>/=\"' abcdefghinoprstuvy:&;", max_size=120))
def test_no_handler_survives(html: str) -> None:
    for node in LexborHTMLParser(clean_html(html, BASE)).css("*"):
        assert not any(name.startswith("on") for name in node.attributes)
