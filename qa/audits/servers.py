"""The servers that are audited, and how each of them is started."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CACHE", "PLAY", "ROOT", "SERVERS", "Audited"]

ROOT = Path(__file__).resolve().parents[2]
# Relative, because reports name the command.
CACHE = Path(".audits")
# A folder with a file, and a repository: what servers of files and of git may look at.
PLAY = CACHE / "play"

_MODULES = CACHE / "node" / "node_modules"
_LOCAL_NODE = _MODULES / ".bin" / "node"
NODE = str(_LOCAL_NODE) if (ROOT / _LOCAL_NODE).exists() else "node"
_OFFICIAL = _MODULES / "@modelcontextprotocol"
_SCRIPTS = CACHE / "python" / "bin"
PYTHON = ".venv/bin/python"
MINIMCP_PYTHON = ".venv-minimcp/bin/python"


@dataclass(frozen=True)
class Audited:
    """One server."""

    # The name of its page.
    name: str
    # Where it comes from: npm or PyPI, and the package; or what it is written with.
    origin: str
    # The distribution that says which version was audited, and the interpreter that has it;
    # or the folder of a package of npm.
    package: str
    stdio: tuple[str, ...]
    # Serves over HTTP, at /mcp; {port} is a free one.
    http: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    # The interpreter whose environment has the package; empty: it is of npm.
    interpreter: str = ""
    note: str = ""


def _of_npm(name: str, *arguments: str, **more: object) -> Audited:
    package = f"server-{name}"
    main = str(_OFFICIAL / package / "dist" / "index.js")
    http = (NODE, main, "streamableHttp") if name == "everything" else ()
    return Audited(
        name=package,
        origin=f"npm `@modelcontextprotocol/{package}`",
        package=str(_OFFICIAL / package),
        stdio=(NODE, main, *arguments),
        http=http,
        **more,  # type: ignore[arg-type]
    )


def _of_pypi(name: str, *arguments: str, note: str = "") -> Audited:
    package = f"mcp-server-{name}"
    return Audited(
        name=package,
        origin=f"PyPI `{package}`",
        package=package,
        stdio=(str(_SCRIPTS / package), *arguments),
        interpreter=str(_SCRIPTS / "python"),
        note=note,
    )


def _small(package: str, interpreter: str = PYTHON) -> Audited:
    command = (interpreter, f"qa/audits/small/with_{package}.py")
    return Audited(
        name=f"with-{package}",
        origin=f"`qa/audits/small/with_{package}.py`, written with PyPI `{package}`",
        package=package,
        stdio=command,
        http=(*command, "{port}"),
        interpreter=interpreter,
    )


SERVERS = (
    _of_npm("everything", "stdio", env={"PORT": "{port}"}),
    _of_npm("memory", env={"MEMORY_FILE_PATH": "{cache}/memory.json"}),
    _of_npm("filesystem", str(PLAY)),
    _of_pypi(
        "fetch",
        "--proxy-url",
        "http://127.0.0.1:9",
        note="It is configured with a proxy that does not exist, so that nothing leaves the "
        "machine: its tool is marked as read-only, so the check calls it.",
    ),
    _of_pypi("git", "--repository", str(PLAY)),
    _of_pypi("time", "--local-timezone", "UTC"),
    _small("mcp"),
    _small("fastmcp"),
    _small("minimcp", MINIMCP_PYTHON),
)
