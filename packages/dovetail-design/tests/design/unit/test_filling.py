from __future__ import annotations

from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design.filling import MOST_ROWS, fill_elements, find_fields, read_rows

ELEMENTS: list[dict[str, Any]] = [
    {"id": "t", "type": "text", "text": "Hi {{ name }}, {{name}} at {{place}}", "isDynamic": True},
    {"id": "i", "type": "image", "src": "{{photo}}"},
    {"id": "q", "type": "qr", "qrValue": "https://x/{{name}}"},
    {"id": "b", "type": "barcode", "barcodeValue": "{{code}}"},
    {
        "id": "c",
        "type": "table",
        "tableCellData": [{"row": 0, "col": 0, "text": "{{cell}}"}],
        "tableHeaderData": [{"col": 0, "text": "{{head}}"}],
    },
]
ROW = {"name": "Ada", "place": "Ely", "photo": "p", "code": 123.0, "cell": 1.5, "head": "H"}


def test_fields_are_found_wherever_they_may_be() -> None:
    assert find_fields(ELEMENTS) == {
        "name": ["t", "q"],
        "place": ["t"],
        "photo": ["i"],
        "code": ["b"],
        "cell": ["c"],
        "head": ["c"],
    }


def test_a_row_fills_every_field() -> None:
    text, image, qr, barcode, table = fill_elements(ELEMENTS, ROW, {})
    assert text == {"id": "t", "type": "text", "text": "Hi Ada, Ada at Ely"}
    assert (image["src"], qr["qrValue"], barcode["barcodeValue"]) == ("p", "https://x/Ada", "123")
    assert table["tableCellData"][0]["text"] == "1.5"
    assert table["tableHeaderData"][0]["text"] == "H"


def test_missing_and_surplus_names_are_told_together() -> None:
    row = {**ROW, "colour": "red"}
    del row["place"]
    with pytest.raises(
        ToolError, match=r"missing: place; not in the template: colour.*name, place"
    ):
        fill_elements(ELEMENTS, row, {})
    filled = fill_elements(ELEMENTS, {"name": "Bo"}, ROW)
    assert filled[0]["text"] == "Hi Bo, Bo at Ely"


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("json", [{"item": "Tea", "price": 3}, {"item": "Milk", "price": 1.5}]),
        ("json", [["Tea", 3], ["Milk", 1.5]]),
        ("csv", "item,price\nTea,3\nMilk,1.5\n"),
    ],
)
def test_rows_of_a_table_come_with_the_data(source: str, value: Any) -> None:
    place = "tableCsvUrl" if source == "csv" else "tableJsonData"
    table = {"type": "table", "tableIsDynamic": True, "tableDataSource": source, place: "{{rows}}"}
    [filled] = fill_elements([table], {"rows": value}, {})
    assert (filled["tableRows"], filled["tableColumns"]) == (2, 2)
    assert [cell["text"] for cell in filled["tableCellData"]] == ["Tea", "3", "Milk", "1.5"]
    assert "tableIsDynamic" not in filled and place not in filled


@pytest.mark.parametrize("value", ["{", "3", "[]", '["a"]', [[]]])
def test_rows_that_are_none_are_refused(value: Any) -> None:
    table = {
        "type": "table",
        "tableIsDynamic": True,
        "tableDataSource": "json",
        "tableJsonData": "{{rows}}",
    }
    with pytest.raises(ToolError):
        fill_elements([table], {"rows": value}, {})


def test_rows_come_as_objects_json_or_csv() -> None:
    assert read_rows({"a": 1}) == [{"a": 1}]
    assert read_rows('[{"a": 1}]') == [{"a": 1}]
    assert read_rows('\ufeffa, b\n"x, y",2\n') == [{"a": "x, y", "b": "2"}]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "no rows"),
        ("", "no rows"),
        ([1], "list of objects"),
        ("{bad", "invalid"),
        ("a,a\n1,2", "duplicate"),
        ("a,b\n1", "Line 2"),
        ([{}] * (MOST_ROWS + 1), "limit is 500"),
    ],
)
def test_data_that_is_no_rows_is_refused(data: Any, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        read_rows(data)
