"""Tools that act on one element (click_element, type_text), and handle_dialog."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Context, ToolResult
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
    AfterPause,
    Clean,
    DialogAnswer,
    ElementTimeout,
    Label,
    MaxChars,
    Modifier,
    PageAfter,
    PromptText,
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
from dovetail_browser.page_reader import AFTER_ACTION, read_after_action
from dovetail_browser.result_types import (
    ClickedPage,
    DialogPolicy,
    TypedPage,
)
from dovetail_browser.targets import FIELD_WAYS, Target, find_target
from dovetail_browser.tool_registrar import ACTS, ToolRegistrar
from dovetail_browser.tool_results import make_page_result, make_result

__all__ = ["add_action_tools"]


def add_action_tools(tools: ToolRegistrar, browsing: Browsing) -> None:
    """Register the tools."""
    _add_click(tools, browsing)
    _add_type(tools, browsing)
    _add_dialog(tools, browsing)


def _add_click(tools: ToolRegistrar, browsing: Browsing) -> None:
    @tools.add(
        "click_element",
        "Click an element, selected by selector, text, ref, or role with name. If none or several "
        "match, the error lists candidates.",
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
        double: bool = False,
        modifiers: Annotated[list[Modifier] | None, "Keys to hold down."] = None,
        dialog: DialogAnswer = None,
        promptText: PromptText = None,
        format: PageAfter = "html",
        returnHtml: bool = True,
        removeUnnecessaryHTML: Clean = True,
        postClickWait: AfterPause = None,
        waitForElementTimeout: ElementTimeout = None,
        maxChars: MaxChars = MAX_CHARS,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        ways = ("ref", "selector", "text", "role")
        target = Target(ref=ref, selector=selector, text=text, role=role, name=name, ways=ways)
        how = read_after_action(format, wanted=returnHtml, clean=removeUnnecessaryHTML)
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            found = await find_target(browser_tab, target, waitForElementTimeout)
            before = browser_tab.page.url
            with browser_tab.dialogs.answering(dialog, promptText):
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


def _add_type(tools: ToolRegistrar, browsing: Browsing) -> None:
    @tools.add(
        "type_text",
        "Type into a text field, selected by selector, label, ref, or role with name.",
        ACTS,
        TypedPage,
    )
    async def type_text(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        ctx: Context,
        url: TabUrl = None,
        selector: Selector = None,
        text: Annotated[str | None, "Text to type."] = None,
        secret: SecretName = None,
        ref: Ref = None,
        role: Role = None,
        name: RoleName = None,
        label: Label = None,
        clear: Annotated[bool, "Clear the field first."] = True,
        typeDelay: Annotated[int, Meta(ge=0, le=1000, description="ms per key.")] = 0,
        submit: Annotated[bool, "Press Enter afterwards."] = False,
        format: PageAfter = "html",
        returnHtml: bool = True,
        removeUnnecessaryHTML: Clean = True,
        postTypeWait: AfterPause = None,
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
        how = read_after_action(format, wanted=returnHtml, clean=removeUnnecessaryHTML)
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


def _add_dialog(tools: ToolRegistrar, browsing: Browsing) -> None:
    @tools.add(
        "handle_dialog",
        "Choose how to answer the next dialog (alert, confirm, prompt) of a tab, before the click "
        "that opens it. Otherwise dialogs are dismissed at once and reported.",
        ACTS,
        DialogPolicy,
    )
    async def handle_dialog(
        accept: Annotated[bool, "true: OK; false: Cancel."],
        ctx: Context,
        promptText: PromptText = None,
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
