"""The authorization code flow with PKCE (OAuth 2.1) and issuer identification (RFC 9207)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

from dovetail.client.auth.grants import Flow, Grant, Obtained
from dovetail.client.auth.user_agent import LoopbackBrowser, UserAgent
from dovetail.oauth.discovery import Authority
from dovetail.oauth.failures import AuthorizationError

__all__ = ["AuthorizationCode", "make_challenge"]

_METHOD = "S256"
_OFFLINE = "offline_access"
_SHOWN = 200
# What to do about an error code of the authorization page (RFC 6749, section 4.1.2.1).
_ADVICE = {
    "access_denied": "the login was declined; log in again if that was a mistake",
    "invalid_scope": "ask for other scopes",
    "unauthorized_client": "ask the operator to allow this client",
    "invalid_target": "the server's address is unknown there; ask the operator to register it",
    "server_error": "try again later",
    "temporarily_unavailable": "try again later",
}


def make_challenge(verifier: str) -> str:
    """The S256 code challenge of a verifier (RFC 7636)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True)
class AuthorizationCode(Grant):
    """A user who logs in on a page of the authorization server."""

    user_agent: UserAgent = field(default_factory=LoopbackBrowser)
    is_interactive: ClassVar[bool] = True
    grant_type: ClassVar[str] = "authorization_code"

    async def obtain(self, flow: Flow) -> Obtained:
        """Let the user log in, and exchange the code for tokens."""
        authority = flow.authority
        page = _check_support(authority)
        async with self.user_agent.open(flow.registrar.known_redirect()) as redirect:
            client = await flow.registrar.find([self.grant_type], redirect.uri)
            verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
            scopes = _add_offline_access(authority, flow.scopes)
            query = {
                "response_type": "code",
                "client_id": client.client_id,
                "redirect_uri": redirect.uri,
                "state": state,
                "code_challenge": make_challenge(verifier),
                "code_challenge_method": _METHOD,
                "resource": authority.resource,
            }
            if scopes:
                query["scope"] = " ".join(scopes)
            if _OFFLINE in scopes:
                # OpenID Connect Core, section 11: otherwise the scope may be ignored.
                query["prompt"] = "consent"
            separator = "&" if "?" in page else "?"
            answer = await redirect.visit(f"{page}{separator}{urlencode(query)}")
            code = _read_code(answer, state, authority)
            form = {
                "grant_type": self.grant_type,
                "code": code,
                "redirect_uri": redirect.uri,
                "code_verifier": verifier,
                "resource": authority.resource,
            }
            tokens, user = await flow.make_endpoint(client).request(form, scopes)
        return Obtained(client, tokens, user)


def _check_support(authority: Authority) -> str:
    server = authority.server
    if server.authorization_endpoint is None:
        raise AuthorizationError(
            f"The authorization server {server.issuer} has no page to log in on; "
            "use another way to log in"
        )
    methods = server.code_challenge_methods_supported or []
    # 2025-11-25 basic/authorization: without PKCE a stolen code could be used, so a server that
    # does not offer it is refused.
    if _METHOD not in methods and not authority.is_assumed:
        raise AuthorizationError(
            f"The authorization server {server.issuer} does not offer PKCE with {_METHOD} "
            "(code_challenge_methods_supported), so a login there is not safe; "
            "ask its operator to turn it on"
        )
    return server.authorization_endpoint


def _add_offline_access(authority: Authority, scopes: tuple[str, ...]) -> tuple[str, ...]:
    # SEP-2207: ask for a refresh token where the server lists the scope for it.
    if _OFFLINE in (authority.server.scopes_supported or []) and _OFFLINE not in scopes:
        return (*scopes, _OFFLINE)
    return scopes


def _read_code(answer: str, state: str, authority: Authority) -> str:
    """The code in the redirect; raises AuthorizationError if the redirect is not for us."""
    server = authority.server
    fields = parse_qs(urlsplit(answer).query, keep_blank_values=True)
    repeated = [name for name, values in fields.items() if len(values) > 1]
    if repeated:
        raise AuthorizationError(
            f"The redirect from {server.issuer} repeats {repeated[0][:_SHOWN]!r}; it was ignored"
        )
    found = {name: values[0] for name, values in fields.items()}
    if not hmac.compare_digest(found.get("state", "").encode(), state.encode()):
        raise AuthorizationError(
            "The browser came back with the response to another login (wrong state); it was "
            "ignored. Log in again, and use the page that opens"
        )
    _check_issuer(found.get("iss"), authority)
    if "error" in found:
        code = found["error"][:_SHOWN]
        advice = _ADVICE.get(code, "report this to its operator")
        raise AuthorizationError(
            f"The authorization server {server.issuer} did not grant access: {code!r}; {advice}"
        )
    if not found.get("code"):
        raise AuthorizationError(
            f"The redirect from {server.issuer} has neither a code nor an error; "
            "report this to its operator"
        )
    return found["code"]


def _check_issuer(iss: str | None, authority: Authority) -> None:
    """SEP-2468: the response must come from the server that was asked (mix-up attack)."""
    server = authority.server
    if iss is None:
        if server.authorization_response_iss_parameter_supported:
            raise AuthorizationError(
                f"The redirect does not say that it is from {server.issuer}, which it always "
                "should (missing iss); it was ignored, because it may be an attack"
            )
        return
    # RFC 9207, section 2.4: compared as strings, without normalization.
    if iss != server.issuer:
        raise AuthorizationError(
            f"The redirect is from {iss[:_SHOWN]!r}, and the login was at {server.issuer!r}; "
            "it was ignored, because it may be an attack"
        )
