"""Handles login pages: detects them, waits for single sign-on, then asks the user.

Detection is by host name and path, so it can be wrong either way. A login page that was requested
itself is returned like any other page.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit, urlunsplit

from msgspec import Meta

from dovetail import Context
from dovetail_browser.navigation import report_progress
from dovetail_browser.page_errors import abandon_after, driver_errors
from dovetail_browser.tab import Tab, host_of
from dovetail_browser.targets import Target, count_matches

__all__ = ["LoginOptions", "classify", "is_login_url", "is_same_site", "pass_login"]

Redirect = Literal["none", "asked_for", "moved", "login"]

_PATHS = (
    "/login", "/signin", "/sign-in", "/auth", "/sso", "/oauth", "/oauth2", "/authenticate", "/saml",
    "/openid",
)  # fmt: skip
_HOSTS = (
    "login.", "auth.", "sso.", "accounts.", "id.", "identity.", "signin.", "authentication.",
    "idp.",
)  # fmt: skip

# Public suffixes: two names below one of these are unrelated. The full list has ten thousand
# entries; a missing one only makes a wait longer.
_SHARED = frozenset(
    {
        "appspot.com", "azurewebsites.net", "blogspot.com", "cloudfront.net", "firebaseapp.com",
        "fly.dev", "github.io", "gitlab.io", "herokuapp.com", "netlify.app", "onrender.com",
        "pages.dev", "vercel.app", "web.app", "workers.dev",
    }
)  # fmt: skip
# Second-level labels of country domains: co.uk, com.au, or.jp.
_BELOW_COUNTRY = frozenset(
    {"ac", "co", "com", "edu", "go", "gob", "gov", "gv", "ne", "net", "nom", "or", "org"}
)


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """Timeouts, and whether the browser has a window."""

    # For single sign-on, which needs no user; shorter if the page has a password field.
    sso_seconds: float = 5.0
    form_seconds: float = 1.0
    # For the user's login.
    user_seconds: float = 240.0
    has_window: bool = False


@dataclass
class LoginDone:
    """The form that asks the user to confirm the login."""

    done: Annotated[bool, Meta(description="The login is done; continue.")] = True


def is_login_url(url: str) -> bool:
    """Whether a URL looks like a login page."""
    parts = urlsplit(url)
    path = parts.path.lower()
    return host_of(url).startswith(_HOSTS) or any(
        path == start or path.startswith(f"{start}/") or path.startswith(f"{start}.")
        for start in _PATHS
    )


def is_same_site(one: str, other: str) -> bool:
    """Whether two hosts are equal, one is a subdomain of the other, or they share a domain."""
    if one == other or one.endswith(f".{other}") or other.endswith(f".{one}"):
        return True
    common: list[str] = []
    for left, right in zip(reversed(one.split(".")), reversed(other.split(".")), strict=False):
        if left != right:
            break
        common.insert(0, left)
    return len(common) > 1 and not _is_public_suffix(common)


def _is_public_suffix(labels: list[str]) -> bool:
    if ".".join(labels) in _SHARED or len(labels) < 2:
        return True
    return len(labels) == 2 and len(labels[1]) == 2 and labels[0] in _BELOW_COUNTRY


def classify(asked: str, arrived: str) -> Redirect:
    """Classify where a request for a page has ended up."""
    if is_login_url(asked):
        return "asked_for"
    if is_login_url(arrived):
        return "login"
    return "none" if host_of(asked) == host_of(arrived) else "moved"


async def pass_login(ctx: Context, tab: Tab, asked: str, options: LoginOptions) -> bool:
    """Wait for single sign-on or the user; return whether the page is still a login page."""
    if classify(asked, tab.page.url) != "login":
        return False
    async with report_progress(ctx, "Waiting for single sign-on"):
        if await _wait_until_back(tab, asked, options.form_seconds):
            return False
        # A page with a password field does not complete single sign-on by itself.
        if not await _wants_password(tab) and await _wait_until_back(
            tab, asked, options.sso_seconds - options.form_seconds
        ):
            return False
    if not await _ask(ctx, tab, options):
        return True
    async with report_progress(ctx, "Waiting for the login"):
        return not await _wait_until_back(tab, asked, options.user_seconds)


async def _wait_until_back(tab: Tab, asked: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not _is_back(tab, asked):
        if time.monotonic() > deadline or tab.page.is_closed():
            return False
        await asyncio.sleep(0.1)
    return True


async def _wants_password(tab: Tab) -> bool:
    with contextlib.suppress(TimeoutError, *driver_errors()):
        return (
            await abandon_after(2, count_matches(tab, Target(selector="input[type=password]"))) > 0
        )
    return False


def _is_back(tab: Tab, asked: str) -> bool:
    now = tab.page.url
    return not is_login_url(now) and is_same_site(host_of(asked), host_of(now))


async def _ask(ctx: Context, tab: Tab, options: LoginOptions) -> bool:
    """Ask the user to log in; return whether they accept."""
    ways = ctx.client.capabilities.get("elicitation")
    if ways is None:
        return False
    parts = urlsplit(tab.page.url)
    # The query can contain tokens.
    page = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    if options.has_window and "url" in ways:
        answer = await ctx.elicit(
            f"{parts.hostname} asks for a login. Please log in in the browser window that shows "
            "this page; the call continues when you are logged in.",
            url=page,
            key="login",
        )
        return answer.accepted
    if ways and "form" not in ways:
        return False
    where = (
        "Please log in in the browser window, then confirm."
        if options.has_window
        else "The browser has no window. If the site lets you approve the login elsewhere (a "
        "phone, a link in an email), do that and confirm; otherwise decline, and start the "
        "server with --headed and --profile to log in once."
    )
    form = await ctx.elicit(f"{page} asks for a login. {where}", LoginDone, key="login")
    return form.data is not None and form.data.done
