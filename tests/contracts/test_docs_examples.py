"""Every example in README.md and docs/ runs as it stands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.contracts.documents import (
    DocumentError,
    find_missing_lines,
    read_blocks,
    read_commands,
    run_page,
)
from tests.contracts.source_tree import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

PYTHON = "```python\n{}\n```\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run_page(page.read_text("utf-8"), str(page), tmp_path)


def test_blocks_share_a_namespace_in_order_and_may_await(tmp_path: Path) -> None:
    page = (
        PYTHON.format("import asyncio\nx = 1")
        + "text\n\n"
        + PYTHON.format("x += await asyncio.sleep(0, 41)")
        + "```text\nx = 0\n```\n"
        + PYTHON.format("assert x == 42 and __name__ != '__main__'")
    )
    assert run_page(page, "page.md", tmp_path) == 3


def test_an_example_that_fails_is_caught_at_its_line(tmp_path: Path) -> None:
    page = "# Title\n\n" + PYTHON.format("x = 1\nassert x == 2")
    with pytest.raises(AssertionError) as caught:
        run_page(page, "page.md", tmp_path)
    assert caught.traceback[-1].lineno == 4  # counted from zero
    assert "documented_example" not in sys.modules


def test_a_titled_block_becomes_a_file(tmp_path: Path) -> None:
    run_page(PYTHON.format("# weather.py\nx = 1"), "page.md", tmp_path)
    assert (tmp_path / "weather.py").read_text("utf-8") == "# weather.py\nx = 1\n"


def test_an_included_file_is_run_and_written(tmp_path: Path) -> None:
    page = PYTHON.format('--8<-- "examples/weather.py"') + PYTHON.format("assert server.name")
    assert run_page(page, "page.md", tmp_path) == 2
    written = (tmp_path / "weather.py").read_text("utf-8")
    assert written == (ROOT / "examples" / "weather.py").read_text("utf-8")
    with pytest.raises(DocumentError, match=r"there is no file examples/gone\.py"):
        read_blocks(PYTHON.format('--8<-- "examples/gone.py"'))


def test_a_skipped_block_does_not_run(tmp_path: Path) -> None:
    page = "<!-- skip: needs a browser -->\n\n" + PYTHON.format("1 / 0")
    assert run_page(page, "page.md", tmp_path) == 0


@pytest.mark.parametrize(
    ("page", "what"),
    [
        ("<!-- skip: -->\n" + PYTHON.format(""), "must say why"),
        ("<!-- skip -->\n" + PYTHON.format(""), "must say why"),
        ("<!-- skip: why -->\ntext\n" + PYTHON.format(""), "is not above a block"),
        ("<!-- run -->\n", "is not above a block"),
        ("<!-- run -->\n" + PYTHON.format(""), "is for console blocks"),
        ("<!-- run: often -->\n```console\n$ dovetail x\n```\n", "or <!-- run: exit N -->"),
        ("<!-- skip: why -->\n```console\n$ ls\n```\n", "only python blocks"),
        ("```python\nx = 1\n", "is never closed"),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused(page: str, what: str) -> None:
    with pytest.raises(DocumentError, match=what):
        read_blocks(page)


def test_a_console_block_is_commands_and_their_output() -> None:
    [block] = read_blocks("```console\n$ dovetail a\none\n\n$ dovetail b --c 'd e'\n```\n")
    commands = read_commands(block)
    assert [(command.text, command.expected) for command in commands] == [
        ("dovetail a", ("one", "")),
        ("dovetail b --c 'd e'", ()),
    ]


@pytest.mark.parametrize("body", ["", "$ rm -rf x", "stray\n$ dovetail a", "$ dovetail a\n$ ls"])
def test_only_dovetail_commands_can_be_run(body: str) -> None:
    [block] = read_blocks(f"```console\n{body}\n```\n")
    with pytest.raises(DocumentError):
        read_commands(block)


def test_a_command_is_held_to_its_output_and_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tmp_path / "bin"
    scripts.mkdir()
    script = scripts / "dovetail"
    script.write_text('#!/bin/sh\necho "ran $1 in $(ls)"\necho wrong >&2\nexit $2\n', "utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    folder = tmp_path / "page"
    folder.mkdir()
    page = PYTHON.format("# a.py") + "<!-- run{} -->\n```console\n$ dovetail go {}\n{}\n```\n"

    assert run_page(page.format("", 0, "ran go in a.py\n...\nwrong"), "p", folder) == 2
    assert run_page(page.format(": exit 3", 3, "ran ... a.py"), "p", folder) == 2
    with pytest.raises(DocumentError, match="exit 3, not 0"):
        run_page(page.format("", 3, ""), "p", folder)
    with pytest.raises(DocumentError, match="does not print:\nran stop"):
        run_page(page.format("", 0, "ran stop"), "p", folder)


def test_output_is_compared_line_by_line_with_ellipses() -> None:
    output = "Served 12 calls in 3.4 ms\n  done\n"
    assert find_missing_lines(("Served ... calls in … ms", "...", "", "done"), output) == []
    assert find_missing_lines(("Served 12 calls", "done."), output) == ["Served 12 calls", "done."]
