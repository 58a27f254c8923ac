"""Every public name has a docstring and a place in the reference."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from dovetail.cli.app import app
from tests.contracts.source_tree import ROOT
from tools.public_api import PUBLIC_MODULES, REVIEWED
from tools.site_cli import COMMAND, PAGE, describe_commands
from tools.site_reference import find_unanchored, find_undocumented, find_unplaced, read_places

PAGES = [page.read_text("utf-8") for page in sorted((ROOT / "docs" / "reference").glob("*.md"))]


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert list(find_undocumented(importlib.import_module(name))) == []


def test_every_public_name_has_a_place_in_the_reference() -> None:
    assert list(find_unplaced(REVIEWED.read_text("utf-8"), read_places(PAGES))) == []


def test_the_page_of_commands_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == describe_commands(app, "dovetail"), f"run: {COMMAND}"


def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> ModuleType:
    (tmp_path / "fake_shop.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fake_shop", raising=False)
    module = importlib.import_module("fake_shop")
    monkeypatch.setitem(sys.modules, "fake_shop", module)
    return module


def test_a_name_without_a_docstring_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = '''
from dataclasses import dataclass
from enum import Enum

__all__ = ["BARE", "GOOD", "Bare", "Colour", "Plain", "bare", "good"]

BARE = object()
GOOD = object()
"""A constant."""

def bare(): ...

def good():
    """Return nothing."""

@dataclass
class Bare:
    size: int

class Plain:
    """A class."""

    def method(self): ...
    @property
    def value(self): ...
    def _private(self): ...

class Colour(Enum):
    """A colour."""

    RED = 1
'''
    assert list(find_undocumented(make_module(tmp_path, monkeypatch, source))) == [
        "fake_shop has no docstring",
        "fake_shop.BARE has no docstring: write a string below its assignment",
        "fake_shop.Bare has no docstring",
        "fake_shop.Plain.method has no docstring",
        "fake_shop.Plain.value has no docstring",
        "fake_shop.bare has no docstring",
    ]


def test_a_constant_may_be_explained_in_the_docstring_of_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = '"""`ONE` is one."""\n\n__all__ = ["ONE"]\nONE = 1\n'
    assert list(find_undocumented(make_module(tmp_path, monkeypatch, source))) == []


def test_a_name_without_a_place_is_found() -> None:
    api = (
        "dovetail.Client  class\n"
        "dovetail.Client.call  async def\n"
        "dovetail.Options  class\n"
        "dovetail.client.Client  class\n"
        "dovetail.errors.ToolError  class\n"
    )
    page = (
        "# Title\n\n::: dovetail.client.Client\n\ntext ::: dovetail.Options\n"
        "::: dovetail.Gone\n\n## ToolError {#dovetail.errors.ToolError}\n\n"
        "::: dovetail.errors.ToolError\n"
    )
    assert list(find_unplaced(api, read_places([page]))) == [
        "dovetail.Gone is in the reference but not in public_api.txt",
        "dovetail.errors.ToolError is in the reference twice",
        "dovetail.Options has no place in the reference; add '::: dovetail.Options' to a page",
    ]


def test_a_name_without_an_anchor_is_found() -> None:
    api = (
        "dovetail.Client  class (x)\n"
        "dovetail.Client.call  def(y)\n"
        "dovetail.Tool  alias of dovetail.errors.Tool\n"
        "dovetail.client.Client  class (x)\n"
        "dovetail.client.Client.call  def(y)\n"
        "dovetail.client.Client.close  def(z)\n"
        "dovetail.errors.Tool  class\n"
    )
    anchors = {"dovetail.client.Client", "dovetail.client.Client.call", "dovetail.errors.Tool"}
    assert list(find_unanchored(api, anchors)) == [
        "dovetail.client.Client.close has no anchor in the reference"
    ]


def test_commands_below_groups_are_described_and_hidden_ones_are_not() -> None:
    @click.group()
    def shop() -> None:
        """Buy things."""

    @shop.group()
    def orders() -> None:
        """Look at orders."""

    @orders.command()
    @click.option("--all", is_flag=True, help="Show all orders.")
    def show(all: bool) -> None:
        """Show orders."""

    @shop.command(hidden=True)
    def debug() -> None:
        """Never shown."""

    text = describe_commands(shop, "shop")
    assert "#### `shop orders show`\n\n```console\n$ shop orders show --help\n" in text
    assert "Usage: shop orders show [OPTIONS]" in text and "Show all orders." in text
    assert "debug" not in text
