"""The module of `dovetail generate client` for server-everything, the official example server.

usage: python qa/conformance/generated_client.py [--suite FOLDER]     (part of make conformance)

The module is generated twice and is the same, mypy accepts it, and its functions call the tools.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail import Client
from dovetail.client import CallResult
from dovetail.spec.models import EmbeddedResource, ImageContent, ResourceLink, TextContent

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 120.0
_SERVER = Path("node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
_ZIPPED = {"name": "a.gz", "data": "data:text/plain,abc", "outputType": "resource"}


async def _echo(made: Any, client: Client) -> None:
    said = await made.echo(client, made.EchoArguments(message="hello"))
    assert said.text == "Echo: hello", said


async def _add(made: Any, client: Client) -> None:
    said = await made.get_sum(client, made.GetSumArguments(a=2, b=3.5))
    assert "5.5" in said.text, said


async def _read_structured_content(made: Any, client: Client) -> None:
    arguments = made.GetStructuredContentArguments(location="Chicago")
    weather = await made.get_structured_content(client, arguments)
    assert isinstance(weather, made.GetStructuredContentResult), weather
    assert isinstance(weather.temperature, float | int) and weather.conditions, weather


async def _read_content(made: Any, client: Client) -> None:
    arguments = made.GetAnnotatedMessageArguments(messageType="success", includeImage=True)
    kinds: dict[type, CallResult] = {
        ImageContent: await made.get_tiny_image(client),
        EmbeddedResource: await made.gzip_file_as_resource(
            client, made.GzipFileAsResourceArguments(**_ZIPPED)
        ),
        ResourceLink: await made.get_resource_links(client),
        TextContent: await made.get_annotated_message(client, arguments),
    }
    for kind, result in kinds.items():
        assert kind in [type(block) for block in result.content], (kind, result)


async def _use_defaults(made: Any, client: Client) -> None:
    found = await made.get_resource_reference(client)
    assert "demo://resource/dynamic/text/1" in str(found.content), found
    assert (await made.get_env(client)).text
    steps = made.TriggerLongRunningOperationArguments(duration=0.1, steps=2)
    assert "completed" in (await made.trigger_long_running_operation(client, steps)).text


USES: Mapping[str, Callable[[Any, Client], Awaitable[None]]] = {
    "text": _echo,
    "numbers": _add,
    "structured result": _read_structured_content,
    "content": _read_content,
    "optional arguments": _use_defaults,
}


def _run(*words: str) -> str | None:
    """Run a Python module; what it printed if it failed."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return None if done.returncode == 0 else f"{words[0]}: {done.stdout}{done.stderr}".strip()


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


async def _use(made: ModuleType, command: Sequence[str]) -> list[str]:
    problems = []
    async with Client(list(command), timeout=_SECONDS) as client:
        for name, use in USES.items():
            try:
                await use(made, client)
            except Exception as error:  # noqa: BLE001 - a call may fail in any way
                problems.append(f"generated client: {name}: {error!r}")
    return problems


def check_generated_client(node: str, suite: Path, out: Path) -> list[str]:
    """Generate the module, check it and use it; the problems."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "everything_client.py"
    command = (node, str(suite / _SERVER), "stdio")
    generate = ("dovetail", "generate", "client", "-o", str(file), "--timeout", str(_SECONDS))
    steps = (
        (*generate, "--", *command),
        (*generate, "--check", "--", *command),
        ("mypy", "--strict", "--config-file=", f"--cache-dir={out / 'mypy'}", str(file)),
    )
    for step in steps:
        problem = _run(*step)
        if problem is not None:
            return [f"generated client: {problem}"]
    problems = asyncio.run(_use(_load(file), command))
    if not problems:
        print(f"generated client: server-everything, {len(USES)} uses", flush=True)
    return problems


def main() -> int:
    """Check the generated module alone."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--suite", type=Path, default=ROOT / ".conformance")
    options.add_argument("--node", default=shutil.which("node") or "node")
    given = options.parse_args()
    out = ROOT / ".conformance" / "out" / "generated"
    problems = check_generated_client(given.node, given.suite, out)
    print("\n".join(problems) or "as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
