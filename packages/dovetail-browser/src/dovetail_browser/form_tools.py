"""The fill_form tool."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, ToolError, ToolResult
from dovetail_browser.browsing import Browsing, Where
from dovetail_browser.element_actions import fill_field, target_of
from dovetail_browser.inputs import (
    MAX_CHARS,
    FieldValue,
    MaxChars,
    PageAfter,
    SessionHandle,
    TabId,
    TabUrl,
)
from dovetail_browser.page_errors import driver_errors, explain, message_of, with_timeout
from dovetail_browser.page_reader import AFTER_ACTION, read_after_action
from dovetail_browser.result_types import FieldOutcome, FormFilled
from dovetail_browser.tab import Tab
from dovetail_browser.targets import find_target
from dovetail_browser.tool_registrar import ACTS, ToolRegistrar
from dovetail_browser.tool_results import make_page_result

__all__ = ["add_form_tool"]


def add_form_tool(tools: ToolRegistrar, browsing: Browsing) -> None:
    """Register fill_form."""

    @tools.add(
        "fill_form",
        "Fill in fields: text, check boxes, options, files, secrets. Select each by label, "
        "selector, ref, or role with name. submit: then submit the form, if no field failed.",
        ACTS,
        FormFilled,
    )
    async def fill_form(
        fields: Annotated[list[FieldValue], Meta(min_length=1, max_length=50)],
        ctx: Context,
        submit: bool = False,
        format: PageAfter = "none",
        url: TabUrl = None,
        maxChars: MaxChars = MAX_CHARS,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        how = read_after_action(format)
        async with browsing.at(ctx, Where(session, tab, url)) as (browser_session, browser_tab):
            before = browser_tab.page.url
            last: Any = None
            outcomes = []
            for field in fields:
                outcome, found = await _fill_one(browsing, browser_tab, field)
                outcomes.append(outcome)
                last = found or last
            failed = sum(one.outcome == "failed" for one in outcomes)
            is_sent = submit and not failed and last is not None
            if is_sent:
                await with_timeout(last.locator.evaluate(_SUBMIT), "submitting the form")
            page = await browsing.read_after(ctx, browser_tab, None, how)
            tab_state = await browsing.describe(browser_session, browser_tab)
        steps = ["fill_form again with the fields that failed"] if failed else AFTER_ACTION
        if failed and submit:
            steps = ["the form was not submitted, because fields failed", *steps]
        result = FormFilled(
            filled=len(outcomes) - failed,
            failed=failed,
            submitted=is_sent,
            fields=outcomes,
            navigated=browser_tab.page.url != before,
            next_steps=steps,
            **tab_state,
        )
        made = make_page_result(result, page, browsing.secrets, max_chars=maxChars)
        made.is_error = failed == len(outcomes)
        return made


# Click the submit button like a user, or submit the form with validation.
_SUBMIT = """element => {
  const form = element.form || element.closest('form');
  if (!form) throw new Error('the field is not in a form');
  const button = form.querySelector('button:not([type]), [type=submit], [type=image]');
  if (button) button.click(); else form.requestSubmit();
}"""


async def _fill_one(browsing: Browsing, tab: Tab, field: FieldValue) -> tuple[FieldOutcome, Any]:
    target = target_of(field)
    said = target.describe() or "nothing"
    found = None
    try:
        found = await find_target(tab, target)
        await fill_field(found, field, browsing.secrets, browsing.files)
    except ToolError as error:
        reason = message_of(error)
    except driver_errors() as error:
        reason = explain(error)
    else:
        return FieldOutcome(field=said, outcome="filled", element=found.info.view), found
    element = found.info.view if found is not None else None
    return FieldOutcome(field=said, outcome="failed", element=element, reason=reason[:600]), None
