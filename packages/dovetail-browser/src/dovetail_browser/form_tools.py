"""The tool that fills in forms."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, Server, ToolError, ToolResult
from dovetail_browser.acting import fill_field, target_of
from dovetail_browser.answers import ACTS, page_answer, tool
from dovetail_browser.browsing import Browsing, Where
from dovetail_browser.inputs import (
    MAX_CHARS,
    FieldValue,
    MaxChars,
    PageFormat,
    Place,
    SessionHandle,
    TabId,
)
from dovetail_browser.page_errors import driver_errors, explain
from dovetail_browser.reading import AFTER_ACTION, Reading, read_after
from dovetail_browser.results import FieldOutcome, FormFilled
from dovetail_browser.tab import Tab
from dovetail_browser.targets import find_target

__all__ = ["add_form_tool"]


def add_form_tool(server: Server, browsing: Browsing) -> None:
    """Register it."""

    @tool(
        server,
        browsing.secrets,
        "fill_form",
        "Fill in several fields at once: text, check boxes, options, files, secrets. Fields are "
        "found by label, ref, CSS selector, or role and name. submit sends the form if all fields "
        "could be filled in.",
        ACTS,
        FormFilled,
    )
    async def fill_form(
        fields: Annotated[list[FieldValue], Meta(min_length=1, max_length=50)],
        ctx: Context,
        submit: Annotated[bool, "Send the form."] = False,
        format: Annotated[PageFormat | None, "Read the page afterwards in this form."] = None,
        url: Place = None,
        maxChars: MaxChars = MAX_CHARS,
        tab: TabId = None,
        session: SessionHandle = None,
    ) -> ToolResult:
        how = Reading(format) if format is not None else None
        async with browsing.at(ctx, Where(session, tab, url)) as (own, place):
            before = place.page.url
            last: Any = None
            outcomes = []
            for field in fields:
                outcome, found = await _fill_one(browsing, place, field)
                outcomes.append(outcome)
                last = found or last
            failed = sum(one.outcome == "failed" for one in outcomes)
            is_sent = submit and not failed and last is not None
            if is_sent:
                await last.locator.evaluate(_SUBMIT)
            page = await read_after(ctx, browsing.secrets, place, None, how)
            told = await browsing.describe(own, place)
        steps = ["fill_form again with the fields that failed"] if failed else AFTER_ACTION
        if failed and submit:
            steps = ["nothing was sent, because fields failed", *steps]
        result = FormFilled(
            filled=len(outcomes) - failed,
            failed=failed,
            submitted=is_sent,
            fields=outcomes,
            navigated=place.page.url != before,
            next_steps=steps,
            **told,
        )
        made = page_answer(result, page, browsing.secrets, max_chars=maxChars)
        made.is_error = failed == len(outcomes)
        return made


# As a user would: the button of the form, or its submission with validation.
_SUBMIT = """element => {
  const form = element.form || element.closest('form');
  if (!form) throw new Error('the field belongs to no form');
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
        reason = str(error).partition("\n\nNext steps:")[0]
    except driver_errors() as error:
        reason = explain(error)
    else:
        return FieldOutcome(field=said, outcome="filled", element=found.facts.view), found
    element = found.facts.view if found is not None else None
    return FieldOutcome(field=said, outcome="failed", element=element, reason=reason[:600]), None
