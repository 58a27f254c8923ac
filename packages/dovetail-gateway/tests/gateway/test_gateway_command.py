"""The command line of `dovetail gateway`; tests/gateway runs it with real upstreams."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail import Server
from dovetail.cli.app import app
from dovetail.runtime.key_files import KEYS
from dovetail.runtime.state import CLUSTER
from dovetail_gateway import read_gateway
from dovetail_gateway.gateway_command import _build

OLD_SHOP = Path(__file__).with_name("old_shop.py")


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), obj=[])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "gateway.toml"
    shop = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(OLD_SHOP))}]"
    made.write_text(f"[upstreams.shop]\n{shop}\nconnect_timeout = 300\n")
    return made


def test_check_shows_what_the_upstreams_offer(file: Path) -> None:
    result = dovetail("gateway", "check", str(file))
    assert result.exit_code == 0, result.output
    heading, row = (line.split() for line in result.stdout.splitlines()[:2])
    assert heading == ["Upstream", "Prefix", "Revision", "Tools", "Prompts", "Resources"]
    assert row == ["shop", "shop", "2024-11-05", "4", "0", "0"]
    assert result.stdout.endswith("No problems\n")


def test_check_fails_if_an_upstream_does_not_answer_or_fit(file: Path) -> None:
    more = '[upstreams.shop.tools.nothing]\nhidden = true\n[upstreams.gone]\ncommand = "/gone"\n'
    file.write_text(file.read_text() + more)
    result = dovetail("gateway", "check", str(file))
    assert result.exit_code == 1
    assert "gone      gone    no answer       -        -          -" in result.stdout
    assert "\n2 problems\n  shop: tools.nothing: " in result.stdout
    assert "\n  gone: Could not start '/gone'" in result.stdout
    as_json = dovetail("gateway", "check", "--json", str(file))
    assert as_json.exit_code == 1
    shop, gone = json.loads(as_json.stdout)["upstreams"]
    assert (shop["answers"], shop["tools"], gone["answers"]) == (True, 4, False)
    # Only the file is checked.
    offline = dovetail("gateway", "check", "--offline", str(file))
    assert (offline.exit_code, offline.stdout) == (0, f"{file}: 2 upstreams, no problems\n")
    names = dovetail("gateway", "check", "--offline", "--json", str(file))
    assert json.loads(names.stdout) == {"upstreams": ["shop", "gone"]}


@pytest.mark.parametrize("words", [("check",), ("check", "--offline"), (), ("run",)])
def test_a_wrong_file_is_refused_with_all_problems(file: Path, words: tuple[str, ...]) -> None:
    file.write_text('[gaurd]\n[guard]\nrate = "often"\n[upstreams.a]\n')
    result = dovetail("gateway", *words, str(file))
    assert result.exit_code == 2
    assert f"dovetail: {str(file)!r} has 3 problems:" in result.stderr
    assert "gaurd: unknown key; did you mean 'guard'?" in result.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--workers", "2"), "--workers: requires --http"),
        (("--cluster", "redis://a/0"), "--cluster: requires --http"),
        (("--http", "0", "--cluster", "redis://a/0"), "dovetail keys state > state.keys"),
        (("--path", "/x", "--allow-host", "y"), "--allow-host, --path: requires --http"),
        (("--key-header", "X"), "--key-header requires --keys"),
        (("--keys", "/nowhere.json"), "no such file"),
        (("--http", "x"), "--http: expected PORT or HOST:PORT"),
        (("--http", "0", "--path", "x"), "--path must begin with a slash"),
    ],
)
def test_options_that_cannot_be_used(file: Path, words: tuple[str, ...], problem: str) -> None:
    for order in ((*words, str(file)), (str(file), *words)):
        result = dovetail("gateway", *order)
        assert result.exit_code == 2, result.output
        assert problem in result.stderr


def test_help_names_both_ways() -> None:
    result = dovetail("gateway", "--help")
    assert result.exit_code == 0
    assert "FILE | check FILE" in result.stdout
    assert "--audit" in dovetail("gateway", "run", "--help").stdout


def test_only_the_gateway_itself_joins_the_cluster(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER, "redis://127.0.0.1:1/0")
    monkeypatch.setenv(KEYS, "00" * 32)
    server = _build(read_gateway(str(file)))
    assert server.engine.processes is not None
    [proxy] = (each.source for each in server.provider.providers)
    assert isinstance(proxy, Server)
    assert proxy.engine.processes is None
    # Commands of upstreams do not inherit it.
    assert CLUSTER not in os.environ
