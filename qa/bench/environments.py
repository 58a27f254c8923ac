"""An environment for each contestant, so that nobody imports or carries another's libraries."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["HTTP_STACK", "REQUIREMENTS", "ROOT", "prepare", "python_of", "versions"]

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = ROOT / "packages" / "dovetail"
_REDIS = ROOT / "packages" / "dovetail-redis"

# What carries HTTP, the same for everybody: of uvicorn[standard] the parts that serve requests.
# The peers' own dependencies stop at uvicorn; dovetail's include all three.
HTTP_STACK = {"uvicorn": "0.54.0", "uvloop": "0.23.0", "httptools": "0.9.0"}
_HTTP = tuple(f"{name}=={version}" for name, version in HTTP_STACK.items())

# What pip is told, by the environment's name. minimcp has no cap on mcp but cannot import mcp 2.
# dovetail is installed as its users install it, anew for each run: an editable install would be
# measured while somebody edits it, and without byte code.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "bench-dovetail": (str(_PACKAGE), str(_REDIS), *_HTTP),
    "bench-mcp": ("mcp==2.3.0", *_HTTP),
    "bench-fastmcp": ("fastmcp==4.1.2", *_HTTP),
    "bench-mcp-proxy": ("mcp-proxy==0.13.0",),
    "minimcp": ("minimcp==0.5.2", "mcp>=1.24,<2", *_HTTP),
}

_LIST_VERSIONS = """
import importlib.metadata, json
print(json.dumps({d.name.lower(): d.version for d in importlib.metadata.distributions()}))
"""


def python_of(environment: str) -> Path:
    """The interpreter of an environment."""
    return ROOT / f".venv-{environment}" / "bin" / "python"


def prepare() -> None:
    """Create what is missing and bring up to date what is old."""
    for environment, requirements in REQUIREMENTS.items():
        stamp = ROOT / f".venv-{environment}" / ".bench-stamp"
        wanted = "\n".join(requirements)
        if str(_PACKAGE) in requirements:
            wanted += "\n" + hashlib.sha256((_PACKAGE / "pyproject.toml").read_bytes()).hexdigest()
        if not stamp.exists() or stamp.read_text() != wanted:
            print(f"preparing .venv-{environment}", file=sys.stderr)
            if not python_of(environment).exists():
                venv.create(ROOT / f".venv-{environment}", with_pip=True)
            _pip_install(environment, "--upgrade", "pip>=25.1")
            _pip_install(environment, *requirements)
            stamp.write_text(wanted)
    _pip_install("bench-dovetail", "--force-reinstall", "--no-deps", str(_PACKAGE), str(_REDIS))


def _pip_install(environment: str, *arguments: str) -> None:
    pip = [str(python_of(environment)), "-m", "pip", "install", "--quiet", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", *arguments], check=True)


def versions(environment: str) -> dict[str, str]:
    """The installed distributions of an environment."""
    command = [str(python_of(environment)), "-c", _LIST_VERSIONS]
    found: dict[str, str] = json.loads(subprocess.check_output(command))
    return found
