"""How this client becomes known to an authorization server.

The order of the specification: credentials that the user has, a client ID metadata document
(SEP-991), a registration that was made before, a new dynamic registration (RFC 7591).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from dovetail.client.auth.records import ClientRecord, decode_record, encode_record
from dovetail.client.auth.storage import TokenStore, make_key
from dovetail.client.auth.token_endpoint import ClientKey
from dovetail.errors import AuthorizationError
from dovetail.oauth.discovery import ServerMetadata
from dovetail.oauth.fetch import AuthFetch

__all__ = ["ClientFacts", "Registrar"]

_METHODS = ("none", "client_secret_basic", "client_secret_post")
_REFRESH = "refresh_token"


@dataclass(frozen=True, slots=True, repr=False)
class ClientFacts:
    """What the user says about the client."""

    name: str
    client_id: str | None = None
    client_secret: str | None = None
    key: ClientKey | None = None
    # The URL of a client ID metadata document, which becomes the client id.
    metadata_url: str | None = None
    # The only issuer that may see the credentials; None for the one that is found first.
    issuer: str | None = None


class _Registered(Struct):
    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: float | None = None
    token_endpoint_auth_method: str | None = None


class Registrar:
    """Finds or makes the identity of the client at one authorization server."""

    def __init__(
        self,
        fetch: AuthFetch,
        store: TokenStore,
        server: ServerMetadata,
        facts: ClientFacts,
        *,
        is_assumed: bool = False,
    ) -> None:
        """`is_assumed`: nothing says that this issuer is an authorization server."""
        self._is_assumed = is_assumed
        self._fetch = fetch
        self._store = store
        self._server = server
        self._facts = facts
        # Registrations belong to the issuer that made them (SEP-2352).
        self._key = make_key("client", server.issuer)

    def known_redirect(self) -> str | None:
        """The redirect URI of an earlier registration, which is worth using again."""
        record = self._load()
        return None if record is None else record.redirect_uri

    async def find(self, grants: Sequence[str], redirect_uri: str | None = None) -> ClientRecord:
        """The identity for these grant types; raises AuthorizationError."""
        facts = self._facts
        if facts.client_id is not None:
            return ClientRecord(client_id=facts.client_id, client_secret=facts.client_secret)
        if facts.metadata_url is not None and self._server.client_id_metadata_document_supported:
            return ClientRecord(client_id=facts.metadata_url, auth_method="none")
        record = self._load()
        if record is not None and record.is_usable and record.redirect_uri == redirect_uri:
            return record
        return await self._register(grants, redirect_uri)

    def forget(self) -> None:
        """Forget a registration that the server no longer knows."""
        self._store.delete(self._key)

    def _load(self) -> ClientRecord | None:
        return decode_record(ClientRecord, self._store.load(self._key))

    async def _register(self, grants: Sequence[str], redirect_uri: str | None) -> ClientRecord:
        issuer = self._server.issuer
        if self._server.registration_endpoint is None:
            raise AuthorizationError(
                f"The authorization server {issuer} does not register clients by itself; "
                "ask its operator for a client id and pass client_id= "
                "(--client-id)"
            )
        endpoint = self._fetch.policy.check(
            self._server.registration_endpoint, "The registration endpoint"
        )
        method = self._choose_method()
        document: dict[str, Any] = {
            "client_name": self._facts.name,
            "grant_types": list(dict.fromkeys((*grants, _REFRESH))),
            "token_endpoint_auth_method": method,
            # SEP-837: a program on the user's machine, which may use loopback redirects.
            "application_type": "native",
        }
        if redirect_uri is not None:
            document["redirect_uris"] = [redirect_uri]
            document["response_types"] = ["code"]
        fetched = await self._fetch.post_json(endpoint, document)
        try:
            if fetched.status not in (200, 201):
                raise ValueError
            found = msgspec.convert(fetched.json(), _Registered)
        except (ValueError, msgspec.ValidationError):
            if self._is_assumed and fetched.status not in (200, 201):
                raise AuthorizationError(
                    f"There is no login at {issuer}: the server names no authorization server and "
                    f"is none itself (registration: {fetched.reason}). It probably takes a key; "
                    "send the one that its operator gave you"
                ) from None
            # The body is not quoted: it may contain a secret.
            raise AuthorizationError(
                f"The authorization server {issuer} did not register this client "
                f"({fetched.reason}); ask its operator for a client id and pass client_id="
            ) from None
        record = ClientRecord(
            client_id=found.client_id,
            client_secret=found.client_secret,
            auth_method=found.token_endpoint_auth_method,
            redirect_uri=redirect_uri,
            # RFC 7591: 0 means that it does not expire.
            secret_expires_at=found.client_secret_expires_at or None,
            is_registered=True,
        )
        self._store.save(self._key, encode_record(record))
        return record

    def _choose_method(self) -> str:
        accepted = self._server.token_endpoint_auth_methods_supported
        for method in _METHODS:
            if accepted is None or method in accepted:
                return method
        return _METHODS[0]
