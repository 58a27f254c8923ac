"""What can be done to an element, and what is checked before, so that nothing waits in vain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail import ToolError
from dovetail_browser.inputs import FieldValue
from dovetail_browser.page_errors import driver_errors, explain, refuse
from dovetail_browser.saved_files import SavedFiles
from dovetail_browser.secret_values import Secrets
from dovetail_browser.tab import Tab, host_of
from dovetail_browser.targets import Found, Target

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ACTION_MS",
    "check_usable",
    "click",
    "fill_field",
    "open_secret",
    "target_of",
    "type_into",
]

# An element that is there and can be used is used within a moment; what covers it stays.
ACTION_MS = 1_500
_MARK_SECRET = "element => element.style.setProperty('-webkit-text-security', 'disc', 'important')"
_BOXES = ("checkbox", "radio")
_TOGGLE = "(element, wanted) => { if (element.checked !== wanted) element.click(); }"
_LONGEST_TYPED_SECONDS = 120


def check_usable(found: Found) -> None:
    """Refuse at once what would only be waited for."""
    facts = found.facts
    if facts.is_disabled:
        raise refuse(
            f"{facts.describe()} cannot be used: it is disabled.",
            "fill in what the page still needs, then try again",
            "wait_for with a selector like 'button:not([disabled])' waits until it is enabled",
        )
    if not facts.is_visible:
        raise refuse(
            f"{facts.describe()} cannot be used: it is not visible.",
            "open what hides it (a menu, a tab, a section), then try again",
            "page_snapshot lists what is visible",
        )


async def click(found: Found, **options: Any) -> None:
    """Click an element."""
    check_usable(found)
    try:
        if options.pop("double", False):
            await found.locator.dblclick(timeout=ACTION_MS, **options)
        else:
            await found.locator.click(timeout=ACTION_MS, **options)
    except driver_errors() as error:
        if "performing click action" in str(error):
            # It was clicked; the page is busy with what follows.
            return
        raise refuse(
            f"{found.facts.describe()} could not be clicked: {explain(error)}.",
            "close or move what is in the way (a banner, a dialog), then try again",
            "take_screenshot shows what is in the way",
        ) from None


async def type_into(tab: Tab, found: Found, text: str, *, clear: bool, delay_ms: int) -> None:
    """Type a text, key by key if there is a delay."""
    check_usable(found)
    if not found.facts.is_editable:
        raise refuse(
            f"{found.facts.describe()} cannot be typed into.",
            "name a text field; fill_form sets check boxes, options and files",
        )
    seconds = len(text) * delay_ms / 1000
    if seconds > _LONGEST_TYPED_SECONDS:
        raise refuse(
            f"Typing {len(text)} characters with {delay_ms} ms each takes {seconds:.0f} s; at most "
            f"{_LONGEST_TYPED_SECONDS} s are allowed.",
            "give typeDelay=0",
        )
    locator = found.locator
    try:
        if clear and not delay_ms:
            await locator.fill(text, timeout=ACTION_MS)
            return
        if clear:
            await locator.fill("", timeout=ACTION_MS)
        else:
            # Behind what is there, as a reader would go on.
            await locator.focus(timeout=ACTION_MS)
            await locator.press("Control+End", timeout=ACTION_MS)
        if delay_ms:
            await locator.press_sequentially(
                text, delay=delay_ms, timeout=ACTION_MS + seconds * 1000
            )
        else:
            await tab.page.keyboard.insert_text(text)
    except driver_errors() as error:
        raise refuse(
            f"{found.facts.describe()} could not be typed into: {explain(error)}.",
            "page_snapshot shows the fields there are",
        ) from None


async def open_secret(found: Found, name: str, secrets: Secrets) -> str:
    """The value of a secret for this field, which from now on shows dots, also in pictures.

    Refused where the secret belongs to another host than the document that the field is in.
    """
    handle = await found.locator.element_handle(timeout=ACTION_MS)
    frame = await handle.owner_frame()
    value = secrets.value_for(name, host_of(frame.url) if frame is not None else "")
    await handle.evaluate(_MARK_SECRET)
    return value


def target_of(field: FieldValue) -> Target:
    """The element that a field of a form means."""
    return Target(
        ref=field.ref, selector=field.selector, role=field.role, name=field.name, label=field.label
    )


async def fill_field(found: Found, field: FieldValue, secrets: Secrets, files: SavedFiles) -> None:
    """Put into a field what was given for it."""
    given = [field.value, field.checked, field.option, field.files, field.secret]
    if sum(one is not None for one in given) != 1:
        raise ToolError("give one of value, checked, option, files and secret")
    locator, facts = found.locator, found.facts
    if field.files is not None:
        paths: Sequence[Path] = [files.find(name) for name in field.files]
        await locator.set_input_files(paths, timeout=ACTION_MS)
        return
    if field.checked is not None and not facts.is_visible and facts.kind in _BOXES:
        # Pages hide the box and draw one of their own in its label.
        await locator.evaluate(_TOGGLE, field.checked, timeout=ACTION_MS)
        return
    check_usable(found)
    if field.checked is not None:
        await locator.set_checked(field.checked, timeout=ACTION_MS)
    elif field.option is not None:
        await _choose(found, [field.option] if isinstance(field.option, str) else field.option)
    elif field.secret is not None:
        value = await open_secret(found, field.secret, secrets)
        await locator.fill(value, timeout=ACTION_MS)
    elif facts.tag == "select":
        await _choose(found, [field.value or ""])
    else:
        await locator.fill(field.value or "", timeout=ACTION_MS)


async def _choose(found: Found, wanted: list[str]) -> None:
    if found.facts.tag != "select":
        raise ToolError(
            f"{found.facts.describe()} is no list of options; click_element opens it, then click "
            "the option"
        )
    options: list[list[str]] = await found.locator.evaluate(
        "element => [...element.options].slice(0, 500).map(one => [one.value, one.label])",
        timeout=ACTION_MS,
    )
    values = []
    for one in wanted:
        match = next((value for value, label in options if one in (value, label.strip())), None)
        if match is None:
            folded = one.casefold().strip()
            like = [value for value, label in options if folded in label.casefold()]
            if len(like) != 1:
                labels = ", ".join(repr(label[:60]) for _, label in options[:15])
                raise ToolError(f"there is no option {one[:100]!r}; there are: {labels}")
            [match] = like
        values.append(match)
    await found.locator.select_option(value=values, timeout=ACTION_MS)
