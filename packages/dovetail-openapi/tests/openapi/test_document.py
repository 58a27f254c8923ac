"""Documents: their forms, their references, and errors that name the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import UsageError
from dovetail_openapi.document import MAX_BYTES, Document, read_document

SMALL = {"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {}}


@pytest.mark.parametrize(
    "spec",
    [
        SMALL,
        '{"openapi": "3.1.0", "paths": {}}',
        "openapi: 3.1.0\npaths: {}\n",
    ],
)
def test_a_dict_and_texts_are_read(spec: Any) -> None:
    assert read_document(spec).root.text("openapi") == "3.1.0"


def test_a_file_is_read_from_a_path_or_its_text(tmp_path: Path) -> None:
    file = tmp_path / "api.yaml"
    file.write_text("openapi: 3.0.3\npaths: {}\n", "utf-8")
    assert read_document(file).is_30
    assert read_document(str(file)).is_30


def resolve(reference: str, **parts: Any) -> Any:
    document = read_document({**SMALL, **parts, "x": {"$ref": reference}})
    node = document.root.find("x")
    assert node is not None
    return node.resolve()


def test_a_pointer_may_be_escaped() -> None:
    found = resolve("#/paths/~1a~1%7Bid%7D/get", paths={"/a/{id}": {"get": {"summary": "s"}}})
    assert found.value == {"summary": "s"}
    assert resolve("#/list/1", list=[{}, {"a": 1}]).value == {"a": 1}


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("#/nothing", "#/x: the .ref '#/nothing' leads nowhere"),
        ("#anchor", "#/x: .* is not a JSON pointer"),
        ("#/x", "#/x: the .ref leads back to itself"),
        ("https://evil.example/a.json#/b", "#/x: the .ref leads to another document"),
        ("other.yaml", "#/x: the .ref leads to another document"),
        ("file:///etc/passwd", "#/x: the .ref leads to another document"),
    ],
)
def test_a_wrong_reference_is_named(reference: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        resolve(reference)


def test_other_documents_are_loaded_by_the_given_function_once() -> None:
    loaded: list[str] = []

    def load(url: str) -> dict[str, Any]:
        loaded.append(url)
        return {"b": {"$ref": "c.json"}} if url.endswith("b.json") else {"type": "string"}

    spec = {**SMALL, "x": {"$ref": "https://a.example/b.json#/b"}}
    document = read_document(spec, load)
    for _ in range(2):
        node = document.root.find("x")
        assert node is not None
        assert node.resolve().value["type"] == "string"
    assert loaded == ["https://a.example/b.json", "https://a.example/c.json"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"swagger": "2.0"}, "#/swagger: version 2.0 is not supported"),
        ({"openapi": "4.0"}, "#/openapi: expected 3.0 or 3.1, got '4.0'"),
        ({}, "#/openapi: expected 3.0 or 3.1, got None"),
        ("{", "not valid JSON"),
        ("{" + '"a":[' * 100_000, "not valid JSON"),
        ("- a\n- b\n", "is an object, got list"),
        ("missing.yaml", "cannot read the OpenAPI document"),
        ("https://a.example/openapi.json", "a URL is not fetched"),
        ("{" + " " * MAX_BYTES, "more than the 33,554,432 that are read"),
    ],
)
def test_what_is_no_document_is_refused(spec: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read_document(spec)


@pytest.mark.parametrize(
    ("value", "read", "problem"),
    [
        ({"a": []}, lambda node: list(node.members("a")), "#/a: expected an object, got .*array"),
        ({"a": {}}, lambda node: list(node.items("a")), "#/a: expected an array, got .*object"),
        ({"a/b": 3}, lambda node: node.text("a/b"), "#/a~1b: expected a string, got 3"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(value: Any, read: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read(Document(value, "").root)
