"""`dovetail generate client`."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.failures import Failure
from dovetail.cli.generate_command import write_client_module
from dovetail.cli.printing import check_schemas
from dovetail.client import Client
from dovetail.errors import PeerError, ToolError
from dovetail.spec.models import Tool
from tests.patience import CAP

FILE = Path(__file__).parents[2] / "peers" / "awkward_server.py"


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), obj=[])


def generate(file: Path, *words: str) -> Result:
    return dovetail("generate", "client", str(FILE), "-o", str(file), *words)


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module for the server, imported."""
    file = tmp_path_factory.mktemp("made") / "awkward_client.py"
    result = generate(file)
    assert result.exit_code == 0, result.output
    yield load(file)
    del sys.modules[file.stem]


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_tools_are_called_with_dataclasses(made: Any, mode: str) -> None:
    async def use() -> None:
        async with Client(FILE, mode=mode, timeout=CAP) as client:
            point = made.Point(x=1, y=2.5)
            circle = made.Circle(kind="circle", middle=point, radius=1.0)
            dashed = made.Line(kind="line", points=[point], dash=None)
            shape = made.Group(kind="group", shapes=[circle, dashed])
            drawn = await made.draw_shape(client, made.DrawShapeArguments(shape=shape))
            assert drawn == made.DrawShapeResult(kind="group", shapes=[shape])

            arguments = made.ClassArguments(
                class_="b'\"", from_=3, list_=["a"], x_y=1, x_y_2=False, field_2="two"
            )
            result = await made.class_(client, arguments)
            # Members without a value were not sent.
            assert result.count == 6
            given = result.given
            assert (given.class_, given.from_, given.list_) == ("b'\"", 3, ["a"])
            assert (given.x_y, given.x_y_2, given.field_2) == (1, False, "two")
            empty = await made.class_(client, made.ClassArguments(class_="a", field_2=None))
            assert (empty.count, empty.given.field_2) == (2, None)

            assert "größe" in await made.list_(client)
            assert await made.list__2(client) == {"result": 1}
            assert await made.tool_2_half(client, made.Type2HalfArguments(of=3)) == 1.5
            with pytest.raises(ToolError, match="never"):
                await made.fail(client, made.FailArguments(why="never"))

    asyncio.run(use())


def test_a_tool_that_has_changed_is_reported(made: Any) -> None:
    """The result does not match the generated type any more."""

    class Changed:
        def __init__(self, structured: Any) -> None:
            self.structured, self.has_structured = structured, structured is not None

        async def call(self, *_: Any) -> Changed:
            return self

        def raise_for_error(self) -> Changed:
            return self

    circle = {"kind": "circle", "middle": {"x": 1}, "radius": "1"}
    for structured, told in (
        ({"kind": "group", "shapes": [circle]}, r"result.shapes\[0\].middle: y is missing"),
        ({"kind": "group"}, "result: shapes is missing"),
        ({"kind": 3, "shapes": []}, r"result.kind: expected Literal\['group'\], got 3"),
        ([], "result: expected DrawShapeResult, got "),
        (None, "has no structured content"),
    ):
        with pytest.raises(PeerError, match=told):
            asyncio.run(made.draw_shape(Changed(structured), None))


def test_the_module_is_stable_in_both_eras_and_can_be_checked(tmp_path: Path) -> None:
    file = tmp_path / "awkward_client.py"
    assert generate(file, "--mode", "legacy").exit_code == 0
    source = file.read_text("utf-8")
    assert generate(file, "--check").exit_code == 0
    assert dovetail("generate", "client", str(FILE)).stdout == source

    file.write_text(source.replace("radius: float", "radius: int"), "utf-8")
    changed = generate(file, "--check")
    assert changed.exit_code == 1
    assert "-    radius: int\n+    radius: float" in changed.stdout
    assert "is not up to date; run the command without --check" in changed.stderr
    assert generate(tmp_path / "missing.py", "--check").exit_code == 1
    assert not (tmp_path / "missing.py").exists()


def test_wrong_usage_is_explained(tmp_path: Path) -> None:
    for words, told in (
        ([str(FILE), "--check"], "--check needs -o FILE"),
        ([str(FILE), "-o", str(tmp_path / "a" / "b.py")], "Cannot write"),
        ([], "Missing target"),
    ):
        result = dovetail("generate", "client", *words)
        assert result.exit_code == 2
        assert told in result.stderr


def test_text_of_a_server_cannot_become_code() -> None:
    attack = 'a"""\nimport os\nos._exit(1)\n"""\\\r\x0c\u2028os._exit(1)\nb\\'
    schema = {
        "type": "object",
        "description": attack,
        "properties": {attack: {"description": attack, "enum": [attack], "default": attack}},
    }
    tools = [
        Tool(name=name, title=attack, description=attack, input_schema=schema, output_schema=schema)
        for name in (attack, "a b", "a-b", "import", "Client", "")
    ]
    source = write_client_module(attack, tools)
    names: dict[str, Any] = {"__name__": "attacked"}
    module = sys.modules["attacked"] = ModuleType("attacked")
    try:
        exec(compile(source, "attacked.py", "exec"), vars(module) | names)
    finally:
        del sys.modules["attacked"]
    assert {"async def a_b(", "async def a_b_2(", "async def import_(", "async def Client_("} <= {
        line.partition("(")[0] + "(" for line in source.splitlines()
    }
    assert all(line.isprintable() for line in source.split("\n"))


def test_an_invalid_schema_is_the_fault_of_the_server() -> None:
    schemas: list[dict[str, Any]] = [{"properties": []}, {"properties": {"a": {"anyOf": {}}}}]
    for schema in schemas:
        with pytest.raises(Failure, match="The output schema of the tool 'a' is not valid"):
            check_schemas(Tool(name="a", input_schema={"type": "object"}, output_schema=schema))
    # Nothing is fetched.
    elsewhere = {
        "$schema": "https://example.org/dialect",
        "type": "object",
        "properties": {"a": {"$ref": "https://example.org/a"}},
    }
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    tool = Tool(name="a", input_schema=elsewhere, output_schema=old)
    check_schemas(tool)
    assert "a: Any = UNSET" in write_client_module("other", [tool])


def test_recursive_schemas_end() -> None:
    schema = {
        "type": "object",
        "properties": {"json": {"$ref": "#/$defs/json"}, "self": {"$ref": "#"}},
        "$defs": {
            "json": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/json"}}, {"const": 1}]},
            "loop": {"$ref": "#/$defs/loop"},
        },
    }
    source = write_client_module("loops", [Tool(name="a", input_schema=schema)])
    assert "json: list[Any] | Literal[1] | None = None" in source
