"""The tools that act on one element: click_element, type_text; and handle_dialog."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Context, Server, ToolResult
from dovetail_browser.acting import (
    check_usable,
    click,
    open_secret,
    type_into,
)
from dovetail_browser.answers import ACTS, answer, page_answer, tool
from dovetail_browser.browsing import Browsing, Where, view_dialog
from dovetail_browser.dialogs import Plan
from dovetail_browser.inputs import (
    MAX_CHARS,
    Clean,
    ElementTimeout,
    Label,
    MaxChars,
    Modifier,
    PageFormat,
    Pause,
    Place,
    Ref,
    Role,
    RoleName,
    SecretName,
    Selector,
    SessionHandle,
    TabId,
    VisibleText,
)
from dovetail_browser.page_errors import refuse
from dovetail_browser.reading import AFTER_ACTION, Reading, read_after
from dovetail_browser.results import (
    ClickedPage,
    DialogPolicy,
    TypedPage,
)
from dovetail_browser.targets import Target, find_target

__all__ = ["add_action_tools"]

_RETURN = "Read the page afterwards; false is shorter and faster."
_AFTER = "Wait so long afterwards; without, until the page is quiet, at most 1 s."


def add_action_tools(server: Server, browsing: Browsing) -> None:
    """Register them."""
    _add_click(server, browsing)
    _add_type(server, browsing)
    _add_dialog(server, browsing)


def _add_click(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "click_element",
        "Click an element, found by ref, CSS selector, visible text, or role and name. An element "
        "that is not there, or there several times, is an error that names what is there.",
        ACTS,
        ClickedPage,
    )
    async def click_element(  # noqa: PLR0913 - the tool's own parameters, all optional
        ctx: Context,
        url: Place = None,
        selector: Selector = None,
        text: VisibleText = None,
        ref: Ref = None,
        role: Role = None,
        name: RoleName = None,
        button: Literal["left", "right", "middle"] = "left",
        double: Annotated[bool, "Click twice."] = False,
        modifiers: Annotated[
            Annotated[list[Modifier], Meta(max_length=4)] | None, "Keys held down."
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
        target = Target(ref=ref, selector=selector, text=text, role=role, name=name)
        how = Reading(format, clean=removeUnnecessaryHTML) if returnHtml else None
        async with browsing.at(ctx, Where(session, tab, url)) as (own, place):
            found = await find_target(place, target, waitForElementTimeout)
            before = place.page.url
            await click(found, button=button, double=double, modifiers=modifiers or [])
            page = await read_after(ctx, browsing.secrets, place, postClickWait, how)
            told = await browsing.describe(own, place)
        result = ClickedPage(
            message=f"Clicked {found.facts.describe()}.",
            clicked=found.facts.view,
            navigated=place.page.url != before,
            next_steps=AFTER_ACTION,
            **told,
        )
        return page_answer(result, page, browsing.secrets, max_chars=maxChars)


def _add_type(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "type_text",
        "Type into a text field, found by ref, CSS selector, label, or role and name; `secret` "
        "types a secret of the operator by its name. submit presses Enter afterwards.",
        ACTS,
        TypedPage,
    )
    async def type_text(  # noqa: PLR0913 - the tool's own parameters, nearly all optional
        ctx: Context,
        url: Place = None,
        selector: Selector = None,
        text: Annotated[Annotated[str, Meta(max_length=100_000)] | None, "What to type."] = None,
        secret: SecretName = None,
        ref: Ref = None,
        role: Role = None,
        name: RoleName = None,
        label: Label = None,
        clear: Annotated[bool, "Empty the field first."] = True,
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
            raise refuse("Say what to type.", "give one of text and secret")
        target = Target(ref=ref, selector=selector, role=role, name=name, label=label)
        how = Reading(format, clean=removeUnnecessaryHTML) if returnHtml else None
        async with browsing.at(ctx, Where(session, tab, url)) as (own, place):
            found = await find_target(place, target, waitForElementTimeout)
            before = place.page.url
            typed = text or ""
            if secret is not None:
                check_usable(found)
                typed = await open_secret(found, secret, browsing.secrets)
            await type_into(place, found, typed, clear=clear, delay_ms=typeDelay)
            if submit:
                await found.locator.press("Enter")
            page = await read_after(ctx, browsing.secrets, place, postTypeWait, how)
            told = await browsing.describe(own, place)
        what = f"secret {secret}" if secret is not None else f"{len(typed)} characters"
        result = TypedPage(
            message=f"Typed {what} into {found.facts.describe()}.",
            typed_into=found.facts.view,
            navigated=place.page.url != before,
            next_steps=AFTER_ACTION,
            **told,
        )
        return page_answer(result, page, browsing.secrets, max_chars=maxChars)


def _add_dialog(server: Server, browsing: Browsing) -> None:
    @tool(
        server,
        browsing.secrets,
        "handle_dialog",
        "Say how the next dialog (alert, confirm, prompt) of a tab is answered, before the click "
        "that opens it. Without this, dialogs are dismissed at once and reported.",
        ACTS,
        DialogPolicy,
    )
    async def handle_dialog(
        accept: Annotated[bool, "true: OK; false: Cancel."],
        ctx: Context,
        promptText: Annotated[
            Annotated[str, Meta(max_length=10_000)] | None, "What to answer a prompt."
        ] = None,
        url: Place = None,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        async with browsing.sessions.using(ctx, session) as own:
            place = own.tabs.find(tab, url)
            place.dialogs.plan = Plan(accept, promptText)
            recent = [view_dialog(one) for one in place.dialogs.recent]
            told = await browsing.describe(own, place)
        result = DialogPolicy(
            next_dialog="accepted" if accept else "dismissed",
            recent=recent[-10:],
            next_steps=["click_element what opens the dialog; the answer tells what it said"],
            **told,
        )
        return answer(result, browsing.secrets)
