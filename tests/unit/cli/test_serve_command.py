from __future__ import annotations

import importlib
from typing import Any

import pytest
from click.testing import CliRunner

from dovetail.cli import serve_command
from dovetail.cli.app import app


def test_every_ready_server_has_what_the_command_needs() -> None:
    for place in serve_command.READY.values():
        module = importlib.import_module(place)
        assert module.SUMMARY and module.OPTIONS and callable(module.build)


def test_help_names_the_ready_servers_and_their_options() -> None:
    assert "vault" in CliRunner().invoke(app, ["serve", "--help"]).output
    assert "--read-only" in CliRunner().invoke(app, ["serve", "vault", "--help"]).output
    assert "/vault/mcp" in CliRunner().invoke(app, ["serve", "all", "--help"]).output
    assert CliRunner().invoke(app, ["serve", "nothing"]).exit_code == 2


def test_a_missing_library_is_told_with_the_extra_that_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> Any:
        raise ModuleNotFoundError("No module named 're2'", name="re2")

    monkeypatch.setattr(importlib, "import_module", fail)
    said = CliRunner().invoke(app, ["serve", "vault", "."])
    assert said.exit_code == 2 and "pip install 'dovetail[vault]'" in said.output
