"""A person at the page: a Chromium that types and clicks."""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.deep.chromium_launch import chromium_launch
from tests.patience import CAP

__all__ = ["Person", "open_browser", "visit"]

_MILLISECONDS = CAP * 1000
expect.set_options(timeout=_MILLISECONDS)
# Chromium writes a failed request to the console; the page tells its user itself.
_EXPECTED = ("Failed to load resource", "net::ERR")


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser without pages."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(**chromium_launch())
        yield browser
        browser.close()


@dataclass
class Person:
    """Somebody who uses one tab of the console."""

    page: Page
    url: str
    # Errors of scripts and of the Content-Security-Policy.
    errors: list[str] = field(default_factory=list)

    def go(self, *parts: str) -> None:
        """Open a view: `go("conformance", "tools")`."""
        self.page.goto(self.url + "#/" + "/".join(quote(part, safe="") for part in parts))

    def use(self, revision: str) -> None:
        """Choose the revision and wait until the page is connected."""
        self.page.get_by_label("Protocol revision").select_option(revision)
        self.wait_until_connected()

    def wait_until_connected(self) -> None:
        """Wait until the header says so."""
        expect(self.page.locator("header .status")).to_have_text("Connected")

    def choose(self, name: str) -> None:
        """Choose an entry of the list on the left."""
        field = self.page.get_by_role("searchbox").first
        field.fill(name)
        links = self.page.locator(".list-pane li a")
        by_text = links.filter(has=self.page.get_by_text(name, exact=True))
        by_address = self.page.locator(f'.list-pane li a[href$="/{quote(name, safe="")}"]')
        link = by_text.or_(by_address).first
        link.click()
        expect(link).to_have_attribute("aria-current", "page")
        field.fill("")

    def run(self, tool: str, fields: dict[str, Any] | None = None) -> Locator:
        """Choose a tool, fill in its form, run it and say yes if asked; returns its call."""
        self.choose(tool)
        expect(self.page.locator(f'article[data-tool="{tool}"]')).to_be_visible()
        for label, value in (fields or {}).items():
            self.field(label).fill(str(value))
        self.press_run()
        return self.call

    def field(self, name: str) -> Locator:
        """A text field of the form, by the name of the property."""
        wrapper = self.page.locator(f'[data-path="/{name}"]')
        return wrapper.locator("input:not([type=checkbox]), textarea, select").first

    def press_run(self) -> None:
        """Press Run, and say yes in the dialog."""
        calls = self.page.locator(".history li")
        before = calls.count()
        self.page.locator(".call-form").get_by_role("button", name="Run", exact=True).click()
        dialog = self.page.get_by_role("dialog", name="Run ")
        expect(dialog.or_(calls.nth(before)).first).to_be_visible()
        if dialog.is_visible():
            dialog.get_by_role("button", name="Run", exact=True).click()

    @property
    def call(self) -> Locator:
        """The newest call of the tool."""
        return self.page.locator("section.call").first

    @property
    def dialog(self) -> Locator:
        """The open dialog."""
        return self.page.get_by_role("dialog")

    def press(self, name: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=name, exact=True).first.click()


@contextlib.contextmanager
def visit(
    browser: Browser, url: str, chosen: Mapping[str, str] | None = None, **options: Any
) -> Iterator[Person]:
    """A new tab; fails if a script of the page failed.

    Each tab has its own session storage. Tabs without options share a cache, so that the browser
    compiles the scripts once; with options, the tab is the only one of its profile. `chosen` are
    revisions by the name of the server, as if the user had chosen them before.
    """
    context = _open_profile(browser, **options) if options else _shared_profile(browser)
    person = Person(context.new_page(), url)
    if chosen is not None:
        person.page.add_init_script(_remember(chosen))
    person.page.on("pageerror", lambda error: person.errors.append(str(error)))
    person.page.on("console", lambda message: _note(person, message.type, message.text))
    try:
        person.page.goto(url)
        yield person
    finally:
        if options:
            context.close()
        else:
            for page in context.pages:
                page.close()
    assert person.errors == []


def _open_profile(browser: Browser, **options: Any) -> BrowserContext:
    context = browser.new_context(accept_downloads=True, **options)
    context.set_default_timeout(_MILLISECONDS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return context


_profiles: weakref.WeakKeyDictionary[Browser, BrowserContext] = weakref.WeakKeyDictionary()


def _shared_profile(browser: Browser) -> BrowserContext:
    if browser not in _profiles:
        _profiles[browser] = _open_profile(browser)
    return _profiles[browser]


def _remember(chosen: Mapping[str, str]) -> str:
    """A script that stores revisions where the page looks for them, unless it has stored others."""
    stored = {f"dovetail:revision:{name}": f'"{date}"' for name, date in chosen.items()}
    return f"""
        const chosen = location.protocol === "http:" ? {json.dumps(stored)} : {{}};
        for (const [key, value] of Object.entries(chosen)) sessionStorage[key] ??= value;
    """


def _note(person: Person, kind: str, text: str) -> None:
    if kind == "error" and not any(word in text for word in _EXPECTED):
        person.errors.append(text)
