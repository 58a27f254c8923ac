from __future__ import annotations

from typing import Any

import click
from click.testing import CliRunner

from dovetail.cli.options import REACH_OPTIONS, with_options


def made_of(options: Any) -> tuple[click.Command, dict[str, Any]]:
    seen: dict[str, Any] = {}

    @click.command()
    @with_options(options)
    def command(**given: Any) -> None:
        seen.update(given)

    return command, seen


def test_env_needs_a_name_and_an_equals_sign() -> None:
    command, seen = made_of(REACH_OPTIONS)
    assert CliRunner().invoke(command, ["--env", "A=b=c", "--env", "D="]).exit_code == 0
    assert seen["env"] == {"A": "b=c", "D": ""}
    refused = CliRunner().invoke(command, ["--env", "=x"])
    assert refused.exit_code == 2 and "expected NAME=VALUE" in refused.output
