"""The watchdog, with real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dovetail_browser import launcher, watchdog
from tests.patience import CAP

SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
VARIABLE = "DOVETAIL_BROWSER_FOLDER"
# The launcher has the pipe of the driver as 3 and 4.
WITH_PIPE = ["sh", "-c", 'exec "$0" "$@" 3</dev/null 4>/dev/null']


def launching(folder: Path, command: list[str]) -> list[str]:
    """Return the command line of the launcher for a command."""
    script = str(launcher.__file__)
    return [*WITH_PIPE, sys.executable, "-I", "-S", script, str(folder), *command]


def programs_of(pid: int) -> list[watchdog.Running]:
    """Return the children of a launcher that run their program."""
    found = []
    for process in watchdog.list_processes():
        with contextlib.suppress(OSError):
            folder = Path(f"/proc/{process.pid}")
            parent = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if parent == pid and b"launcher" not in (folder / "cmdline").read_bytes():
                found.append(process)
    return found


class Guarded:
    """A watchdog, held as the server holds it, and processes for it to end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(watchdog.__file__), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.started: list[subprocess.Popen[bytes]] = []
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"

    def start(self, command: list[str], **options: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
        self.started.append(process)
        return process  # type: ignore[no-any-return]

    def launch(self, command: list[str]) -> subprocess.Popen[bytes]:
        process = self.start(launching(self.folder, command), start_new_session=True)
        # Until it runs the program, the launcher exits by itself if the watchdog ends.
        wait_until(lambda: process.poll() is not None or bool(programs_of(process.pid)))
        return process

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def let_go(self) -> int:
        """What happens when the server ends; the watchdog's own status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(CAP)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path / "folder")
    try:
        yield guarded
    finally:
        for process in (*guarded.started, guarded.process):
            process.kill()
            process.wait()
        for pipe in (guarded.process.stdin, guarded.process.stdout):
            if pipe is not None:
                pipe.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + CAP
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def started_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()


def test_the_folder_is_private_and_removed_with_the_server(guarded: Guarded) -> None:
    assert guarded.folder.stat().st_mode & 0o777 == 0o700
    (guarded.folder / "profile").mkdir()
    (guarded.folder / "profile" / "Cookies").write_text("x")
    assert guarded.let_go() == 0
    assert not guarded.folder.exists()


def test_launched_processes_are_killed(guarded: Guarded) -> None:
    browser = guarded.launch(SLEEP)
    assert browser.poll() is None
    [program] = programs_of(browser.pid)
    guarded.let_go()
    assert browser.wait(CAP) == -signal.SIGKILL
    wait_until(lambda: program not in watchdog.list_processes())


def test_processes_of_the_session_and_those_that_left_it_are_killed(guarded: Guarded) -> None:
    # One child in a group of its own, one in a session of its own with the folder's name.
    script = (
        "import os, subprocess, sys, time; sleep = sys.argv[1:]; "
        "a = subprocess.Popen(sleep, process_group=0); "
        "b = subprocess.Popen(sleep, start_new_session=True); "
        "print(a.pid, b.pid, flush=True); time.sleep(600)"
    )
    words = [sys.executable, "-I", "-S", "-c", script, *SLEEP]
    leader = guarded.start(
        launching(guarded.folder, words),
        start_new_session=True,
        stdout=subprocess.PIPE,
        env={**os.environ, VARIABLE: str(guarded.folder)},
    )
    assert leader.stdout is not None
    with leader.stdout as said:
        children = [int(word) for word in said.readline().split()]
    entries = {pid: started_of(pid) for pid in children}
    assert guarded.let_go() == 0
    alive = {(process.pid, process.started) for process in watchdog.list_processes()}
    assert not alive & set(entries.items())


def test_a_named_process_is_killed_but_not_one_that_reused_its_pid(guarded: Guarded) -> None:
    driver, stranger = guarded.start(SLEEP), guarded.start(SLEEP)
    guarded.say(f"{driver.pid}-{started_of(driver.pid)}")
    guarded.say(f"{stranger.pid}-1")
    guarded.let_go()
    assert driver.wait(CAP) == -signal.SIGKILL
    assert stranger.poll() is None


def test_nothing_is_launched_after_the_cleanup_has_begun(guarded: Guarded) -> None:
    (guarded.folder / "ended").touch()
    assert guarded.launch(SLEEP).wait(CAP) == 1


def test_a_launched_process_dies_with_its_parent(guarded: Guarded) -> None:
    """Without the watchdog: the second belt."""
    words = launching(guarded.folder, SLEEP)
    script = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(600)"
    parent = guarded.start([sys.executable, "-I", "-S", "-c", script, *words])
    entries = guarded.folder / "processes"
    wait_until(lambda: any(entries.iterdir()))
    pid, started = watchdog.parse(next(entries.iterdir()).name)
    # The entry is written just before it starts the program.
    wait_until(lambda: bool(programs_of(pid)))
    [program] = programs_of(pid)
    parent.kill()
    parent.wait()

    def is_gone() -> bool:
        running = {(process.pid, process.started) for process in watchdog.list_processes()}
        return not {(pid, started), (program.pid, program.started)} & running

    wait_until(is_gone)


def test_terminal_signals_are_ignored(guarded: Guarded) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        guarded.process.send_signal(number)
    browser = guarded.launch(SLEEP)
    guarded.let_go()
    assert browser.wait(CAP) == -signal.SIGKILL and not guarded.folder.exists()


def test_a_server_that_ends_before_the_folder_is_ready_leaves_none(tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-S", str(watchdog.__file__), str(tmp_path / "folder")]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=writing, timeout=CAP)
    os.close(writing)
    assert done.returncode == 0 and not (tmp_path / "folder").exists()


def test_an_incomplete_line_is_ignored(guarded: Guarded) -> None:
    stranger = guarded.start(SLEEP)
    assert guarded.process.stdin is not None
    guarded.process.stdin.write(f"{stranger.pid}-{started_of(stranger.pid)}".encode())
    assert guarded.let_go() == 0
    assert stranger.poll() is None


def test_an_existing_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("x")
    words = [sys.executable, "-I", "-S", str(watchdog.__file__), str(tmp_path)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=CAP)
    assert done.returncode != 0 and done.stdout == b""
    assert (tmp_path / "kept").exists()


def test_without_proc_groups_and_pids_are_killed(guarded: Guarded) -> None:
    leader = guarded.launch(SLEEP)
    single = guarded.start(SLEEP)
    assert watchdog.kill_by_number([f"{leader.pid}-0"], [f"{single.pid}-0"])
    assert leader.wait(CAP) == single.wait(CAP) == -signal.SIGKILL
    # The program is in the launcher's group, and ends a moment later.
    wait_until(lambda: not watchdog.kill_by_number([f"{leader.pid}-0"], []))


def test_launcher_and_watchdog_use_the_same_variable() -> None:
    from dovetail_browser import chromium_process  # noqa: PLC0415

    both = (chromium_process, watchdog)
    assert {vars(module)["_VARIABLE"] for module in both} == {VARIABLE}
