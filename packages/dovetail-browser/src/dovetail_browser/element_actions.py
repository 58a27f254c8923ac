"""Actions on an element, and the checks that fail early instead of waiting for a timeout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail_browser.inputs import FieldValue
from dovetail_browser.page_errors import driver_errors, explain, tool_error
from dovetail_browser.saved_files import SavedFiles
from dovetail_browser.secret_values import Secrets
from dovetail_browser.tab import Tab, host_of
from dovetail_browser.targets import FIELD_WAYS, Found, Target

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

# Short: a usable element reacts at once, and an element that covers it does not go away.
ACTION_MS = 1_500
_MARK_SECRET = "element => element.style.setProperty('-webkit-text-security', 'disc', 'important')"
_BOXES = ("checkbox", "radio")
_TOGGLE = "(element, wanted) => { if (element.checked !== wanted) element.click(); }"
_LONGEST_TYPED_SECONDS = 120


def check_usable(found: Found) -> None:
    """Raise at once for a disabled or hidden element, which Playwright would wait for."""
    info = found.info
    if info.is_disabled:
        raise tool_error(
            f"{info.describe()} cannot be used: it is disabled.",
            "fill in the fields that the page requires, then try again",
            "wait_for with a `selector` like button:not([disabled]) waits until it is enabled",
        )
    if not info.is_visible:
        raise tool_error(
            f"{info.describe()} cannot be used: it is not visible.",
            "open the menu, tab or section that contains it, then try again",
            "get_current_html with `format=snapshot` lists the visible elements",
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
            # The click was made; the page is still busy handling it.
            return
        raise tool_error(
            f"{found.info.describe()} could not be clicked: {explain(error)}.",
            "close the banner or dialog that covers it, then try again",
            "take_screenshot shows what covers it",
        ) from None


async def type_into(tab: Tab, found: Found, text: str, *, clear: bool, delay_ms: int) -> None:
    """Type text into an element, key by key if `delay_ms` is set."""
    check_usable(found)
    if not found.info.is_editable:
        raise tool_error(
            f"{found.info.describe()} cannot be typed into.",
            "choose a text field; fill_form sets check boxes, options and files",
        )
    seconds = len(text) * delay_ms / 1000
    if seconds > _LONGEST_TYPED_SECONDS:
        raise tool_error(
            f"Typing {len(text)} characters with {delay_ms} ms each takes {seconds:.0f} s; at most "
            f"{_LONGEST_TYPED_SECONDS} s are allowed.",
            "give `typeDelay=0`",
        )
    locator = found.locator
    try:
        if clear and not delay_ms:
            await locator.fill(text, timeout=ACTION_MS)
            return
        if clear:
            await locator.fill("", timeout=ACTION_MS)
        else:
            # Append to the existing text.
            await locator.focus(timeout=ACTION_MS)
            await locator.press("Control+End", timeout=ACTION_MS)
        if delay_ms:
            await locator.press_sequentially(
                text, delay=delay_ms, timeout=ACTION_MS + seconds * 1000
            )
        else:
            await tab.page.keyboard.insert_text(text)
    except driver_errors() as error:
        raise tool_error(
            f"{found.info.describe()} could not be typed into: {explain(error)}.",
            "get_current_html with `format=snapshot` lists the fields of the page",
        ) from None


async def open_secret(found: Found, name: str, secrets: Secrets) -> str:
    """Return the value of a secret for this field, and mask the field, also in screenshots.

    Raises ToolError if the secret is bound to another host than the field's document.
    """
    handle = await found.locator.element_handle(timeout=ACTION_MS)
    frame = await handle.owner_frame()
    value = secrets.value_for(name, host_of(frame.url) if frame is not None else "")
    await handle.evaluate(_MARK_SECRET)
    return value


def target_of(field: FieldValue) -> Target:
    """Return the target that a form field names."""
    return Target(
        ref=field.ref,
        selector=field.selector,
        role=field.role,
        name=field.name,
        label=field.label,
        ways=FIELD_WAYS,
    )


async def fill_field(found: Found, field: FieldValue, secrets: Secrets, files: SavedFiles) -> None:
    """Fill a field with the value, option, files or secret given for it."""
    given = [field.value, field.checked, field.option, field.files, field.secret]
    if sum(one is not None for one in given) != 1:
        raise tool_error(
            "A field needs exactly one content.",
            "give one of `value`, `checked`, `option`, `files` and `secret`",
        )
    locator, info = found.locator, found.info
    if field.files is not None:
        paths: Sequence[Path] = [files.find(name) for name in field.files]
        await locator.set_input_files(paths, timeout=ACTION_MS)
        return
    if field.checked is not None and not info.is_visible and info.kind in _BOXES:
        # Many pages hide the input and draw their own box in its label.
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
    elif info.tag == "select":
        await _choose(found, [field.value or ""])
    else:
        await locator.fill(field.value or "", timeout=ACTION_MS)


async def _choose(found: Found, wanted: list[str]) -> None:
    if found.info.tag != "select":
        raise tool_error(
            f"{found.info.describe()} is not a list of options.",
            "interact with `action=click` opens it; then click the option",
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
                raise tool_error(
                    f"There is no option {one[:100]!r}; the options are: {labels}.",
                    "give an `option` with one of these labels",
                )
            [match] = like
        values.append(match)
    await found.locator.select_option(value=values, timeout=ACTION_MS)
