"""Text is compared with screenshots without effects on the page; tested with Chromium."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dovetail_browser.page_source import SourceLimits, read_source
from dovetail_browser.plain_text import to_text
from tests.deep.browser.chromium import Chromium

# Shows the text as soon as anything about the page looks as if it is compared.
REACTING = """<!doctype html><style>p{color:#fff}.on{color:#000}</style><p>SECRET</p>
<div style="height:3000px"></div><b>SHOWN</b><script>{
const shown = document.querySelector("p").classList;
const show = () => window.isReady && !shown.contains("on") && shown.add("on");
const check = () => {
  if (CSS.highlights.size || document.adoptedStyleSheets.length || scrollY) show();
};
(function loop() { check(); requestAnimationFrame(loop); })();
setInterval(check, 0);
addEventListener("scroll", show);
new MutationObserver(show).observe(document, {subtree: true, attributes: true});
new IntersectionObserver(show).observe(document.querySelector("b"));
const channel = new MessageChannel();
channel.port1.onmessage = () => { check(); channel.port2.postMessage(0); };
channel.port2.postMessage(0);
}</script>"""
# Counts what runs, and says what could be left over.
COUNTING = """<!doctype html><style>body{height:4000px}</style><p id=p>SHOWN</p><input value=SHOWN>
<svg><text y=20 style="fill:red">SHOWN</text></svg>
<div id=box style="height:50px;overflow:auto"><div style="height:500px"></div>SHOWN</div>
<p style="margin-top:2000px">SHOWN</p><script>{
window.ran = {frames: 0, messages: 0, timers: 0};
(function loop() { ran.frames++; requestAnimationFrame(loop); })();
setInterval(() => ran.timers++, 1);
const channel = new MessageChannel();
channel.port1.onmessage = () => { ran.messages++; channel.port2.postMessage(0); };
channel.port2.postMessage(0);
scrollTo(0, 70);
box.scrollTop = 30;
getSelection().selectAllChildren(p);
window.state = () => JSON.stringify([document.documentElement.outerHTML, scrollY, box.scrollTop,
  String(getSelection()), CSS.highlights.size, document.adoptedStyleSheets.length]);
}</script>"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as started:
        yield started


def test_a_page_cannot_react_to_the_comparison(chromium: Chromium) -> None:
    async def steps() -> str:
        await chromium.page.set_content(REACTING)
        # The observers report what they observe once at first.
        await chromium.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
        )
        await chromium.page.evaluate("isReady = true")
        return (await read_source(chromium.page)).html

    html = chromium.run(steps())
    assert "SHOWN" in html
    assert "SECRET" not in html


def test_the_page_is_as_before_and_its_scripts_go_on(chromium: Chromium) -> None:
    async def steps() -> tuple[str, str, str]:
        await chromium.page.set_content(COUNTING)
        before = await chromium.page.evaluate("state()")
        html = (await read_source(chromium.page)).html
        after = await chromium.page.evaluate("state()")
        await chromium.page.evaluate("Object.keys(ran).forEach(name => ran[name] = 0)")
        await chromium.page.wait_for_function("Object.values(ran).every(count => count > 1)")
        return before, after, html

    before, after, html = chromium.run(steps())
    assert after == before
    assert html.count("SHOWN") == 5


def test_text_is_left_out_with_a_note_if_there_is_no_time_to_look(chromium: Chromium) -> None:
    source = chromium.read("<p>SECRET</p><p>SECRET</p>", limits=SourceLimits(seconds=0))
    assert "SECRET" not in source.html
    assert source.note == "Looking at the page took longer than 0 s; the rest was not read."


def test_of_a_text_that_is_cut_only_the_visible_part_is_read(chromium: Chromium) -> None:
    cut = "width:200px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
    source = chromium.read(
        f'<p style="{cut}">These words are SHOWN but the others are SECRET SECRET</p>'
    )
    text = to_text(source.html, source.url)
    assert text.startswith("These words are SHOWN")
    assert "SECRET" not in text


def test_a_statement_that_starts_the_debugger_does_not_stop_a_reading(chromium: Chromium) -> None:
    source = chromium.read("<p>SHOWN</p><script>setInterval(() => { debugger; }, 0)</script>")
    assert "SHOWN" in source.html
