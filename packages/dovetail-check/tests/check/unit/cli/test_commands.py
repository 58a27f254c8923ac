"""The commands of the checker: their output and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail_check import registry
from dovetail_check.cli import group
from dovetail_check.probing import probes
from tests.patience import CAP

PEERS = Path(__file__).parents[5] / "dovetail/tests/peers"
FILE = str(PEERS / "own_server.py")
ONE_RULE = ("--revision", "2025-11-25", "--only", "ping.empty-result")
# Violates one requirement, over stdio.
FAULTY = [
    sys.executable,
    str(PEERS / "crooked_server.py"),
]


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATTER", "calm")


def dovetail(*words: str, command: list[str] | None = None) -> Result:
    return CliRunner().invoke(app, list(words), obj=command or [])


def unwrap(text: str) -> str:
    return " ".join(text.split())


def check(*words: str, command: list[str] | None = None) -> Result:
    return dovetail("check", *ONE_RULE, *words, command=command)


def test_other_commands_do_not_import_the_checker() -> None:
    code = "import sys, dovetail.cli.app; print(*[n for n in sys.modules if 'dovetail_check' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_every_command_of_the_checker_is_listed_and_found() -> None:
    listed = dovetail("--help").stdout
    for name in group.commands:
        assert f"\n  {name} " in listed
        assert dovetail(name, "--help").exit_code == 0


# -- exit codes --------------------------------------------------------------------------------


def test_a_clean_server_exits_with_zero() -> None:
    result = check(FILE)
    assert result.exit_code == 0, result.output
    assert "✓ 0 failed, 0 warnings" in result.stdout
    assert "MUST" in result.stdout


def test_a_finding_exits_with_one_and_shows_the_messages() -> None:
    result = check(command=FAULTY)
    assert result.exit_code == 1
    assert "FAIL  ping.empty-result  MUST, basic/utilities/ping" in result.stdout
    assert "the result of ping has members" in result.stdout
    assert "→ #" in result.stdout
    assert check("--fail-on", "never", command=FAULTY).exit_code == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "no target: pass"),
        (("nothing.py",), "'nothing.py' is no URL and no FILE.py"),
        (("--revision", "1999-01-01", FILE), "unknown revision '1999-01-01'"),
        (("--calls", "all", FILE), "--calls must be none, readonly or allow=NAME"),
        (("--only", "nothing.*", "--skip", "*", FILE), "select no requirement"),
        (("-f", "json", "-f", "html", FILE), "json and html cannot share stdout"),
        (("-o", "report.pdf", FILE), "unknown file extension"),
        (("--baseline", "none.json", FILE), "none.json cannot be read"),
        (("--attest", "none.toml", FILE), "none.toml cannot be read"),
        (("--server", "x", FILE), "--server selects an entry of --config"),
        (("--config", "none.json"), "none.json cannot be read"),
        (("--header", "X-A: b", FILE), "--header and --token-env require a URL"),
        (("--replay", "none"), "none has no evidence"),
        (("--replay", "none", FILE), "takes no target"),
        (("--format", "pdf", FILE), "'pdf' is not one of"),
    ],
)
def test_wrong_usage_exits_with_two(words: tuple[str, ...], expected: str) -> None:
    result = dovetail("check", *words)
    assert result.exit_code == 2
    assert expected in result.stderr


class _Guarded(BaseHTTPRequestHandler):
    """Responds with 401 to every request."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Bearer scope="notes:read"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_DELETE = do_OPTIONS = do_HEAD = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def guarded_url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Guarded)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    thread.join(CAP)
    server.server_close()


def test_a_server_that_requires_credentials_exits_with_three(guarded_url: str) -> None:
    words = ("--timeout", "100", "--revision", "latest", guarded_url)
    result = dovetail("check", "--only", "ping.*", "--only", "auth.*", *words)
    assert result.exit_code == 3
    assert "it requires credentials; only unauthenticated access was tested" in unwrap(
        result.stdout
    )
    # Unauthenticated access is tested: the server has no metadata.
    assert "FAIL  auth.prm.exists" in result.stdout
    nothing_to_see = dovetail("check", "--only", "ping.empty-result", *words)
    assert nothing_to_see.exit_code == 3
    assert "--token-env" in nothing_to_see.output


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["no-such-server-here"], "'no-such-server-here' did not start"),
        ([sys.executable, "-c", "import sys; sys.exit('out of paper')"], "out of paper"),
    ],
)
def test_a_server_that_does_not_start_exits_with_four(command: list[str], expected: str) -> None:
    result = check(command=command)
    assert result.exit_code == 4
    assert expected in result.stderr
    assert result.stdout == ""


def test_an_unreachable_url_exits_with_four() -> None:
    # Nothing listens on port 1.
    result = check("http://127.0.0.1:1/mcp")
    assert result.exit_code == 4
    assert "cannot be reached" in result.stderr


def test_a_probe_that_raises_exits_with_five_and_keeps_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry.load()

    async def run(_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setitem(probes, "ping", probes["ping"]._replace(run=run))
    result = check(FILE)
    assert result.exit_code == 5
    assert "INTERNAL ERROR  probe ping, stdio 2025-11-25" in result.stdout
    assert "ZeroDivisionError: a fault" in result.stdout
    assert "MUST" in result.stdout


def test_an_internal_error_exits_with_five_and_prints_the_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compile_nothing(*_: object) -> None:
        raise ZeroDivisionError("no report")

    monkeypatch.setattr("dovetail_check.running.compile_report", compile_nothing)
    result = check(FILE)
    assert result.exit_code == 5
    assert "internal error of the checker" in result.stderr
    assert "ZeroDivisionError: no report" in result.stderr


# -- options -----------------------------------------------------------------------------------


def test_a_file_gets_the_preceding_format_or_that_of_its_extension(tmp_path: Path) -> None:
    odd, named = tmp_path / "odd.out", tmp_path / "deep" / "report.html"
    result = check("--format", "json", "-o", str(odd), "-o", str(named), FILE)
    assert result.exit_code == 0, result.output
    assert json.loads(odd.read_text("utf-8"))["transports"] == ["stdio"]
    assert named.read_text("utf-8").startswith("<!doctype html>")
    assert "0 failed" in result.stdout


def test_a_format_without_a_file_goes_to_stdout() -> None:
    report = json.loads(check("-f", "json", FILE).stdout)
    assert [row["id"] for row in report["rows"]] == [
        row["id"] for row in json.loads(check("-f", "json", FILE).stdout)["rows"]
    ]
    assert [row["id"] for row in report["rows"]] == ["ping.empty-result"]


def test_text_and_annotations_can_share_stdout() -> None:
    result = check("-f", "text", "-f", "github", command=FAULTY)
    assert "FAIL  ping.empty-result" in result.stdout
    assert "\n::error title=ping.empty-result (MUST)::" in result.stdout


def test_a_baseline_is_written_and_accepted(tmp_path: Path) -> None:
    known = str(tmp_path / "known.json")
    assert check("--write-baseline", known, command=FAULTY).exit_code == 0
    result = check("--baseline", known, command=FAULTY)
    assert result.exit_code == 0, result.output
    assert "1 accepted by the baseline" in result.stdout
    assert "no longer occurs" in check("--baseline", known, FILE).stdout


def test_an_entry_of_a_client_configuration_is_checked(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-m", "dovetail", "run", FILE]}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"notes": entry, "other": {}}}))
    assert check("--config", str(config), "--server", "notes").exit_code == 0
    assert "it has: notes, other" in check("--config", str(config), "--server", "none").stderr


def test_evidence_can_be_replayed_and_explained(tmp_path: Path) -> None:
    folder = str(tmp_path / "evidence")
    assert check("--evidence", folder, command=FAULTY).exit_code == 1
    again = check("--replay", folder)
    assert again.exit_code == 1
    assert "FAIL  ping.empty-result" in again.stdout
    shown = dovetail("explain", "ping.empty-result", "--replay", folder)
    assert shown.exit_code == 0, shown.output
    assert '"method":"ping"' in shown.stdout


# -- documents, comparisons, badges ------------------------------------------------------------


def test_a_document_is_written_and_verified(tmp_path: Path) -> None:
    document = str(tmp_path / "COMPLIANCE.md")
    assert dovetail("report", *ONE_RULE, FILE, "-o", document).exit_code == 0
    held = dovetail("verify", document, *ONE_RULE, FILE)
    assert held.exit_code == 0, held.output
    assert "hold: 1 passed" in held.stdout
    broken = dovetail("verify", document, *ONE_RULE, command=FAULTY)
    assert broken.exit_code == 1
    assert "ping.empty-result  claimed pass, now fail" in broken.stdout
    assert "the result of ping has members" in broken.stdout


def test_a_document_with_other_transports_is_rejected(tmp_path: Path) -> None:
    document = tmp_path / "COMPLIANCE.md"
    dovetail("report", *ONE_RULE, FILE, "-o", str(document))
    text = document.read_text("utf-8").replace("transports: [stdio]", "transports: [http, stdio]")
    document.write_text(text, "utf-8")
    result = dovetail("verify", str(document), *ONE_RULE, FILE)
    assert result.exit_code == 2
    assert "covers http, stdio; this check covers only stdio" in result.stderr


def test_reports_are_compared_and_a_badge_is_rendered(tmp_path: Path) -> None:
    good, bad = str(tmp_path / "good.json"), str(tmp_path / "bad.json")
    check("-o", good, FILE)
    check("-o", bad, command=FAULTY)
    worse = dovetail("diff", good, bad)
    assert worse.exit_code == 1
    assert "ping.empty-result  MUST  pass -> fail" in worse.stdout
    better = dovetail("diff", bad, good, "--json")
    assert better.exit_code == 0
    assert [change["id"] for change in json.loads(better.stdout)["better"]] == ["ping.empty-result"]
    badge = dovetail("badge", bad)
    assert "<svg" in badge.stdout
    assert "1 failed" in badge.stdout
    assert dovetail("badge", FILE).exit_code == 2
    assert dovetail("diff", good, "none.json").exit_code == 2
