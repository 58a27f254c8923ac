"""The errors of an authorization."""

from __future__ import annotations

from dovetail.errors import AccessDeniedError

__all__ = ["AuthorizationError", "LoginRequiredError", "TokenRefusedError"]


class AuthorizationError(AccessDeniedError):
    """No access token could be obtained; the message names the party at fault and the next step.

    It never contains a token, a code or a secret.
    """


class LoginRequiredError(AuthorizationError):
    """The user has to log in, and this client may not ask for it."""


class TokenRefusedError(AuthorizationError):
    """The authorization server refused a token request with an OAuth error code."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.code = code
