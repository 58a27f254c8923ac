"""Log-in pages: known by host and path, given time for single sign-on, then put to the user.

What counts as one is a matter of names, so it can be wrong both ways; a page that was asked for
itself is never held back.
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
from dovetail_browser.navigating import telling
from dovetail_browser.page_errors import driver_errors
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

# Below these everybody can have a name, so two names there have nothing in common. The list of all
# of them has ten thousand rows; what is not here only makes a wait longer.
_SHARED = frozenset(
    {
        "appspot.com", "azurewebsites.net", "blogspot.com", "cloudfront.net", "firebaseapp.com",
        "fly.dev", "github.io", "gitlab.io", "herokuapp.com", "netlify.app", "onrender.com",
        "pages.dev", "vercel.app", "web.app", "workers.dev",
    }
)  # fmt: skip
# co.uk, com.au, or.jp: what stands before a country where names are given below it.
_BELOW_COUNTRY = frozenset(
    {"ac", "co", "com", "edu", "go", "gob", "gov", "gv", "ne", "net", "nom", "or", "org"}
)


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """How long to wait, and whether the user can see the browser."""

    # For single sign-on, which needs nobody; less where a form waits for a password.
    sso_seconds: float = 5.0
    form_seconds: float = 1.0
    # For a user who agreed to log in.
    user_seconds: float = 240.0
    has_window: bool = False


@dataclass
class LoginDone:
    """What the user is asked where there is no page to send them to."""

    done: Annotated[bool, Meta(description="The log-in is done; go on.")] = True


def is_login_url(url: str) -> bool:
    """Whether an address looks like a log-in page."""
    parts = urlsplit(url)
    path = parts.path.lower()
    return host_of(url).startswith(_HOSTS) or any(
        path == start or path.startswith(f"{start}/") or path.startswith(f"{start}.")
        for start in _PATHS
    )


def is_same_site(one: str, other: str) -> bool:
    """Whether two hosts belong together: the same, one below the other, or below one owner's."""
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
    """What became of a request for a page."""
    if is_login_url(asked):
        return "asked_for"
    if is_login_url(arrived):
        return "login"
    return "none" if host_of(asked) == host_of(arrived) else "moved"


async def pass_login(ctx: Context, tab: Tab, asked: str, options: LoginOptions) -> bool:
    """Get past a log-in page where that is possible; whether the page is one still."""
    if classify(asked, tab.page.url) != "login":
        return False
    async with telling(ctx, "Waiting for single sign-on"):
        if await _wait_until_back(tab, asked, options.form_seconds):
            return False
        # A page that waits for a password signs nobody on by itself.
        if not await _wants_password(tab) and await _wait_until_back(
            tab, asked, options.sso_seconds - options.form_seconds
        ):
            return False
    if not await _ask(ctx, tab, options):
        return True
    async with telling(ctx, "Waiting for the log-in"):
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
        async with asyncio.timeout(2):
            return await count_matches(tab, Target(selector="input[type=password]")) > 0
    return False


def _is_back(tab: Tab, asked: str) -> bool:
    now = tab.page.url
    return not is_login_url(now) and is_same_site(host_of(asked), host_of(now))


async def _ask(ctx: Context, tab: Tab, options: LoginOptions) -> bool:
    """Ask the user to log in; whether they say that they did, or will."""
    ways = ctx.client.capabilities.get("elicitation")
    if ways is None:
        return False
    parts = urlsplit(tab.page.url)
    # What follows the path can hold tokens.
    page = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    if options.has_window and "url" in ways:
        answer = await ctx.elicit(
            f"{parts.hostname} asks for a log-in. Please log in in the browser window that shows "
            "this page; the work goes on by itself when you are through.",
            url=page,
            key="login",
        )
        return answer.accepted
    if ways and "form" not in ways:
        return False
    where = (
        "Please log in in the browser window, then confirm."
        if options.has_window
        else "The browser has no window. If the site lets you approve the log-in elsewhere (a "
        "telephone, a link in a mail), do that and confirm; otherwise decline, and start the "
        "server with --headed and --profile to log in once."
    )
    form = await ctx.elicit(f"{page} asks for a log-in. {where}", LoginDone, key="login")
    return form.data is not None and form.data.done
