"""`dovetail login`, `logout` and `whoami`: logins at servers that use OAuth.

Other commands use the stored tokens for the same URL.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Coroutine
from dataclasses import asdict
from typing import Any, TypeVar

import click

from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.printing import print_json, print_pairs
from dovetail.client.auth import (
    AuthorizationCode,
    AuthorizationError,
    DeviceCode,
    Grant,
    Login,
    LoopbackBrowser,
    OAuth,
    find_login,
    list_logins,
)
from dovetail.client.auth import login as log_in
from dovetail.client.auth import logout as log_out
from dovetail.client.targets import is_url
from dovetail.errors import DovetailError, UsageError

__all__ = ["login", "logout", "whoami"]

T = TypeVar("T")

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.command()
@click.argument("url", metavar="URL")
@click.option("--device", is_flag=True, help="Log in on another device, with a code.")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening a browser.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="Ask for this scope (repeatable, or several separated by spaces).",
)
@click.option("--client-id", metavar="ID", help="Log in as a client that is registered already.")
@click.option(
    "--client-secret-env",
    metavar="NAME",
    help="The environment variable with the secret of --client-id.",
)
@_JSON
def login(
    url: str,
    device: bool,
    no_browser: bool,
    scopes: tuple[str, ...],
    client_id: str | None,
    client_secret_env: str | None,
    as_json: bool,
) -> None:
    """Log in to the server at URL; other commands then use the login."""
    if device and no_browser:
        raise Failure("--device and --no-browser exclude each other; give one", WRONG_USAGE)
    grant: Grant = DeviceCode()
    if not device:
        grant = AuthorizationCode(LoopbackBrowser(open_browser=not no_browser))

    async def work() -> Login:
        auth = OAuth(
            client_id=client_id,
            client_secret=_read_secret(client_secret_env),
            scopes=[scope for given in scopes for scope in given.split()],
            grant=grant,
        )
        return await log_in(url, auth)

    found = _run(url, work())
    print_json(asdict(found)) if as_json else _print_login(found)


@click.command()
@click.argument("url", metavar="URL")
@_JSON
def logout(url: str, as_json: bool) -> None:
    """Revoke and delete the login for the server at URL."""

    async def work() -> bool | None:
        return await log_out(url, OAuth())

    is_revoked = _run(url, work())
    if is_revoked is None:
        raise Failure(f"There is no login for {url}", FAILED_CALL)
    if as_json:
        print_json({"server": url, "revoked": is_revoked})
    elif is_revoked:
        click.echo(f"Logged out of {url}")
    else:
        click.echo(
            f"Deleted the login for {url}; the authorization server did not revoke its tokens"
        )


@click.command()
@click.argument("url", metavar="[URL]", required=False)
@_JSON
def whoami(url: str | None, as_json: bool) -> None:
    """Show the login for the server at URL, or all logins."""

    async def work() -> list[Login]:
        auth = OAuth()
        found = [find_login(each, auth) for each in (list_logins(auth) if url is None else [url])]
        return [each for each in found if each is not None]

    logins = _run(url, work())
    if url is not None and not logins:
        raise Failure(f"There is no login for {url}; run: dovetail login {url}", FAILED_CALL)
    if as_json:
        described = [asdict(each) for each in logins]
        print_json(described if url is None else described[0])
        return
    if not logins:
        click.echo("No logins.")
    for number, each in enumerate(logins):
        if number:
            click.echo()
        _print_login(each)


def _run(url: str | None, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; raises Failure with the exit code."""
    try:
        if url is not None and not is_url(url):
            raise UsageError(f"Expected a URL (http://... or https://...), got {url!r}")
        return asyncio.run(work)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except AuthorizationError as error:
        raise Failure(str(error), FAILED_CALL) from None
    except (DovetailError, TimeoutError) as error:
        raise Failure(str(error), COULD_NOT_START) from None
    finally:
        work.close()


def _read_secret(variable: str | None) -> str | None:
    if variable is None:
        return None
    secret = os.environ.get(variable)
    if not secret:
        state = "not set" if secret is None else "empty"
        raise UsageError(f"--client-secret-env: the environment variable {variable!r} is {state}")
    return secret


def _print_login(found: Login) -> None:
    user = [str(found.user[name]) for name in ("name", "email", "sub") if found.user.get(name)]
    pairs = [
        ("Server", found.server),
        ("User", ", ".join(user)),
        ("Issuer", found.issuer),
        ("Client", found.client_id),
        ("Scopes", " ".join(found.scopes)),
        ("Token", _describe_token(found)),
    ]
    print_pairs([(name, value) for name, value in pairs if value])


def _describe_token(found: Login) -> str:
    renewed = "renewed without you" if found.is_renewable else "not renewed"
    if found.expires_at is None:
        return renewed
    minutes = math.floor((found.expires_at - time.time()) / 60)
    state = "expired" if minutes < 0 else f"expires in {minutes} min"
    return f"{state}, {renewed}"
