"""`--log-format`: lines on stderr as text or as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dovetail.cli.app import app
from dovetail.cli.log_format import log_requests, write_line
from dovetail.cli.settings import LOG_FORMAT_OPTION


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Handlers of other tests, and text afterwards."""
    loggers = [logging.getLogger(), logging.getLogger("uvicorn.access")]
    before = [(logger, logger.handlers[:], logger.propagate) for logger in loggers]
    yield
    for logger, handlers, propagate in before:
        logger.handlers[:] = handlers
        logger.propagate = propagate
    say("text")


@click.command()
@LOG_FORMAT_OPTION
def command() -> None:
    write_line("serving")
    logging.getLogger("app").warning("token=%s", "x")
    log_requests()
    logging.getLogger("uvicorn.access").info(
        '%s - "%s %s HTTP/%s" %d', "127.0.0.1:1", "GET", "/?key=1", "1.1", 200
    )


def say(format: str) -> list[str]:
    """The lines on stderr."""
    return CliRunner().invoke(command, ["--log-format", format]).stderr.splitlines()


def test_text_is_written_as_it_is() -> None:
    first, *_, last = say("text")
    assert first == "serving"
    assert last.endswith('127.0.0.1:1 - "GET / HTTP/1.1" 200')


def test_every_line_is_an_object() -> None:
    lines = [json.loads(line) for line in say("json")]
    assert [(line["level"], line["logger"], line["message"]) for line in lines] == [
        ("INFO", "dovetail", "serving"),
        ("WARNING", "app", "token=x"),
        ("INFO", "uvicorn.access", '127.0.0.1:1 - "GET / HTTP/1.1" 200'),
    ]


def test_a_file_that_cannot_be_loaded_is_reported_in_the_chosen_format(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("1 / 0", "utf-8")
    outcome = CliRunner().invoke(app, ["run", str(file), "--log-format", "json"], obj=[])
    assert outcome.exit_code == 4
    line = json.loads(outcome.stderr)
    assert line["level"] == "ERROR" and "ZeroDivisionError" in line["message"]


def test_a_line_about_the_process_cannot_rewrite_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_line("Traceback:\n  \x1b[2Jfile")
    assert capsys.readouterr().err == "Traceback:\n  \\x1b[2Jfile\n"
