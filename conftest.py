"""Shared test settings, and the import path of test helpers.

Helpers are imported as `tests.<...>`: the `tests` folders of the repository and of all packages
are one namespace package. Child processes that tests start see the same path.

Tests below a folder `deep` need more than Python: processes, Redis, a browser, proxies, other MCP
libraries. `--tier=fast` leaves them out and `--tier=deep` runs nothing else; the cases of tests
that run on several transports are divided between the two.

Tests drive coroutines with `asyncio.run`, so no plugin decides when a loop lives.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from dovetail.client import http_channel, http_session, negotiation, rpc, stdio

ROOT = Path(__file__).resolve().parent
_TEST_ROOTS = [str(ROOT), *(str(path.parent) for path in sorted(ROOT.glob("packages/*/tests")))]
sys.path[:0] = [path for path in _TEST_ROOTS if path not in sys.path]
# Before pytest makes modules of its own for these, from the first folders of these names it meets.
importlib.import_module("tests.deep")
os.environ["PYTHONPATH"] = os.pathsep.join(
    [*_TEST_ROOTS, *filter(None, [os.environ.get("PYTHONPATH")])]
)

# Only now is it importable.
matrix: Any = importlib.import_module("tests.matrix")
_FRAMEWORK = ROOT / "packages" / "dovetail" / "tests"

# Limits of the client that a slow machine reaches and that change the outcome.
for _module, _name in (
    (negotiation, "_PROBE_SECONDS"),
    (http_session, "_LISTEN_SECONDS"),
    (http_channel, "_ENDPOINT_SECONDS"),
    (stdio, "_EXIT_SECONDS"),
    (rpc, "_DRAIN_SECONDS"),
):
    assert hasattr(_module, _name), f"{_module.__name__} has no {_name}"
    setattr(_module, _name, importlib.import_module("tests.patience").CAP)

# httpcore imports this at each request if it can; a failed import searches the whole path.
if importlib.util.find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# No deadline for an example: pytest's timeout ends tests that hang.
settings.register_profile("desk", deadline=None, max_examples=30)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=30)
settings.register_profile("fuzz", deadline=None, max_examples=20_000)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tier`."""
    parser.addoption(
        "--tier",
        choices=("fast", "deep", "all"),
        help="which tests of the given folders to run; without it, those of `fast` and all in"
        " folders named deep",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the files that have no test of the tier, without importing them."""
    tier = config.getoption("--tier")
    if tier == "fast" and collection_path.name == "deep":
        return True
    if tier == "deep" and collection_path.suffix == ".py" and not _is_deep(collection_path):
        return not _is_matrix(collection_path)
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Divide the cases of tests that run on several transports or stores."""
    tier = config.getoption("--tier")
    if tier == "all":
        return
    divided = [item for item in items if _is_matrix(item.path) and not _is_deep(item.path)]
    fast, rest = matrix.split(divided)
    dropped = set(fast if tier == "deep" else rest)
    if dropped:
        config.hook.pytest_deselected(items=list(dropped))
        items[:] = [item for item in items if item not in dropped]


def _is_deep(path: Path) -> bool:
    return "deep" in path.relative_to(ROOT).parts


def _is_matrix(path: Path) -> bool:
    return path.is_relative_to(_FRAMEWORK) and matrix.is_matrix(
        path.relative_to(_FRAMEWORK).as_posix()
    )


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, which would walk them each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates in captured logs: xdist cannot send them between processes."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report
