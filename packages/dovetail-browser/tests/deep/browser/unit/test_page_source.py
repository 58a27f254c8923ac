"""Only visible content is read from a page; tested with Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from html import unescape

import pytest

from dovetail import ToolError
from dovetail_browser.html_cleaner import clean_html
from dovetail_browser.markdown import to_markdown
from dovetail_browser.page_source import SourceLimits, read_source
from dovetail_browser.plain_text import to_text
from tests.deep.browser.chromium import Chromium

WHITE = "background:white"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as started:
        yield started


# What hides the word SECRET; SHOWN is to be seen in each of them.
HIDDEN = {
    "attribute": "<div hidden><p>a</p><p>SECRET</p></div>",
    "attribute until found": "<div hidden=until-found><p>SECRET</p></div>",
    "display none": '<div style="display:none"><p>a</p><p>SECRET</p></div>',
    "display none by a rule": "<style>.x{display:none}</style><div class=x><b>SECRET</b></div>",
    "visibility hidden": '<p style="visibility:hidden">SECRET</p>',
    "visibility hidden, visible child": (
        '<div style="visibility:hidden">SECRET<p style="visibility:visible">SHOWN</p>SECRET</div>'
    ),
    "visibility collapse": "<table><tr style='visibility:collapse'><td>SECRET</table>",
    "name of a hidden parent": (
        '<div style="visibility:hidden" title="SECRET" aria-label="SECRET">'
        '<p style="visibility:visible">SHOWN</p></div>'
    ),
    "content visibility": '<div style="content-visibility:hidden"><p>SECRET</p></div>',
    "opacity": '<div style="opacity:0"><p>SECRET</p></div>',
    "nearly no opacity": '<div style="opacity:.01"><p>SECRET</p></div>',
    "opacities that multiply": (
        '<div style="opacity:.2"><div style="opacity:.2"><p>SECRET</p></div></div>'
    ),
    "opacity by a filter": '<div style="filter:opacity(0)"><p>SECRET</p></div>',
    "no height": '<div style="height:0;overflow:hidden"><p>SECRET</p></div>',
    "no width": '<div style="width:0;overflow:hidden"><p>SECRET</p></div>',
    "one pixel": '<div style="width:1px;height:1px;overflow:hidden">SECRET</div>',
    "no height at most": '<div style="max-height:0;overflow:clip"><p>SECRET</p></div>',
    "no height, positioned child": (
        '<div style="height:0;overflow:hidden;position:relative">'
        '<p style="position:absolute">SECRET</p></div>'
    ),
    "no height, fixed child in a transformed box": (
        '<div style="height:0;overflow:hidden;transform:translateX(0)">'
        '<p style="position:fixed;top:0">SECRET</p></div>'
    ),
    "far left": '<p style="position:absolute;left:-9999px">SECRET</p>',
    "far above": '<p style="position:absolute;top:-9999px">SECRET</p>',
    "far right of a clipped page": (
        "<style>body{overflow-x:hidden}</style>"
        '<div style="position:relative;overflow:hidden;height:20px">'
        '<p style="position:absolute;left:99999px;white-space:nowrap">SECRET</p></div>'
    ),
    "fixed beyond the window": '<p style="position:fixed;left:120vw;top:0">SECRET</p>',
    "margin": '<p style="margin-left:-9999px;width:200px">SECRET</p>',
    "transform": '<p style="transform:translateX(-9999px)">SECRET</p>',
    "scaled to nothing": '<p style="transform:scale(0)">SECRET</p>',
    "left of a scrolling box": (
        '<div style="overflow:auto;width:200px;height:50px;position:relative">'
        '<p style="position:absolute;left:-900px">SECRET</p></div>'
    ),
    "indented away": '<p style="text-indent:-9999px">SECRET</p>',
    "indented out of its box": (
        '<p style="text-indent:100%;white-space:nowrap;overflow:hidden;width:200px">SECRET</p>'
    ),
    "clip path inset": '<p style="clip-path:inset(100%)">SECRET</p>',
    "clip path inset by halves": '<p style="clip-path:inset(50%)">SECRET</p>',
    "clip path circle": '<p style="clip-path:circle(0)">SECRET</p>',
    "clip path polygon": '<p style="clip-path:polygon(0 0, 0 0, 0 0)">SECRET</p>',
    "clip rect": '<p style="position:absolute;clip:rect(0,0,0,0)">SECRET</p>',
    "clip rect of a pixel": '<p style="position:absolute;clip:rect(1px,1px,1px,1px)">SECRET</p>',
    "for screen readers, no label": (
        '<h2 style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)">'
        "SECRET</h2>"
    ),
    "font size": '<p style="font-size:0">SECRET</p>',
    "tiny font": '<p style="font-size:1px">SECRET</p>',
    "zoomed away": '<p style="zoom:.05">SECRET</p>',
    "white on white": f'<div style="{WHITE}"><p style="color:white">SECRET</p></div>',
    "white on the page": '<p style="color:#fff">SECRET</p>',
    "nearly white on white": f'<div style="{WHITE}"><p style="color:#fdfdfd">SECRET</p></div>',
    "black on black": '<p style="background:#000;color:rgb(1,1,1)">SECRET</p>',
    "transparent ink": '<p style="color:transparent">SECRET</p>',
    "transparent fill": '<p style="-webkit-text-fill-color:transparent">SECRET</p>',
    "ink as faint as can be": '<p style="color:rgba(0,0,0,.02)">SECRET</p>',
    "hidden from readers and the eye": '<p aria-hidden=true style="opacity:0">SECRET</p>',
    "template": "<template><p>SECRET</p></template>",
    "no script": "<noscript>SECRET</noscript>",
    "script": "<script>var x = 'SECRET'</script>",
    "style": "<style>p::after{/* SECRET */}</style>",
    "comment": "<!-- SECRET -->",
    "handler": "<p onclick=\"alert('SECRET')\">SHOWN</p>",
    "handler without quotes": "<img src=x onerror=alert(/SECRET/)>",
    "script address": "<a href=\"javascript:alert('SECRET')\">SHOWN</a>",
    "script address with a tab": "<a href=\"java\tscript:alert('SECRET')\">SHOWN</a>",
    "data address": '<a href="data:text/html,SECRET">SHOWN</a>',
    "closed details": "<details><summary>SHOWN</summary>SECRET<p>SECRET</p></details>",
    "closed dialog": "<dialog>SECRET</dialog>",
    "popover": "<div popover>SECRET</div>",
    "hidden input": "<input type=hidden value=SECRET>",
    "password": "<input type=password value=SECRET>",
    "one-time code": "<input autocomplete=one-time-code value=SECRET>",
    "card number": "<input autocomplete=cc-number value=SECRET>",
    "hidden option": "<select><option>SHOWN<option hidden>SECRET</select>",
    "fallback of a canvas": "<canvas>SECRET</canvas>",
    "fallback of a video": "<video controls>SECRET</video>",
    "fallback of an object": "<object>SECRET</object>",
    "image without size": '<img width=0 height=0 alt="SECRET" src=x>',
    "tracking pixel": '<img style="width:1px;height:1px" alt="SECRET" src=x>',
    "hidden frame": '<iframe style="display:none" srcdoc="<p>SECRET"></iframe>',
    "frame without size": '<iframe style="width:0;height:0;border:0" srcdoc="<p>SECRET"></iframe>',
    "hidden in a frame": '<iframe srcdoc="<p hidden>SECRET<p>SHOWN"></iframe>',
    "unslotted": (
        "<div id=host>SECRET</div><script>"
        "host.attachShadow({mode: 'open'}).innerHTML = '<p>SHOWN</p>'</script>"
    ),
    "unslotted, closed": (
        "<div id=host>SECRET<b>SECRET</b></div><script>"
        "host.attachShadow({mode: 'closed'}).innerHTML = '<p>x</p>'</script>"
    ),
    "hidden in a shadow": (
        "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = "
        "'<style>.x{display:none}</style><p class=x>SECRET</p><p>SHOWN</p>'</script>"
    ),
    "a form that answers for itself": (
        "<form hidden><input name=hidden><input name=tagName value=SECRET></form>"
    ),
    "a form that answers for its size": (
        '<form style="height:0;overflow:hidden"><input name=offsetHeight><input name=clientHeight>'
        "<p>SECRET</p></form>"
    ),
    "hidden label in many parts": (
        "<a href=x>SHOWN"
        + "<i style='position:absolute;left:-9999px'>aaaaaaaaaaaaaaaaaaaa</i>" * 4
        + "<i style='position:absolute;left:-9999px'>SECRET</i></a>"
    ),
    "unseen characters": f"<p>SHOWN{''.join(chr(0xE0000 + ord(c)) for c in 'SECRET')}</p>",
    "long hidden label": (
        f"<a href=x>SHOWN<span style='position:absolute;left:-9999px'>{'SECRET ' * 30}</span></a>"
    ),
}


@pytest.mark.parametrize("html", HIDDEN.values(), ids=HIDDEN.keys())
def test_hidden_content_is_removed(chromium: Chromium, html: str) -> None:
    source = chromium.read(f"<p>SHOWN first</p>{html}<p>SHOWN last</p>")
    forms = [
        source.html,
        clean_html(source.html, source.url),
        to_markdown(source.html, source.url),
        to_text(source.html, source.url),
    ]
    for form in forms:
        unmasked = "".join(chr(ord(c) - 0xE0000) if ord(c) >= 0xE0000 else c for c in form)
        assert "SECRET" not in unmasked, form
        assert form.count("SHOWN") == 2 + html.count("SHOWN"), form


# Things that look hidden to a careless eye, and are not.
SHOWN = {
    "no size without clipping": '<div style="height:0;width:0">SHOWN</div>',
    "fixed out of a clipped box": (
        '<div style="height:0;overflow:hidden"><p style="position:fixed;top:9px">SHOWN</p></div>'
    ),
    "absolute out of a clipped box": (
        '<div style="height:0;overflow:hidden"><p style="position:absolute">SHOWN</p></div>'
    ),
    "further down in a scrolling box": (
        '<div style="overflow:auto;height:30px"><div style="height:900px"></div>SHOWN</div>'
    ),
    "further right in a scrolling box": (
        '<div style="overflow:auto;width:90px"><p style="margin-left:900px">SHOWN</p></div>'
    ),
    "below the window of a body that scrolls itself": (
        "<style>html{overflow:hidden;height:100%}body{overflow:auto;height:100%;margin:0}</style>"
        '<div style="height:5000px"></div><p>SHOWN</p>'
    ),
    "in a set of frames": "<frameset><frame src='data:text/html,<p>SHOWN'></frameset>",
    "below the window": '<div style="height:5000px"></div><p>SHOWN</p>',
    "not drawn yet": (
        '<div style="height:5000px"></div><div style="content-visibility:auto"><p>SHOWN</p></div>'
    ),
    "shown contents": '<div style="display:contents"><p>SHOWN</p></div>',
    "white on a dark image": (
        '<div style="position:relative;background:white">'
        '<img style="width:200px;height:50px;position:absolute" src=x>'
        '<p style="color:white;position:relative">SHOWN</p></div>'
    ),
    "white on a dark layer": (
        '<div style="position:relative"><div style="position:absolute;inset:0;background:#000">'
        '</div><p style="color:white;position:relative">SHOWN</p></div>'
    ),
    "white on a gradient": (
        '<div style="background:linear-gradient(red,blue)"><p style="color:#fff">SHOWN</p></div>'
    ),
    "white in a dark element": '<p style="color:#fff;background:#222">SHOWN</p>',
    "ink made of a gradient": (
        '<p style="color:transparent;background:linear-gradient(red,blue);'
        'background-clip:text">SHOWN</p>'
    ),
    "letters of such ink": (
        '<h1 style="color:transparent;background:linear-gradient(red,blue);'
        'background-clip:text"><span>SHOWN</span></h1>'
    ),
    "a dark page": "<style>:root{color-scheme:dark}</style><p>SHOWN</p>",
    "hidden from screen readers only": "<p aria-hidden=true>SHOWN</p>",
    "open details": "<details open><summary>x</summary>SHOWN</details>",
    "indented a little": '<p style="text-indent:2em">SHOWN</p>',
    "half transparent": '<p style="opacity:.5">SHOWN</p>',
    "text of a drawing": "<svg width=200 height=50><text y=20>SHOWN</text></svg>",
    "right to left": '<div dir=rtl style="overflow:auto;width:90px"><pre>x  SHOWN</pre></div>',
    "chosen option": "<select><option>x<option selected>SHOWN</select>",
    "a button in a shadow": (
        "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = "
        "'<button>SHOWN</button>'</script>"
    ),
    "slotted": (
        "<div id=host><b>SHOWN</b></div><script>"
        "host.attachShadow({mode: 'open'}).innerHTML = '<p><slot></slot></p>'</script>"
    ),
    "in a frame": '<iframe srcdoc="<p>SHOWN"></iframe>',
    "in a frame in a frame": "<iframe srcdoc=\"<iframe srcdoc='<p>SHOWN'></iframe>\"></iframe>",
    "typed": "<textarea>SHOWN</textarea>",
    "label for screen readers of a link": (
        '<a href=x><svg width=9 height=9></svg><span style="position:absolute;width:1px;height:1px;'
        'overflow:hidden;clip:rect(0,0,0,0)">SHOWN</span></a>'
    ),
    "label for screen readers of a field": (
        '<label for=f style="position:absolute;width:1px;height:1px;overflow:hidden;'
        'clip:rect(0,0,0,0)">SHOWN</label><input id=f>'
    ),
    "a logo's text": (
        '<a href=x style="display:block;width:50px;height:50px;text-indent:-9999px;'
        'overflow:hidden">SHOWN</a>'
    ),
}


@pytest.mark.parametrize("html", SHOWN.values(), ids=SHOWN.keys())
def test_visible_content_is_kept(chromium: Chromium, html: str) -> None:
    source = chromium.read(html)
    assert source.html.count("SHOWN") == 1, source.html
    assert clean_html(source.html, source.url).count("SHOWN") == 1
    assert to_text(source.html, source.url).count("SHOWN") == 1


def test_urls_are_absolute_and_respect_the_base_element(chromium: Chromium) -> None:
    source = chromium.read(
        '<base href="https://site.test/a/b/"><a href="c.html?x=1&y=2">c</a><img src="/i.png" '
        'alt=i width=9 height=9><a href="#part">p</a><form action="../go"><input></form>'
    )
    assert 'href="https://site.test/a/b/c.html?x=1&amp;y=2"' in source.html
    assert 'src="https://site.test/i.png"' in source.html
    assert 'action="https://site.test/a/go"' in source.html
    assert 'href="#part"' in source.html


def test_the_current_state_of_a_form_is_written(chromium: Chromium) -> None:
    async def steps() -> str:
        page = chromium.page
        await page.set_content(
            "<input id=t><textarea id=a>old</textarea><input type=checkbox id=c><select id=s>"
            "<option>1<option>2</select><input type=password id=p>"
        )
        await page.fill("#t", 'new "text"')
        await page.fill("#a", "typed")
        await page.check("#c")
        await page.select_option("#s", "2")
        await page.fill("#p", "hunter2")
        return (await read_source(page)).html

    html = chromium.run(steps())
    assert 'value="new &quot;text&quot;"' in html
    assert ">\ntyped</textarea>" in html
    assert 'id="c" checked' in html
    assert "<option selected>2</option>" in html
    assert "hunter2" not in html


def test_secrets_are_replaced_everywhere(chromium: Chromium) -> None:
    source = chromium.read(
        "<title>s3cr3t!</title><p>You typed s3cr3t!</p><input value=s3cr3t!>", secrets=["s3cr3t!"]
    )
    assert "s3cr3t!" not in source.html + source.title
    assert source.html.count("[secret]") == 2


def test_a_control_drawn_by_its_label_is_kept(chromium: Chromium) -> None:
    source = chromium.read(
        '<label><input type=checkbox name=news style="opacity:0" title="SECRET"> News</label>'
    )
    assert '<input name="news" type="checkbox">' in source.html


def test_only_the_selected_element_is_read(chromium: Chromium) -> None:
    html = "<div id=a><p>one</p></div><div id=b><p>two</p></div>"
    assert "one" not in chromium.read(html, "#b").html
    several = chromium.read(html, "p")
    assert "one" in several.html and "two" not in several.html
    assert several.note == "2 elements match the selector; only the first was read."


def test_a_selected_element_in_hidden_content_is_empty(chromium: Chromium) -> None:
    html = '<div style="opacity:0"><p id=a>SECRET</p></div><div hidden><p id=b>SECRET</p></div>'
    assert "SECRET" not in chromium.read("<details>x<p id=c>SECRET</p></details>", "#c").html
    assert "SECRET" not in chromium.read(html, "#a").html
    assert "SECRET" not in chromium.read(html, "#b").html


def test_a_selector_without_a_match_is_an_error_at_once(chromium: Chromium) -> None:
    with pytest.raises(ToolError, match="Nothing on the page matches the selector '#none'"):
        chromium.read("<p>x</p>", "#none")


def test_a_page_with_too_many_nodes_is_truncated_with_a_note(chromium: Chromium) -> None:
    source = chromium.read(
        "<p>first</p><script>document.body.insertAdjacentHTML('beforeend', "
        "'<i>x</i>'.repeat(5000))</script>",
        limits=SourceLimits(nodes=500),
    )
    assert "first" in source.html
    assert source.nodes <= 501
    assert "more than 500 nodes" in source.note


def test_a_long_page_is_truncated_with_a_note(chromium: Chromium) -> None:
    source = chromium.read(f"<p>{'x' * 900}</p>" * 50, limits=SourceLimits(characters=5_000))
    assert len(source.html) < 7_000
    assert "longer than 5,000 characters" in source.note


def test_too_many_frames_are_omitted_with_a_note(chromium: Chromium) -> None:
    source = chromium.read("<iframe srcdoc='<p>in'></iframe>" * 4, limits=SourceLimits(frames=2))
    assert source.html.count("<p>in</p>") == 2
    assert "more than 2 frames" in source.note


def test_a_very_deep_page_is_read(chromium: Chromium) -> None:
    source = chromium.read(
        "<p>x</p><script>let at = document.body; for (let i = 0; i < 1500; i++) {"
        "at = at.appendChild(document.createElement('div')); } at.textContent = 'SHOWN'</script>"
    )
    assert "SHOWN" in source.html
    assert source.html.count("<div") < 1_000


def test_buttons_with_the_same_name_get_a_selector(chromium: Chromium) -> None:
    html = "<button>Buy</button><button>Buy</button><button id=x>Buy</button><button>Sell</button>"

    async def steps() -> list[str | None]:
        await chromium.page.set_content(html)
        return [
            await chromium.page.locator(f"button >> nth={at}").get_attribute("id") for at in (0, 2)
        ]

    source = chromium.read(html)
    assert source.html.count("selector=") == 2
    assert 'selector="button >> nth=1"' in source.html
    assert chromium.run(steps()) == [None, "x"]


def test_selectors_work_in_shadow_roots_and_skip_hidden_elements(chromium: Chromium) -> None:
    html = (
        "<x-a hidden></x-a><x-a></x-a><button>Buy</button><script>"
        "for (const host of document.querySelectorAll('x-a')) host.attachShadow({mode: 'open'})"
        ".innerHTML = '<p><button>Buy</button></p>'</script>"
    )
    source = chromium.read(html)
    selectors = [unescape(found) for found in re.findall(r'selector="([^"]*)"', source.html)]

    async def steps() -> list[list[bool]]:
        return [
            await chromium.page.locator(selector).evaluate_all(
                "found => found.map(one => one.checkVisibility())"
            )
            for selector in selectors
        ]

    assert chromium.run(steps()) == [[True], [True]], selectors


def test_a_page_cannot_fake_visibility(chromium: Chromium) -> None:
    source = chromium.read(
        "<script>window.getComputedStyle = () => new Proxy({}, {get: () => 'visible'});"
        "Element.prototype.getBoundingClientRect = () => ({left: 0, top: 0, right: 9, bottom: 9,"
        " width: 9, height: 9}); Array.prototype.filter = Array.prototype.map = null;"
        "Object.defineProperty(Element.prototype, 'tagName', {get: () => 'P'});</script>"
        "<p>SHOWN</p><p hidden>SECRET</p><p style='opacity:0'>SECRET</p><select></select>"
    )
    assert "SHOWN" in source.html
    assert "SECRET" not in source.html


def test_a_frame_of_another_origin_is_inserted(chromium: Chromium) -> None:
    async def steps() -> str:
        async with _site(b"<p>inner</p><button>Go</button>") as inner:
            frame = f"<p>before</p><iframe src='http://127.0.0.1:{inner}/'></iframe><p>after</p>"
            async with _site(frame.encode()) as outer:
                await chromium.page.goto(f"http://localhost:{outer}/")
                return (await read_source(chromium.page)).html

    html = chromium.run(steps())
    places = [html.index(word) for word in ("before", "inner", "Go", "after")]
    assert places == sorted(places)


@contextlib.asynccontextmanager
async def _site(body: bytes) -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Chromium also opens connections that it does not use.
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}"
            writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
