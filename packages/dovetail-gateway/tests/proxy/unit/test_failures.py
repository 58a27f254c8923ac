"""What callers are told about errors of the upstream."""

from __future__ import annotations

import pytest

from dovetail.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    MissingCapabilityError,
    PeerError,
    ResourceNotFoundError,
    RpcError,
    ToolError,
    TransportError,
    UsageError,
)
from dovetail_gateway.failures import UpstreamError, explain
from tests.unit.fakes import make_call


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TransportError("refused"), "The upstream server 'shop' is unavailable: refused"),
        (TimeoutError("60 s"), "The upstream server 'shop' did not answer: 60 s"),
        (PeerError("no id"), "The upstream server 'shop' violates the protocol: no id"),
        (
            HeaderMismatchError("Mcp-Name differs"),
            "The upstream server 'shop' refuses the requests of this proxy: Mcp-Name differs",
        ),
    ],
)
def test_failures_of_the_connection_name_the_upstream(error: Exception, text: str) -> None:
    explained = explain("shop", error)
    assert isinstance(explained, UpstreamError)
    assert isinstance(explained, ToolError)
    assert str(explained) == text


def test_errors_of_the_upstream_pass_unchanged() -> None:
    error = RpcError("too hot", {"degrees": 99}, code=-31000)
    assert explain("shop", error) is error


def test_a_missing_resource_is_found_in_both_forms() -> None:
    legacy = RpcError.from_wire(-32002, "gone")
    assert explain("shop", legacy, uri="a://b") is legacy
    assert legacy.data == {"uri": "a://b"}
    modern = explain("shop", InvalidParamsError("gone", {"uri": "a://b"}), uri="a://b")
    assert isinstance(modern, ResourceNotFoundError)
    other = InvalidParamsError("bad", {"uri": "a://c"})
    assert explain("shop", other, uri="a://b") is other


@pytest.mark.parametrize("data", [{"requiredCapabilities": {"sampling": {}}}, None])
def test_a_missing_capability_becomes_the_error_of_the_callers_era(data: object) -> None:
    error = MissingCapabilityError({"sampling": {}})
    error.data = data
    explained = explain("shop", error, make_call())
    assert isinstance(explained, UsageError)
    assert str(explained).startswith("undeclared")
