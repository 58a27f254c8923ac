from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from dovetail.cli.failures import COULD_NOT_START, WRONG_USAGE, Failure, or_fail
from dovetail.errors import UsageError


def test_a_failure_ends_the_command_with_its_message_and_exit_code() -> None:
    @click.command()
    def command() -> None:
        raise Failure("the port is taken", COULD_NOT_START)

    said = CliRunner().invoke(command)
    assert said.exit_code == COULD_NOT_START
    assert said.output == "dovetail: the port is taken\n"


def test_the_text_of_a_server_cannot_rewrite_the_terminal() -> None:
    @click.command()
    def command() -> None:
        raise Failure("gone\x1b[2J\x9b1m\nbut\there", COULD_NOT_START)

    said = CliRunner().invoke(command, color=True)
    assert said.output == "dovetail: gone\\x1b[2J\\x9b1m\nbut\there\n"


def test_wrong_usage_is_a_failure_and_a_value_passes() -> None:
    def complain() -> None:
        raise UsageError("no such thing")

    assert or_fail(lambda: 5) == 5
    with pytest.raises(Failure, match="no such thing") as caught:
        or_fail(complain)
    assert caught.value.exit_code == WRONG_USAGE
