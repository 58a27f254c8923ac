"""Checks the servers of `servers.py`, one after the other, and writes docs/audits.

usage: python -m qa.audits.run [NAME...]                                        (make audit)

A fail that no line of confirmations.toml explains makes the exit code 1, and so does a line that
explains a fail which is no longer seen: the pages are to be true. With names only those servers
are checked, and the table of all is left as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail_check.report import Report, read_report
from qa.audits.confirming import Confirmations, read_confirmations
from qa.audits.pages import Outcome, write_index, write_page
from qa.audits.servers import CACHE, PLAY, ROOT, SERVERS, Audited

_START_SECONDS = 60
_CHECK_SECONDS = 300
# What a process needs to run at all. Tools that show the environment are called as well, and
# what is in yours is nobody's business.
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")


def main(names: list[str]) -> int:
    """Check, write, complain."""
    unknown = sorted(set(names) - {server.name for server in SERVERS})
    if unknown:
        known = ", ".join(server.name for server in SERVERS)
        print(f"no server {', '.join(unknown)}; there are: {known}", file=sys.stderr)
        return 2
    os.chdir(ROOT)
    _prepare()
    confirmations = read_confirmations()
    outcomes = []
    for server in SERVERS:
        if names and server.name not in names:
            continue
        outcome = Outcome(server, _version_of(server), _check_all(server))
        outcomes.append(outcome)
        write_page(outcome, confirmations)
        for report in outcome.reports:
            print(f"{server.name} over {report.transports[0]}: {_count(report)}", flush=True)
    if not names:
        write_index(outcomes)
    return _complain(outcomes, confirmations)


def _count(report: Report) -> str:
    verdicts = [row.verdict.value for row in report.rows]
    counts = [f"{verdicts.count(name)} {name}" for name in ("fail", "warn", "info", "pass")]
    return f"{', '.join(counts)}; {report.seconds} s"


def _complain(outcomes: list[Outcome], confirmations: Confirmations) -> int:
    seen = {
        (outcome.server.name, row.id)
        for outcome in outcomes
        for report in outcome.reports
        for row in report.rows
        if row.verdict.value == "fail"
    }
    audited = {outcome.server.name for outcome in outcomes}
    known = {key for key in confirmations if key[0] in audited}
    for name, row in sorted(seen - known):
        print(f"{name}: {row} fails, and nobody has confirmed it", file=sys.stderr)
    for name, row in sorted(known - seen):
        print(f"{name}: {row} is confirmed, but does not fail any more", file=sys.stderr)
    return 1 if seen ^ known else 0


# -- before a check --------------------------------------------------------------------------------


def _prepare() -> None:
    """A fresh folder to play in: one file, in a repository with one commit."""
    shutil.rmtree(PLAY, ignore_errors=True)
    PLAY.mkdir(parents=True)
    (PLAY / "note.txt").write_text("a note\n")
    spec = ("-c", "user.name=Audit", "-c", "user.email=audit@example.org")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "A note")):
        subprocess.run(("git", *spec, *command), cwd=PLAY, check=True)


def _version_of(server: Audited) -> str:
    if not server.interpreter:
        package: dict[str, str] = json.loads((Path(server.package) / "package.json").read_text())
        return package["version"]
    code = f"import importlib.metadata as m; print(m.version({server.package!r}))"
    command = (server.interpreter, "-c", code)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _environment(server: Audited, port: int = 0) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    places = {"cache": str(ROOT / CACHE), "port": str(port)}
    own = {name: value.format(**places) for name, value in server.env.items()}
    return {**kept, "HOME": str(ROOT / PLAY), **own}


# -- one check -------------------------------------------------------------------------------------


def _check_all(server: Audited) -> list[Report]:
    reports = [_check(server, "stdio", "--", *server.stdio)]
    if server.http:
        with _serving(server) as url:
            reports.append(_check(server, "http", url))
    return reports


def _check(server: Audited, transport: str, *target: str) -> Report:
    folder = CACHE / "evidence" / f"{server.name}-{transport}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.json"
    command = [sys.executable, "-m", "dovetail", "check", "--fail-on", "never"]
    command += ["--evidence", str(folder), "--format", "json", "--output", str(path), *target]
    log = (folder / "check.log").open("w")
    with log:
        subprocess.run(
            command,
            env=_environment(server),
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=_CHECK_SECONDS,
            check=True,
        )
    return read_report(path.read_bytes(), str(path))


@contextmanager
def _serving(server: Audited) -> Iterator[str]:
    """The server over HTTP, for as long as it is looked at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [part.format(port=port) for part in server.http]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, env=_environment(server, port), stdout=quiet, stderr=quiet
    ) as process:
        try:
            _wait(process, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"{process.args!r} does not listen on port {port}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
