"""Tools that act on one element (click_element, type_text), and handle_dialog."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Context, Server, ToolResult
from dovetail_browser.browsing import Browsing, Where, view_dialog
from dovetail_browser.dialogs import DialogReply
from dovetail_browser.element_actions import (
    check_usable,
    click,
    open_secret,
    type_into,
)
from dovetail_browser.inputs import (
    MAX_CHARS,
    Clean,
    ElementTimeout,
    Label,
    MaxChars,
    Modifier,
    PageFormat,
    Pause,
    Ref,
    Role,
    RoleName,
    SecretName,
    Selector,
    SessionHandle,
    TabId,
    TabUrl,
    VisibleText,
)
from dovetail_browser.page_errors import tool_error
from dovetail_browser.page_reader import AFTER_ACTION, ReadOptions
from dovetail_browser.result_types import (
    ClickedPage,
    DialogPolicy,
    TypedPage,
)
from dovetail_browser.targets import FIELD_WAYS, Target, find_target
from dovetail_browser.tool_results import ACTS, make_page_result, make_result, tool

__all__ = ["add_action_tools"]

_RETURN = "Return the page afterwards; false is shorter and faster."
_AFTER = "Time to wait afterwards; default: until the page is idle, at most 1 s."


def add_action_tools(server: Server, browsing: Browsing) -> None:
    """Register the tools."""
    _add_click(server, browsing)
    _add_type(server, browsing)
    _add_dialog(server, browsing)


def _add_click(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "click_element",
        "Click an element, found by ref, CSS selector, visible text, or role and name. If no "
        "element or several match, the error lists candidates.",
        ACTS,
        ClickedPage,
    )
    async def click_element(  # noqa: PLR0913 - the tool's own parameters, all optional
        ctx: Context,
        url: TabUrl = None,
        selector: Selector = None,
        text: VisibleText = None,
        ref: Ref = None,
        role: Role = None,
        name: RoleName = None,
        button: Literal["left", "right", "middle"] = "left",
        double: Annotated[bool, "Click twice."] = False,
        modifiers: Annotated[
            Annotated[list[Modifier], Meta(max_length=4)] | None, "Keys to hold down."
        ] = None,
        returnHtml: Annotated[bool, _RETURN] = True,
        removeUnnecessaryHTML: Clean = True,
        format: PageFormat = "html",
        postClickWait: Annotated[Pause | None, _AFTER] = None,
        waitForElementTimeout: ElementTimeout = None,
        maxChars: MaxChars = MAX_CHARS,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        ways = ("ref", "selector", "text", "role")
        target = Target(ref=ref, selector=selector, text=text, role=role, name=name, ways=ways)
        how = ReadOptions(format, clean=removeUnnecessaryHTML) if returnHtml else None
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            found = await find_target(browser_tab, target, waitForElementTimeout)
            before = browser_tab.page.url
            await click(found, button=button, double=double, modifiers=modifiers or [])
            page = await browsing.read_after(ctx, browser_tab, postClickWait, how)
            tab_state = await browsing.describe(browser_session, browser_tab)
        result = ClickedPage(
            message=f"Clicked {found.info.describe()}.",
            clicked=found.info.view,
            navigated=browser_tab.page.url != before,
            next_steps=AFTER_ACTION,
            **tab_state,
        )
        return make_page_result(result, page, browsing.secrets, max_chars=maxChars)


def _add_type(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "type_text",
        "Type into a text field, found by ref, CSS selector, label, or role and name; `secret` "
        "types one of the operator's secrets by name. submit presses Enter afterwards.",
        ACTS,
        TypedPage,
    )
    async def type_text(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        ctx: Context,
        url: TabUrl = None,
        selector: Selector = None,
        text: Annotated[Annotated[str, Meta(max_length=100_000)] | None, "Text to type."] = None,
        secret: SecretName = None,
        ref: Ref = None,
        role: Role = None,
        name: RoleName = None,
        label: Label = None,
        clear: Annotated[bool, "Clear the field first."] = True,
        typeDelay: Annotated[
            int, Meta(ge=0, le=1000, description="Milliseconds per key; 0: all at once.")
        ] = 0,
        submit: Annotated[bool, "Press Enter afterwards."] = False,
        returnHtml: Annotated[bool, _RETURN] = True,
        removeUnnecessaryHTML: Clean = True,
        format: PageFormat = "html",
        postTypeWait: Annotated[Pause | None, _AFTER] = None,
        waitForElementTimeout: ElementTimeout = None,
        maxChars: MaxChars = MAX_CHARS,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        if (text is None) == (secret is None):
            raise tool_error("There is nothing to type.", "give one of `text` and `secret`")
        target = Target(
            ref=ref, selector=selector, role=role, name=name, label=label, ways=FIELD_WAYS
        )
        how = ReadOptions(format, clean=removeUnnecessaryHTML) if returnHtml else None
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            found = await find_target(browser_tab, target, waitForElementTimeout)
            before = browser_tab.page.url
            typed = text or ""
            if secret is not None:
                check_usable(found)
                typed = await open_secret(found, secret, browsing.secrets)
            await type_into(browser_tab, found, typed, clear=clear, delay_ms=typeDelay)
            if submit:
                await found.locator.press("Enter")
            page = await browsing.read_after(ctx, browser_tab, postTypeWait, how)
            tab_state = await browsing.describe(browser_session, browser_tab)
        what = f"secret {secret}" if secret is not None else f"{len(typed)} characters"
        result = TypedPage(
            message=f"Typed {what} into {found.info.describe()}.",
            typed_into=found.info.view,
            navigated=browser_tab.page.url != before,
            next_steps=AFTER_ACTION,
            **tab_state,
        )
        return make_page_result(result, page, browsing.secrets, max_chars=maxChars)


def _add_dialog(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "handle_dialog",
        "Choose how to answer the next dialog (alert, confirm, prompt) of a tab, before the click "
        "that opens it. Otherwise dialogs are dismissed at once and reported.",
        ACTS,
        DialogPolicy,
    )
    async def handle_dialog(
        accept: Annotated[bool, "true: OK; false: Cancel."],
        ctx: Context,
        promptText: Annotated[
            Annotated[str, Meta(max_length=10_000)] | None, "Answer to a prompt."
        ] = None,
        url: TabUrl = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        async with browsing.sessions.using(ctx, session) as browser_session:
            browser_tab = browser_session.tabs.find(tab, url)
            browser_tab.dialogs.plan = DialogReply(accept, promptText)
            recent = [view_dialog(one) for one in browser_tab.dialogs.recent]
            tab_state = await browsing.describe(browser_session, browser_tab)
        result = DialogPolicy(
            next_dialog="accepted" if accept else "dismissed",
            recent=recent[-10:],
            next_steps=["click the element that opens the dialog; the result reports its text"],
            **tab_state,
        )
        return make_result(result, browsing.secrets)
