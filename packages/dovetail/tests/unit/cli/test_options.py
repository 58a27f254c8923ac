from __future__ import annotations

from typing import Any

import click
from click.testing import CliRunner

from dovetail.cli.guard_options import GuardOptions
from dovetail.cli.options import GUARD_OPTIONS, HTTP_OPTIONS, REACH_OPTIONS, with_options


def made_of(options: Any) -> tuple[click.Command, dict[str, Any]]:
    seen: dict[str, Any] = {}

    @click.command()
    @with_options(options)
    def command(**given: Any) -> None:
        seen.update(given)

    return command, seen


def test_options_keep_their_order_and_may_be_given_to_several_commands() -> None:
    first, _ = made_of(HTTP_OPTIONS)
    second, _ = made_of((*HTTP_OPTIONS, *GUARD_OPTIONS))
    names = [option.name for option in first.params]
    assert names == ["address", "allow_hosts", "allow_origins", "stateless", "access_log", "parser"]
    assert [option.name for option in second.params][: len(names)] == names


def test_guard_options_match_the_dataclass_fields() -> None:
    command, seen = made_of(GUARD_OPTIONS)
    assert CliRunner().invoke(command, ["--rate", "10/s"]).exit_code == 0
    assert GuardOptions(**seen) == GuardOptions(rate="10/s")


def test_env_needs_a_name_and_an_equals_sign() -> None:
    command, seen = made_of(REACH_OPTIONS)
    assert CliRunner().invoke(command, ["--env", "A=b=c", "--env", "D="]).exit_code == 0
    assert seen["env"] == {"A": "b=c", "D": ""}
    refused = CliRunner().invoke(command, ["--env", "=x"])
    assert refused.exit_code == 2 and "expected NAME=VALUE" in refused.output
