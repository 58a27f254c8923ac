"""A real authorization server: django-oauth-toolkit in a separate process.

usage: python identity_provider.py PORT KEY_FILE DATABASE [opaque]

The toolkit implements registration, PKCE, consent, resource indicators, introspection, key set and
discovery. This module adds settings, a generator for JWT access tokens (RFC 9068; the toolkit's
default is opaque tokens), and tokens that are bound to the key of a DPoP proof (RFC 9449; only the
server that is tested checks proofs). A request with the header `Remote-User` is logged in, as
behind a proxy.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import django
import uvicorn
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.urls import include, path
from django.utils.decorators import async_only_middleware
from jwcrypto import jwk, jws, jwt

SCOPES = ("notes:read", "notes:write", "openid", "introspection")


def configure(port: str, key_file: str, database: str, *, opaque: bool) -> None:
    here = "identity_provider" if __name__ != "__main__" else "__main__"
    toolkit: dict[str, Any] = {
        "OIDC_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": Path(key_file).read_text(),
        "OIDC_ISS_ENDPOINT": f"http://127.0.0.1:{port}",
        "PKCE_REQUIRED": True,
        "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
        "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
        "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "SCOPES": {scope: scope for scope in SCOPES},
        "DEFAULT_SCOPES": ["notes:read"],
        "DCR_ENABLED": True,
        "CIMD_ENABLED": True,
        "CIMD_METADATA_FETCHER": f"{here}.LocalDocuments",
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
        "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": [
            "none", "client_secret_post", "client_secret_basic",
        ],
    }  # fmt: skip
    if not opaque:
        toolkit["ACCESS_TOKEN_GENERATOR"] = f"{here}.sign_access_token"
    settings.configure(
        SECRET_KEY="for these tests alone",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=here,
        USE_TZ=True,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database}},
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.auth.middleware.RemoteUserMiddleware",
            f"{here}.name_bound_tokens",
        ],
        AUTHENTICATION_BACKENDS=["django.contrib.auth.backends.RemoteUserBackend"],
        TEMPLATES=[
            {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
        ],
        OAUTH2_PROVIDER=toolkit,
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    )


class LocalDocuments:
    """Client metadata documents without a web server; the toolkit fetches only public hosts."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        document = {
            "client_id": client_id,
            "client_name": "published",
            "redirect_uris": ["http://127.0.0.1/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        }
        return document, 600


def sign_access_token(request: Any, refresh_token: bool = False) -> str:
    key = jwk.JWK.from_pem(settings.OAUTH2_PROVIDER["OIDC_RSA_PRIVATE_KEY"].encode())
    now = int(time.time())
    claims = {
        "iss": settings.OAUTH2_PROVIDER["OIDC_ISS_ENDPOINT"],
        "aud": request.resource or [request.client.client_id],
        "client_id": request.client.client_id,
        "scope": " ".join(request.scopes),
        "iat": now,
        "exp": now + request.expires_in,
        "jti": uuid4().hex,
    }
    if request.user is not None:
        claims["sub"] = request.user.get_username()
    proof = request.headers.get("HTTP_DPOP")
    if proof is not None:
        token = jws.JWS()
        token.deserialize(proof)
        claims["cnf"] = {"jkt": jwk.JWK(**token.jose_header["jwk"]).thumbprint()}
    head = {"alg": "RS256", "typ": "at+jwt", "kid": key.thumbprint()}
    token = jwt.JWT(header=head, claims=claims)
    token.make_signed_token(key)
    return str(token.serialize())


@async_only_middleware  # type: ignore[untyped-decorator]
def name_bound_tokens(get_response: Any) -> Any:
    """Middleware that sets the type of tokens that are bound to a key."""

    async def respond(request: Any) -> Any:
        response = await get_response(request)
        if "HTTP_DPOP" in request.META and response.status_code == 200:
            response.content = response.content.replace(b'"Bearer"', b'"DPoP"')
        return response

    return respond


def add_clients() -> None:
    """Two programs that call on their own behalf, and the server that asks about tokens."""
    from oauth2_provider.models import Application  # noqa: PLC0415 - needs the settings

    for name in ("robot", "other", "resource-server"):
        Application.objects.get_or_create(
            client_id=name,
            defaults={
                "client_secret": f"{name}-secret",
                "client_type": Application.CLIENT_CONFIDENTIAL,
                "authorization_grant_type": Application.GRANT_CLIENT_CREDENTIALS,
                "name": name,
            },
        )


def main() -> None:
    port, key_file, database, *more = sys.argv[1:]
    os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
    configure(port, key_file, database, opaque=more == ["opaque"])
    django.setup()
    globals()["urlpatterns"] = [path("", include("oauth2_provider.urls"))]
    call_command("migrate", verbosity=0)
    add_clients()
    config = uvicorn.Config(
        get_asgi_application(), "127.0.0.1", int(port), lifespan="off", log_level="warning"
    )
    server = uvicorn.Server(config)
    started = server.startup

    async def startup(sockets: Any = None) -> None:
        await started(sockets)
        sys.stdout.write(json.dumps({"ready": port}) + "\n")
        sys.stdout.flush()

    server.startup = startup  # type: ignore[method-assign]
    server.run()


if __name__ == "__main__":
    main()
