"""The configurations in docs/deployment.md work: each is taken from the page and run or checked."""

from __future__ import annotations

import asyncio
import configparser
import http.client
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.load import META, Load
from tests.cluster.processes import ProcessCluster, free_port
from tests.cluster.redis_server import RedisServer, running_redis
from tests.http_corpus.proxies import find_program, program_environment
from tests.patience import CAP, wait_until

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "deployment.md").read_text("utf-8")
SERVER = ROOT / "packages" / "dovetail" / "tests" / "deep" / "cluster" / "rolling.py"
BALANCERS = ("nginx", "haproxy")
# `make cluster` makes 100,000 calls.
CALLS = int(os.environ.get("ROLLING_CALLS", "1000"))
MACHINES = ("10.0.0.11:8000", "10.0.0.12:8000")


def blocks(language: str) -> list[str]:
    """The code blocks of the page in a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found


# -- nginx and haproxy --------------------------------------------------------------------------


def configure(program: str, folder: Path, port: int, servers: list[int]) -> str:
    """The configuration of the page, with addresses of this machine."""
    [config] = blocks(program)
    listen = {"nginx": "listen 8080;", "haproxy": "bind :8080\n"}[program]
    changes = {listen: listen.replace(":8080", "8080").replace("8080", f"127.0.0.1:{port}")}
    changes |= {there: f"127.0.0.1:{here}" for there, here in zip(MACHINES, servers, strict=True)}
    for old, new in changes.items():
        assert config.count(old) == 1
        config = config.replace(old, new)
    if program == "haproxy":
        return config
    paths = " ".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    own = f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;"
    return f"{own} events {{}} http {{ {paths} access_log off;\n{config} }}"


@contextmanager
def balancing(program: str, folder: Path, servers: list[int]) -> Iterator[int]:
    """The port of a balancer with the configuration of the page."""
    port = free_port()
    config = folder / f"{program}.conf"
    config.write_text(configure(program, folder, port, servers))
    words = ["-db", "-f"] if program == "haproxy" else ["-c"]
    with (
        (folder / "printed").open("wb") as printed,
        subprocess.Popen(
            [find_program(program), *words, str(config)],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            env=program_environment(),
        ) as process,
    ):
        try:
            wait_until(lambda: is_listening(port) or process.poll() is not None)
            assert process.poll() is None, (folder / "printed").read_text()
            yield port
        finally:
            process.terminate()
            process.wait(CAP)


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def processes(redis_server: RedisServer, tmp_path: Path) -> Iterator[ProcessCluster]:
    """Two processes, started as the page says."""
    keys = tmp_path / "state.keys"
    dovetail = [sys.executable, "-m", "dovetail"]
    keys.write_bytes(subprocess.run([*dovetail, "keys", "state"], stdout=-1, check=True).stdout)
    words = [str(SERVER), "--state-keys", str(keys)]
    env = {"DOVETAIL_CLUSTER": f"{redis_server.url}?name={secrets.token_hex(6)}"}
    cluster = ProcessCluster(tmp_path, words, env, 2)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.mark.parametrize("program", BALANCERS)
def test_no_call_fails_while_processes_are_restarted(
    program: str, processes: ProcessCluster, tmp_path: Path
) -> None:
    async def run() -> None:
        ports = [process.port for process in processes.processes]
        with balancing(program, tmp_path, ports) as port:
            load = Load(port, 4, CALLS, sessions=True)
            for index in range(2):
                await load.reach(CALLS * (index + 1) // 4)
                await asyncio.to_thread(processes.processes[index].stop)
                await asyncio.to_thread(processes.restart, index)
            await load.stop()
            assert load.failures == []

    asyncio.run(run())


@pytest.mark.parametrize("program", BALANCERS)
def test_a_stream_arrives_event_by_event(
    program: str, processes: ProcessCluster, tmp_path: Path
) -> None:
    ports = [process.port for process in processes.processes]
    end = tmp_path / "end"
    params = {
        "name": "report_and_wait",
        "arguments": {"file": str(end)},
        "_meta": {**META, "progressToken": 1},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "report_and_wait",
    }
    with (
        balancing(program, tmp_path, ports) as port,
        closing(http.client.HTTPConnection("127.0.0.1", port, timeout=CAP)) as connection,
    ):
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
        # The call ends only after its first event has arrived here.
        assert "notifications/progress" in next_event(response)
        end.touch()
        assert "done" in next_event(response)


def next_event(response: http.client.HTTPResponse) -> str:
    while True:
        line = response.readline().decode()
        assert line, "the stream has ended"
        if line.startswith("data: {"):
            return line


# -- systemd --------------------------------------------------------------------------------------


def units() -> dict[str, str]:
    """The units of the page, by file name."""
    return {text.split(None, 2)[1]: text for text in blocks("ini")}


def test_units_have_no_unknown_settings(tmp_path: Path) -> None:
    assert list(units()) == ["shop.service", "shop@.service"]
    for name, text in units().items():
        assert "/opt/shop/bin/dovetail" in text
        # It is checked that the program exists.
        (tmp_path / name).write_text(text.replace("/opt/shop/bin/dovetail", sys.executable))
        parsed = configparser.RawConfigParser(strict=True)
        parsed.read_string(text)
        assert {"TimeoutStopSec", "ExecStart", "Restart"} <= set(map(key_of, text.splitlines()))
        assert parsed.sections() == ["Unit", "Service", "Install"]
    # Not on every machine; what is parsed above must do there.
    program = shutil.which("systemd-analyze")
    if program is not None:
        for name in ("shop.service", "shop@8001.service"):
            command = [program, "verify", str(tmp_path / name)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            complaints = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
            assert (done.returncode, complaints) == (0, [])


def key_of(line: str) -> str:
    return line.partition("=")[0]


def test_units_have_options_that_exist() -> None:
    for text in units().values():
        command = re.search(r"^ExecStart=\S+ (.+)$", text, re.MULTILINE)
        assert command is not None
        assert_options_exist(command[1].split())


def assert_options_exist(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dovetail", "run", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    assert options
    assert [option for option in options if option not in done.stdout] == []


# -- Kubernetes -----------------------------------------------------------------------------------


def manifests() -> dict[tuple[str, str], Any]:
    """The manifests of the page, by kind and name."""
    [text] = blocks("yaml")
    found = list(yaml.safe_load_all(text))
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def test_manifests_belong_together() -> None:
    found = manifests()
    assert set(found) == {(kind, name) for kind in ("Deployment", "Service") for name in NAMES}
    for name in NAMES:
        deployment, service = found["Deployment", name]["spec"], found["Service", name]["spec"]
        labels = deployment["template"]["metadata"]["labels"]
        assert deployment["selector"]["matchLabels"] == labels == service["selector"]
        [container] = deployment["template"]["spec"]["containers"]
        [port], [exposed] = container["ports"], service["ports"]
        assert exposed["targetPort"] == port["name"]


NAMES = ("shop", "redis")


def test_the_pod_of_the_server_has_probes_keys_and_time_to_drain() -> None:
    pod = manifests()["Deployment", "shop"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    program, command, _, *options = container["args"]
    assert (program, command) == ("dovetail", "run")
    assert_options_exist(options)
    assert f"--http=0.0.0.0:{container['ports'][0]['containerPort']}" in options
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    [cluster] = container["env"]
    assert cluster["name"] == "DOVETAIL_CLUSTER"
    [mount], [volume] = container["volumeMounts"], pod["volumes"]
    assert mount["name"] == volume["name"]
    [item] = volume["secret"]["items"]
    assert f"--state-keys={mount['mountPath']}/{item['path']}" in options
    # The command on the page makes the secret that both refer to.
    [create] = [text for text in blocks("console") if "kubectl create secret" in text]
    assert f"secret generic {volume['secret']['secretName']} " in create
    reference = cluster["valueFrom"]["secretKeyRef"]
    assert reference == {"name": volume["secret"]["secretName"], "key": "cluster"}
    assert f"--from-file={item['key']}" in create and "--from-literal=cluster=" in create
    stop = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > stop + 5
