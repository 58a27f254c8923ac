"""`dovetail openapi`: a valid document for any target."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from openapi_spec_validator import OpenAPIV31SpecValidator

from dovetail.cli.app import app

SERVER = '''
from dovetail import Server

server = Server("shop", version="3", description="Sells tea.")


@server.tool
def price(item: str, count: int = 1) -> float:
    """The price of some items."""
    return 4.5 * count


if __name__ == "__main__":
    import asyncio
    from dovetail.transports import serve_stdio

    asyncio.run(serve_stdio(server))
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(SERVER, "utf-8")
    return path


def describe(*words: str, command: list[str] | None = None) -> Any:
    result = CliRunner().invoke(app, ["openapi", *words], obj=command or [])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_document_of_a_file(file: Path) -> None:
    document = describe(str(file), "--server-url", "http://127.0.0.1:8000")
    OpenAPIV31SpecValidator(document).validate()
    assert document["info"] == {"title": "shop", "version": "3", "description": "Sells tea."}
    assert document["servers"] == [{"url": "http://127.0.0.1:8000"}]
    assert document["paths"]["/tools/price"]["post"]["description"] == "The price of some items."
    assert "result" in document["components"]["schemas"]["price.output"]["properties"]


@pytest.mark.parametrize("mode", ["modern", "2024-11-05"])
def test_the_document_of_a_command_is_the_same_in_both_eras(file: Path, mode: str) -> None:
    document = describe("--mode", mode, command=[sys.executable, str(file)])
    OpenAPIV31SpecValidator(document).validate()
    assert list(document["paths"]) == ["/tools/price"]


def test_a_target_that_does_not_exist_is_an_error() -> None:
    result = CliRunner().invoke(app, ["openapi", "missing.py"], obj=[])
    assert result.exit_code != 0
    assert "missing.py" in result.output
