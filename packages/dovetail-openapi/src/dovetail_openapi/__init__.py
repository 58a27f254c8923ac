"""Servers from OpenAPI documents, and documents and a REST interface from servers."""

from dovetail_openapi.building import OpenApiOptions
from dovetail_openapi.document import LoadRef, Spec
from dovetail_openapi.operations import Rule
from dovetail_openapi.rest import add_rest, rest_app
from dovetail_openapi.security import Credential, CredentialSource, SecurityScheme

__all__ = [
    "Credential",
    "CredentialSource",
    "LoadRef",
    "OpenApiOptions",
    "Rule",
    "SecurityScheme",
    "Spec",
    "add_rest",
    "rest_app",
]
