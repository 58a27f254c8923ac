from __future__ import annotations

from dovetail_check.mirrored_params import marks_in, param_values

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"properties": {"fast": {"type": "boolean", "x-mcp-header": "Fast"}}},
        "many": {"items": {"type": "string", "x-mcp-header": "Many"}},
        "x-mcp-header": {"type": "integer", "x-mcp-header": "Odd"},
        "plain": {"default": {"x-mcp-header": "Data"}},
    },
    "anyOf": [{"properties": {"a": {"x-mcp-header": "A"}}}],
}


def test_every_mark_is_found_with_the_way_to_it() -> None:
    found = {mark.value: mark.where for mark in marks_in(SCHEMA)}
    assert found == {
        "Region": "/properties/region",
        "Fast": "/properties/deep/properties/fast",
        "Many": "/properties/many/items",
        "Odd": "/properties/x-mcp-header",
        "A": "/anyOf/0/properties/a",
    }


def test_only_a_chain_of_properties_reaches_an_argument() -> None:
    reached = {mark.value for mark in marks_in(SCHEMA) if mark.names is not None}
    assert reached == {"Region", "Fast", "Odd"}


def test_values_are_written_as_headers_hold_them() -> None:
    arguments = {"region": "eu", "deep": {"fast": True}, "x-mcp-header": 7, "many": ["a"]}
    assert param_values(SCHEMA, arguments) == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Fast": "true",
        "Mcp-Param-Odd": "7",
    }
    assert param_values(SCHEMA, {"region": None}) == {}
    assert param_values(None, None) == {}
