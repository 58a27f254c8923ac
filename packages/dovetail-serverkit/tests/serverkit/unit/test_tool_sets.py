from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from dovetail_serverkit.tool_sets import TOOLS_OPTION


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [([], 0, "default"), (["--tools", "compact"], 0, "compact"), (["--tools", "x"], 2, "'x'")],
)
def test_the_option_has_two_values(words: list[str], code: int, said: str) -> None:
    command = click.Command(
        "serve", params=[TOOLS_OPTION], callback=lambda tools: click.echo(tools)
    )
    result = CliRunner().invoke(command, words)
    assert result.exit_code == code and said in result.output
