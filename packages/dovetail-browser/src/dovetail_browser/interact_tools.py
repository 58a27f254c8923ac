"""The interact tool (keys, mouse, scrolling, history), and evaluate_script if enabled."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Context, ToolResult
from dovetail_browser.browsing import Browsing, Where
from dovetail_browser.element_actions import ACTION_MS, check_usable, click, fill_field
from dovetail_browser.inputs import (
    MAX_CHARS,
    DialogAnswer,
    FieldValue,
    Label,
    MaxChars,
    Offset,
    PageAfter,
    PromptText,
    Ref,
    Role,
    RoleName,
    Selector,
    SessionHandle,
    TabId,
    TabUrl,
    VisibleText,
)
from dovetail_browser.navigation import LOAD_MS, report_progress
from dovetail_browser.page_errors import (
    driver_errors,
    explain,
    first_line,
    tool_error,
    with_timeout,
)
from dovetail_browser.page_reader import AFTER_ACTION, read_after_action
from dovetail_browser.result_types import Acted, ScriptRun
from dovetail_browser.tab import Tab
from dovetail_browser.targets import Found, Target, find_target
from dovetail_browser.tool_registrar import ACTS, ToolRegistrar
from dovetail_browser.tool_results import PageText, make_page_result

__all__ = ["add_interact_tool", "add_script_tool"]

Action = Literal["click", "key", "hover", "drag", "scroll", "select", "back", "forward", "reload"]
_Pixels = Annotated[int, Meta(ge=-100_000, le=100_000)]
_SCRIPT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class _Move:
    """The arguments of one action."""

    browsing: Browsing
    tab: Tab
    found: Found | None
    to: Found | None
    keys: str | None
    option: str | None
    delta: tuple[int, int]

    def element(self, action: str) -> Found:
        """Return the element; raise ToolError if the action needs one and none was given."""
        if self.found is None:
            raise tool_error(
                f"action={action} needs an element.",
                Target().how_to_select(),
            )
        return self.found


async def _click(move: _Move) -> str:
    found = move.element("click")
    await click(found)
    return f"Clicked {found.info.describe()}"


async def _press(move: _Move) -> str:
    if not move.keys:
        raise tool_error(
            "action=key needs `keys`.", "give `keys` like Enter, Control+A or ArrowDown"
        )
    try:
        if move.found is not None:
            await move.found.locator.press(move.keys, timeout=ACTION_MS)
        else:
            await move.tab.page.keyboard.press(move.keys)
    except driver_errors() as error:
        raise tool_error(
            f"{move.keys!r} could not be pressed: {first_line(error)}.",
            "give `keys` like Enter, Tab, Escape, Control+A, ArrowDown",
        ) from None
    return f"Pressed {move.keys}"


async def _hover(move: _Move) -> str:
    found = move.element("hover")
    check_usable(found)
    await found.locator.hover(timeout=ACTION_MS)
    return f"The pointer is over {found.info.describe()}"


async def _drag(move: _Move) -> str:
    found = move.element("drag")
    if move.to is None:
        raise tool_error("action=drag needs a drop target.", "give `toRef` or `toSelector`")
    check_usable(found)
    await found.locator.drag_to(move.to.locator, timeout=ACTION_MS)
    return f"Dragged {found.info.describe()} to {move.to.info.describe()}"


async def _scroll(move: _Move) -> str:
    across, down = move.delta
    if move.found is not None and not (across or down):
        await move.found.locator.scroll_into_view_if_needed(timeout=ACTION_MS)
        return f"{move.found.info.describe()} is in view"
    script = "(element, by) => (element || window).scrollBy(by[0], by[1])"
    by = [across, down or (0 if across else 600)]
    if move.found is not None:
        await move.found.locator.evaluate(script, by, timeout=ACTION_MS)
    else:
        await move.tab.page.evaluate("by => window.scrollBy(by[0], by[1])", by)
    return f"Scrolled by {by[0]}, {by[1]} pixels"


async def _select(move: _Move) -> str:
    found = move.element("select")
    if move.option is None:
        raise tool_error("action=select needs `option`.", "give the label or value of an `option`")
    field = FieldValue(option=move.option)
    await fill_field(found, field, move.browsing.secrets, move.browsing.files)
    return f"Chose {move.option[:100]!r} in {found.info.describe()}"


async def _navigate(tab: Tab, go: Callable[..., Awaitable[Any]], where: str) -> str:
    before = tab.page.url
    try:
        response = await go(wait_until="domcontentloaded", timeout=LOAD_MS)
    except driver_errors() as error:
        raise tool_error(
            f"action={where} failed: {explain(error)}.", "fetch_webpage opens a page"
        ) from None
    if response is None and tab.page.url == before and where != "reload":
        raise tool_error(f"There is no page {where}.", "fetch_webpage opens a page")
    return f"Went {where}"


async def _back(move: _Move) -> str:
    return await _navigate(move.tab, move.tab.page.go_back, "back")


async def _forward(move: _Move) -> str:
    return await _navigate(move.tab, move.tab.page.go_forward, "forward")


async def _reload(move: _Move) -> str:
    await _navigate(move.tab, move.tab.page.reload, "reload")
    return "Reloaded the page"


_ACTIONS: dict[str, Callable[[_Move], Coroutine[Any, Any, str]]] = {
    "click": _click,
    "key": _press,
    "hover": _hover,
    "drag": _drag,
    "scroll": _scroll,
    "select": _select,
    "back": _back,
    "forward": _forward,
    "reload": _reload,
}


def add_interact_tool(tools: ToolRegistrar, browsing: Browsing) -> None:
    """Register interact."""

    @tools.add(
        "interact",
        "Click, press keys, hover, drag, scroll, choose an option, go back or forward, reload. "
        "Select an element by ref, selector, text or label; optional for key and scroll. If none "
        "or several match, the error lists candidates.",
        ACTS,
        Acted,
    )
    async def interact(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        action: Action,
        ctx: Context,
        ref: Ref = None,
        selector: Selector = None,
        text: VisibleText = None,
        role: Role = None,
        name: RoleName = None,
        label: Label = None,
        keys: Annotated[str | None, "Like Enter or Control+A."] = None,
        option: Annotated[str | None, "Label or value."] = None,
        toRef: Annotated[str | None, "Drop target."] = None,
        toSelector: Annotated[str | None, "Drop target."] = None,
        deltaX: _Pixels = 0,
        deltaY: _Pixels = 0,
        dialog: DialogAnswer = None,
        promptText: PromptText = None,
        format: PageAfter = "none",
        maxChars: MaxChars = MAX_CHARS,
        url: TabUrl = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        target = Target(ref=ref, selector=selector, text=text, role=role, name=name, label=label)
        drop = Target(ref=toRef, selector=toSelector)
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            found = await find_target(browser_tab, target) if target.is_given else None
            to = await find_target(browser_tab, drop) if drop.is_given else None
            before = browser_tab.page.url
            move = _Move(browsing, browser_tab, found, to, keys, option, (deltaX, deltaY))
            with browser_tab.dialogs.answering(dialog, promptText):
                async with report_progress(ctx, action):
                    message = await with_timeout(_ACTIONS[action](move), f"action {action}", 45)
                page = await browsing.read_after(ctx, browser_tab, None, read_after_action(format))
            tab_state = await browsing.describe(browser_session, browser_tab)
        result = Acted(
            action=action,
            message=f"{message}.",
            navigated=browser_tab.page.url != before,
            target=found.info.view if found is not None else None,
            next_steps=AFTER_ACTION,
            **tab_state,
        )
        return make_page_result(result, page, browsing.secrets, max_chars=maxChars)


def add_script_tool(tools: ToolRegistrar, browsing: Browsing) -> None:
    """Register evaluate_script; only if the operator allows scripts."""

    @tools.add(
        "evaluate_script",
        "Run JavaScript in a page and return its value as JSON: an expression, or a function, "
        "which gets the element if ref or selector is given.",
        ACTS,
        ScriptRun,
    )
    async def evaluate_script(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        expression: str,
        ctx: Context,
        ref: Ref = None,
        selector: Selector = None,
        maxChars: MaxChars = MAX_CHARS,
        offset: Offset = 0,
        url: TabUrl = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        target = Target(ref=ref, selector=selector, ways=("ref", "selector"))
        begun = time.monotonic()
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            found = await find_target(browser_tab, target) if target.is_given else None
            try:
                async with report_progress(ctx, "Running"):
                    runs = (
                        found.locator.evaluate if found is not None else browser_tab.page.evaluate
                    )
                    value = await with_timeout(
                        runs(expression), "running a script", _SCRIPT_SECONDS
                    )
            except driver_errors() as error:
                raise tool_error(
                    f"The script failed: {first_line(error)}",
                    "give an `expression`, or a function like () => document.title",
                ) from None
            tab_state = await browsing.describe(browser_session, browser_tab)
        text = json.dumps(value, ensure_ascii=False, default=str)
        result = ScriptRun(
            kind=type(value).__name__,
            took_ms=round((time.monotonic() - begun) * 1000),
            next_steps=AFTER_ACTION,
            **tab_state,
        )
        page = PageText(text, "json")
        return make_page_result(result, page, browsing.secrets, offset=offset, max_chars=maxChars)
