"""`dovetail run FILE --reload` on stdio: a change of a file ends the server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.client import Client
from dovetail.errors import DovetailError
from tests.patience import CAP

SERVER = """
import asyncio
from pathlib import Path

from dovetail import Options, Server

server = Server("counter", options=Options(grace={grace}))


@server.tool
async def version() -> str:
    return "{version}"


@server.tool
async def slow() -> str:
    Path(__file__).with_name("started").touch()
    while not Path(__file__).with_name("go").exists():
        await asyncio.sleep(0.01)
    return "{version}"
"""


def write(file: Path, version: str, grace: float = 3600.0) -> None:
    file.write_text(SERVER.format(version=version, grace=grace), "utf-8")


def command(file: Path) -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", str(file), "--reload"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "counter.py"
    write(path, "one")
    return path


def test_calls_in_flight_are_answered_before_the_server_ends(file: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), Client(command(file), timeout=CAP) as client:
            slow = asyncio.create_task(client.call("slow"))
            while not file.with_name("started").exists():
                await asyncio.sleep(0.01)
            write(file, "second")
            file.with_name("go").touch()
            assert (await slow).text == "one"
            with pytest.raises(DovetailError):
                while True:
                    assert (await client.call("version")).text == "one"
        # The client starts it again.
        async with asyncio.timeout(CAP), Client(command(file), timeout=CAP) as client:
            assert (await client.call("version")).text == "second"

    asyncio.run(run())


def test_the_exit_code_is_0_and_the_log_names_the_file(file: Path) -> None:
    with subprocess.Popen(
        command(file), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdin and process.stdout and process.stderr
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            # An answer shows that it serves.
            assert b'"id":1' in process.stdout.readline()
            write(file, "second")
            assert process.wait(CAP) == 0
            assert f"{file} changed; ending".encode() in process.stderr.read()
        finally:
            process.kill()


def test_without_a_change_it_serves_until_stdin_is_closed(file: Path) -> None:
    done = subprocess.run(command(file), input=b"", capture_output=True, timeout=CAP, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_missing_file_sets_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path / "none.py"), capture_output=True, text=True, timeout=CAP, check=False
    )
    assert done.returncode == 2
    assert "There is no file" in done.stderr
