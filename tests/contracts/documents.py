"""Runs the code blocks of Markdown pages.

The ```python blocks of a page share one namespace and run in order. A block whose first line is a
file name in a comment (`# weather.py`) is also written to a file. A block that is one line
`--8<-- "examples/weather.py"` stands for this file of the repository, as on the site. An HTML
comment above a block controls it:

    <!-- skip: needs a browser -->    the block is not run, for this reason
    <!-- run -->                      the `$ dovetail ...` lines of a ```console block are run
    <!-- run: exit 1 -->              the same, for a command that fails as expected
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tests.contracts.source_tree import ROOT
from tests.patience import CAP

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
_COMMENT = re.compile(r"^\s*<!--\s*(skip|run)\b\s*:?\s*(.*?)\s*-->\s*$")
_INCLUDE = re.compile(r'--8<-- "([\w./-]+)"\n')
_FILE_NAME = re.compile(r"#\s*([\w-]+(?:/[\w-]+)*\.\w+)\s*")
_EXIT = re.compile(r"exit (\d+)")
_PROMPT = "$ "
_MODULE = "documented_example"


class DocumentError(AssertionError):
    """A page has a wrong comment, code that fails or a wrong output."""


@dataclass(frozen=True)
class Block:
    """One fenced block, with the comment above it."""

    language: str
    text: str
    line: int
    mark: str = ""
    argument: str = ""
    file: str = ""


@dataclass(frozen=True)
class Command:
    """One command of a console block and its expected output."""

    text: str
    expected: tuple[str, ...]


def read_blocks(text: str) -> list[Block]:
    """The fenced blocks of a page; a comment without a block is an error."""
    blocks: list[Block] = []
    mark: tuple[int, str, str] | None = None
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        fence = _FENCE.match(line)
        if fence is not None:
            body, file = _include(_read_body(lines, fence))
            language = (fence["info"].split() or [""])[0]
            _, name, argument = mark or (0, "", "")
            blocks.append(Block(language, body, number + 1, name, argument, file))
            _check_mark(blocks[-1])
            mark = None
        elif comment := _COMMENT.match(line):
            mark = (number, comment[1], comment[2])
        elif line.strip() and mark is not None:
            break
    if mark is not None:
        raise DocumentError(f"line {mark[0]}: <!-- {mark[1]} --> is not above a block")
    return blocks


def read_commands(block: Block) -> list[Command]:
    """The commands of a console block, each with the output that follows it."""
    commands: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith(_PROMPT):
            commands.append(Command(line.removeprefix(_PROMPT), ()))
        elif commands:
            last = commands.pop()
            commands.append(Command(last.text, (*last.expected, line)))
        elif line.strip():
            raise DocumentError(f"line {block.line}: output before the first command")
    if not commands or any(not command.text.startswith("dovetail ") for command in commands):
        raise DocumentError(f"line {block.line}: only '$ dovetail ...' can be run")
    return commands


def run_page(text: str, name: str, folder: Path) -> int:
    """Run a page inside `folder`; returns how many blocks ran."""
    ran = 0
    module = ModuleType(_MODULE)
    sys.modules[_MODULE] = module
    try:
        with asyncio.Runner() as runner:
            for block in read_blocks(text):
                if block.language == "python" and block.mark != "skip":
                    _write_file(block, folder)
                    _run_python(block, name, module, runner)
                elif block.language == "console" and block.mark == "run":
                    _run_console(block, folder)
                else:
                    continue
                ran += 1
    finally:
        del sys.modules[_MODULE]
    return ran


def find_missing_lines(expected: tuple[str, ...], output: str) -> list[str]:
    """Expected lines that the output lacks; `...` stands for anything, also inside a line."""
    printed = [line.strip() for line in output.splitlines()]
    missing = []
    for line in filter(None, map(str.strip, expected)):
        pattern = ".*".join(map(re.escape, line.replace("…", "...").split("...")))
        if not any(re.fullmatch(pattern, candidate) for candidate in printed) and line != "...":
            missing.append(line)
    return missing


def _read_body(lines: Iterator[tuple[int, str]], fence: re.Match[str]) -> str:
    body: list[str] = []
    for _, line in lines:
        if line.strip() == fence["ticks"]:
            return "\n".join(body) + "\n"
        body.append(line.removeprefix(fence["indent"]))
    raise DocumentError(f"a block {fence['ticks']}{fence['info']} is never closed")


def _include(body: str) -> tuple[str, str]:
    """The text of a block and, if it stands for a file of the repository, the file's name."""
    included = _INCLUDE.fullmatch(body)
    if included is None:
        return body, ""
    path = ROOT / included[1]
    if not path.is_file():
        raise DocumentError(f"there is no file {included[1]}")
    return path.read_text("utf-8"), path.name


def _check_mark(block: Block) -> None:
    where = f"line {block.line}"
    if block.mark == "skip" and block.language != "python":
        raise DocumentError(f"{where}: only python blocks can be skipped")
    if block.mark == "skip" and not block.argument:
        raise DocumentError(f"{where}: a skipped block must say why: <!-- skip: reason -->")
    if block.mark == "run" and block.language != "console":
        raise DocumentError(f"{where}: <!-- run --> is for console blocks")
    if block.mark == "run" and block.argument and not _EXIT.fullmatch(block.argument):
        raise DocumentError(f"{where}: expected <!-- run --> or <!-- run: exit N -->")


def _write_file(block: Block, folder: Path) -> None:
    title = _FILE_NAME.fullmatch(block.text.partition("\n")[0])
    name = block.file or (title[1] if title is not None else "")
    if name:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, "utf-8")


def _run_python(block: Block, name: str, module: ModuleType, runner: asyncio.Runner) -> None:
    # Blank lines in front make tracebacks point at the line of the page.
    source = "\n" * (block.line - 1) + block.text
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, name, "exec", flags=flags, dont_inherit=True)
    # With await at the top the code is a coroutine, otherwise it has run by now.
    result = eval(code, module.__dict__)
    if code.co_flags & inspect.CO_COROUTINE:
        runner.run(result)


def _run_console(block: Block, folder: Path) -> None:
    wanted = _EXIT.fullmatch(block.argument)
    status = int(wanted[1]) if wanted else 0
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    for command in read_commands(block):
        done = subprocess.run(
            [str(scripts / "dovetail"), *shlex.split(command.text)[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=CAP,
            check=False,
        )
        where = f"line {block.line}: $ {command.text}"
        if done.returncode != status:
            raise DocumentError(f"{where}\nexit {done.returncode}, not {status}:\n{done.stdout}")
        if missing := find_missing_lines(command.expected, done.stdout):
            lines = "\n".join(missing)
            raise DocumentError(f"{where}\ndoes not print:\n{lines}\nbut:\n{done.stdout}")
