"""The tutorial works from start to end: each command runs, and prints what its page says."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contracts.documents import Block, Command, read_blocks
from tests.contracts.source_tree import ROOT
from tests.http_corpus.proxies import find_program, program_environment
from tests.patience import CAP, wait_until

FOLDER = ROOT / "docs" / "tutorial"
INDEX = (FOLDER / "index.md").read_text("utf-8")
STEPS = re.findall(r"^\| \[\d+\. [^]]+\]\((.+)\.md\) \|", INDEX, re.M)
# The environment of the tests has what these install; the rest of the first step is run.
INSTALL = ("mkdir ", "python3 -m venv ", ". .venv/", "pip install ")
TITLE = re.compile(r'^```python title="(.+?)"[^\n]*\n(.*?)^```$', re.M | re.S)
KEY = "dtk_..."


def read_page(step: str) -> str:
    return (FOLDER / f"{step}.md").read_text("utf-8")


def read_console(block: Block) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, printed = part.partition("\n")
        yield Command(command, tuple(printed.rstrip("\n").splitlines()))


def make_pattern(expected: tuple[str, ...]) -> re.Pattern[str]:
    """The output of a page as a pattern: `...` is anything, alone in its line any lines."""
    parts = []
    for line in expected:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(map(re.escape, line.split("..."))) + r" *\n")
    return re.compile("".join(parts))


@dataclass
class Walk:
    """A reader in a folder, with a terminal for the server and one for commands."""

    folder: Path
    port: int
    key: str = ""
    server: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "PYTEST_ADDOPTS": "",
            "PYTHONUNBUFFERED": "1",
            "XDG_STATE_HOME": str(self.folder / "state"),
            "SHELF_KEY": self.key,
        }

    def here(self, text: str) -> str:
        """A text of the page with the port of this walk."""
        return re.sub(r"\b8000\b", str(self.port), text)

    def take(self, command: Command) -> None:
        if command.text.startswith(INSTALL):
            return
        if "--http" in command.text:
            self.serve(command)
            return
        if command.text.startswith("export "):
            assert command.text == f"export SHELF_KEY={KEY}"
            return
        done = subprocess.run(
            ["bash", "-c", self.here(command.text)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=CAP,
            check=False,
        )
        printed = (
            done.stdout if done.stdout.endswith("\n") or not done.stdout else f"{done.stdout}\n"
        )
        expected = tuple(self.here(line) for line in command.expected)
        assert make_pattern(expected).fullmatch(printed), f"$ {command.text}\n{printed}"
        if found := re.search(r"^dtk_\S+$", printed, re.M):
            self.key = found[0]

    def serve(self, command: Command) -> None:
        self.stop()
        log = self.folder / "server.log"
        with log.open("wb") as output:
            self.server = subprocess.Popen(
                shlex.split(self.here(command.text)),
                cwd=self.folder,
                env=self.environment,
                executable=str(Path(sys.executable).parent / "dovetail"),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        pattern = make_pattern(tuple(self.here(line) for line in command.expected))
        wait_until(lambda: pattern.match(log.read_text()) or self.has_ended())
        assert pattern.match(log.read_text()), log.read_text()

    def has_ended(self) -> bool:
        return self.server is not None and self.server.poll() is not None

    def stop(self) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait(CAP)
            self.server = None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def take_step(walk: Walk, step: str) -> int:
    """Write the files of a page, then run its commands; returns how many there are."""
    page = read_page(step)
    for name, text in TITLE.findall(page):
        (walk.folder / name).write_text(text, "utf-8")
    commands = [
        command
        for block in read_blocks(page)
        if block.language == "console"
        for command in read_console(block)
    ]
    for command in commands:
        walk.take(command)
    return len(commands)


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    walk = Walk(tmp_path, free_port())
    yield walk
    walk.stop()


def test_the_tutorial_runs_from_start_to_end(walk: Walk) -> None:
    assert len(STEPS) == 10
    assert {page.stem for page in FOLDER.glob("*.md")} == {"index", *STEPS}
    taken = {step: take_step(walk, step) for step in STEPS}
    assert [step for step, commands in taken.items() if not commands] == ["deploy"]


# -- the last step ------------------------------------------------------------------------------


def read_block(language: str) -> str:
    [text] = [
        block.text for block in read_blocks(read_page("deploy")) if block.language == language
    ]
    return text


def test_the_unit_is_valid(tmp_path: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(read_block("ini"))
    start = shlex.split(unit["Service"]["ExecStart"])
    assert start[:3] == ["/opt/shelf/bin/dovetail", "run", "/opt/shelf/shelf.py"]
    program = shutil.which("systemd-analyze")
    if program is None:
        return
    text = read_block("ini").replace(start[0], sys.executable)
    (tmp_path / "shelf.service").write_text(text, "utf-8")
    done = subprocess.run(
        [program, "verify", "--man=no", str(tmp_path / "shelf.service")],
        capture_output=True,
        text=True,
        timeout=CAP,
        check=False,
    )
    assert "shelf.service" not in done.stderr, done.stderr


def test_the_server_of_the_unit_answers_behind_nginx(walk: Walk) -> None:
    for step in ("tasks", "api-keys"):
        page = read_page(step)
        for name, text in TITLE.findall(page):
            (walk.folder / name).write_text(text, "utf-8")
    walk.take(Command("dovetail keys add anna", ("...",)))
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.read_string(read_block("ini"))
    words = unit["Service"]["ExecStart"]
    for there, local in (
        ("/opt/shelf/bin/", ""),
        ("/opt/shelf/shelf.py", "shelf.py"),
        ("${CREDENTIALS_DIRECTORY}/", ""),
    ):
        assert there in words
        words = words.replace(there, local)
    walk.serve(Command(words, ("shelf: serving ...",)))
    with nginx(walk) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        walk.take(Command(f"dovetail call {url} find --token-env SHELF_KEY", ("[]",)))


@contextmanager
def nginx(walk: Walk) -> Iterator[int]:
    """nginx with the configuration of the page, without TLS and on a free port."""
    port = free_port()
    config = walk.here(read_block("nginx"))
    config = config.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    config = re.sub(r"^ *ssl_certificate.*\n", "", config, flags=re.M)
    # The client of this test connects by address, not by the name that the unit allows.
    config = config.replace("$http_host", "shelf.example")
    assert "ssl" not in config
    paths = " ".join(
        f"{kind}_temp_path {walk.folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    own = f"daemon off; master_process off; pid {walk.folder}/pid; error_log {walk.folder}/errors;"
    file = walk.folder / "nginx.conf"
    file.write_text(f"{own} events {{}} http {{ {paths} access_log off;\n{config} }}", "utf-8")
    with (walk.folder / "nginx.log").open("wb") as printed:
        process = subprocess.Popen(
            [find_program("nginx"), "-c", str(file)],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            env=program_environment(),
        )
    try:
        wait_until(lambda: is_listening(port) or process.poll() is not None)
        assert process.poll() is None, (walk.folder / "nginx.log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait(CAP)


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


# -- the test itself ----------------------------------------------------------------------------


def test_output_is_compared_line_by_line() -> None:
    pattern = make_pattern(("a ... c", "...", "end"))
    assert pattern.fullmatch("a b c\nx\ny\nend\n")
    assert pattern.fullmatch("a  c\nend  \n")
    assert not pattern.fullmatch("a b c\nx\n")
    assert not make_pattern(("one", "two")).fullmatch("two\none\n")
    assert not make_pattern(()).fullmatch("surprise\n")


def test_a_command_that_prints_something_else_is_caught(walk: Walk) -> None:
    walk.take(Command("echo 8000", ("8000",)))
    with pytest.raises(AssertionError, match="echo two"):
        walk.take(Command("echo two", ("one",)))
