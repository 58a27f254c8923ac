"""Servers from OpenAPI documents and FastAPI applications: what `Server.from_openapi` needs."""

from dovetail_openapi.building import OpenApiOptions
from dovetail_openapi.document import LoadRef, Spec
from dovetail_openapi.rules import Rule
from dovetail_openapi.security import Credential, CredentialSource, SecurityScheme

__all__ = [
    "Credential",
    "CredentialSource",
    "LoadRef",
    "OpenApiOptions",
    "Rule",
    "SecurityScheme",
    "Spec",
]
