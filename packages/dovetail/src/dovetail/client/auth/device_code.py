"""The device authorization grant (RFC 8628): the user logs in on another device."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec
from msgspec import Struct

from dovetail.client.auth.grants import Flow, Grant, Obtained
from dovetail.oauth.failures import AuthorizationError, TokenRefusedError

__all__ = ["DeviceCode", "DevicePrompt", "show_prompt"]

_DEFAULT_INTERVAL = 5.0
_SLOW_DOWN = 5.0
_LONGEST_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class DevicePrompt:
    """What the user needs to log in on another device."""

    url: str
    code: str
    # The address with the code in it, for a QR code; None if the server has none.
    complete_url: str | None = None
    expires_in: float = _LONGEST_SECONDS


def show_prompt(prompt: DevicePrompt) -> None:
    """Write the prompt to stderr."""
    sys.stderr.write(f"Open {prompt.url} on any device and enter the code {prompt.code}\n")
    sys.stderr.flush()


class _DeviceResponse(Struct):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str | None = None
    expires_in: float = _LONGEST_SECONDS
    interval: float = _DEFAULT_INTERVAL


@dataclass(frozen=True)
class DeviceCode(Grant):
    """A user who logs in on another device; `show` gets the address and the code."""

    show: Callable[[DevicePrompt], None] = field(default=show_prompt)
    is_interactive: ClassVar[bool] = True
    grant_type: ClassVar[str] = "urn:ietf:params:oauth:grant-type:device_code"

    async def obtain(self, flow: Flow) -> Obtained:
        """Show the code, and ask for the token until the user has finished."""
        server = flow.authority.server
        if server.device_authorization_endpoint is None:
            raise AuthorizationError(
                f"The authorization server {server.issuer} does not offer the device login; "
                "log in with a browser"
            )
        client = await flow.registrar.find([self.grant_type])
        tokens = flow.make_endpoint(client)
        started = await self._start(flow, server.device_authorization_endpoint, client.client_id)
        self.show(
            DevicePrompt(
                _check_page(flow, started.verification_uri),
                started.user_code,
                started.verification_uri_complete
                and _check_page(flow, started.verification_uri_complete),
                started.expires_in,
            )
        )
        form = {
            "grant_type": self.grant_type,
            "device_code": started.device_code,
            "resource": flow.authority.resource,
        }
        interval = max(started.interval, 0.0)
        deadline = time.monotonic() + min(started.expires_in, _LONGEST_SECONDS)
        while time.monotonic() < deadline:
            await asyncio.sleep(interval)
            try:
                found, user = await tokens.request(form, flow.scopes)
            except TokenRefusedError as error:
                if error.code == "slow_down":
                    interval += _SLOW_DOWN
                elif error.code != "authorization_pending":
                    raise
            else:
                return Obtained(client, found, user)
        raise AuthorizationError(
            f"Nobody finished the login at {server.issuer} in time; log in again"
        )

    async def _start(self, flow: Flow, url: str, client_id: str) -> _DeviceResponse:
        endpoint = flow.fetch.policy.check(url, "The device authorization endpoint")
        form = {"client_id": client_id, "resource": flow.authority.resource}
        if flow.scopes:
            form["scope"] = " ".join(flow.scopes)
        fetched = await flow.fetch.post_form(endpoint, form)
        try:
            if fetched.status != 200:
                raise ValueError
            return msgspec.convert(fetched.json(), _DeviceResponse)
        except (ValueError, msgspec.ValidationError):
            raise AuthorizationError(
                f"{endpoint} did not start a device login ({fetched.reason}); log in with a browser"
            ) from None


def _check_page(flow: Flow, url: str) -> str:
    flow.fetch.policy.check(url, "The address for the user")
    return url
