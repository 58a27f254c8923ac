"""Errors: the code is on the class, the class is found by the code, the message teaches."""

from __future__ import annotations

from importlib import import_module

import pytest

from dovetail import errors
from dovetail.errors import (
    DovetailError,
    DuplicateError,
    HeaderMismatchError,
    InsufficientScopeError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    InvalidValueError,
    LimitError,
    MethodNotFoundError,
    MissingCapabilityError,
    MissingPackageError,
    ParseError,
    PeerError,
    Problem,
    RateLimitError,
    ResourceNotFoundError,
    RpcError,
    ToolError,
    TransportError,
    UnsupportedVersionError,
    UsageError,
)

# JSON-RPC 2.0 section 5.1, and basic/index#error-codes of 2026-07-28.
CODES: list[tuple[int, type[RpcError]]] = [
    (-32700, ParseError),
    (-32600, InvalidRequestError),
    (-32601, MethodNotFoundError),
    (-32602, InvalidParamsError),
    (-32603, InternalError),
    (-32002, ResourceNotFoundError),
    (-32020, HeaderMismatchError),
    (-32021, MissingCapabilityError),
    (-32022, UnsupportedVersionError),
    # Our own, outside of what JSON-RPC and MCP keep for themselves.
    (403, InsufficientScopeError),
    (429, RateLimitError),
]


@pytest.mark.parametrize(("code", "known"), CODES)
def test_an_error_from_a_peer_becomes_the_class_of_its_code(
    code: int, known: type[RpcError]
) -> None:
    error = RpcError.from_wire(code, "said so", {"a": 1})
    assert type(error) is known
    assert (error.code, error.message, error.data) == (code, "said so", {"a": 1})
    assert str(error) == "said so"


def test_every_class_with_a_code_is_in_the_table_above() -> None:
    assert {kind.code: kind for kind in RpcError.__subclasses__()} == dict(CODES)


def test_an_error_with_a_code_nobody_knows_keeps_it() -> None:
    error = RpcError.from_wire(-31999, "odd")
    assert type(error) is RpcError
    assert (error.code, error.message, error.data) == (-31999, "odd", None)


def test_an_application_may_use_a_code_of_its_own_without_changing_the_class() -> None:
    assert InvalidParamsError("no", code=4711).code == 4711
    assert InvalidParamsError("no").code == -32602


def test_a_new_class_registers_itself_and_the_first_of_a_code_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RpcError, "by_code", dict(RpcError.by_code))

    class QuotaError(RpcError):
        code = 4712

    class StricterError(InvalidParamsError):
        pass

    assert type(RpcError.from_wire(4712, "too much")) is QuotaError
    assert type(RpcError.from_wire(StricterError.code, "no")) is InvalidParamsError


@pytest.mark.parametrize(
    ("error", "message", "data"),
    [
        (
            ResourceNotFoundError("notes://x"),
            "Resource not found: notes://x",
            {"uri": "notes://x"},
        ),
        (ResourceNotFoundError("notes://x", "gone"), "gone", {"uri": "notes://x"}),
        (
            MissingCapabilityError({"elicitation": {"form": {}}, "roots": {}}),
            "This request needs a client capability that was not declared: elicitation, roots",
            {"requiredCapabilities": {"elicitation": {"form": {}}, "roots": {}}},
        ),
        (
            MissingCapabilityError({}),
            "This request needs a client capability that was not declared: none",
            {"requiredCapabilities": {}},
        ),
        (
            MissingCapabilityError({"roots": {}}, "no"),
            "no",
            {"requiredCapabilities": {"roots": {}}},
        ),
        (
            UnsupportedVersionError("1900-01-01", ("b", "a")),
            "Unsupported protocol version '1900-01-01'; supported: b, a",
            {"supported": ["b", "a"], "requested": "1900-01-01"},
        ),
    ],
)
def test_an_error_of_the_protocol_says_what_was_wrong_and_carries_it(
    error: RpcError, message: str, data: object
) -> None:
    assert (error.message, str(error), error.data) == (message, message, data)


@pytest.mark.parametrize(
    ("kind", "parent"),
    [
        (UsageError, DovetailError),
        (DuplicateError, UsageError),
        (InvalidValueError, DovetailError),
        (RpcError, DovetailError),
        (ToolError, DovetailError),
        (LimitError, DovetailError),
        (PeerError, DovetailError),
        (TransportError, DovetailError),
        (DovetailError, Exception),
    ],
)
def test_the_tree_is_the_one_that_is_drawn(kind: type, parent: type) -> None:
    assert kind.__bases__ == (parent,)


def test_the_drawing_names_every_public_exception() -> None:
    assert errors.__doc__ is not None
    public = [getattr(errors, name) for name in errors.__all__]
    exceptions = [kind for kind in public if issubclass(kind, Exception)]
    assert len(exceptions) == len(public) - 1  # Problem
    assert all(kind.__name__ in errors.__doc__ for kind in exceptions)


def test_a_problem_says_where_what_and_what_else() -> None:
    problem = Problem("a.b", "3", "a string")
    assert str(problem) == "a.b: expected a string, got 3"
    assert repr(problem) == "Problem('a.b', '3', 'a string')"


def test_a_problem_says_what_to_do_where_that_is_not_plain() -> None:
    problem = Problem("a.b", "3", "a string", "put it in quotes")
    assert str(problem) == "a.b: expected a string, got 3; put it in quotes"
    assert problem != Problem("a.b", "3", "a string")


def test_problems_are_equal_when_they_say_the_same() -> None:
    problem = Problem("a", "3", "a string")
    assert problem == Problem("a", "3", "a string")
    assert problem != Problem("b", "3", "a string")
    assert problem != "a: expected a string, got 3"
    assert len({problem, Problem("a", "3", "a string"), Problem("a", "4", "a string")}) == 2


def test_an_invalid_value_names_every_problem() -> None:
    problems = [Problem("a", "3", "a string"), Problem("b", "nothing", "a number")]
    error = InvalidValueError(problems)
    assert error.problems == tuple(problems)
    assert str(error) == "a: expected a string, got 3; b: expected a number, got nothing"


def test_a_missing_package_is_reported_with_the_command_that_installs_it() -> None:
    with (
        pytest.raises(
            MissingPackageError, match=r"^A thing needs ghost, .*: pip install 'a\[b\]'$"
        ),
        MissingPackageError.when_importing("ghost", "A thing", "a[b]"),
    ):
        import_module("ghost.part")


def test_another_failed_import_is_not_mistaken_for_a_missing_package() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="other"),
        MissingPackageError.when_importing("ghost", "A thing", "a[b]"),
    ):
        import_module("other_ghost")
