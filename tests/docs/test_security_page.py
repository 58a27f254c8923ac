"""The page on security names tests that exist and clauses that the inventory has."""

from __future__ import annotations

import re

from tests.contracts.source_tree import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
PACKAGES = ROOT / "packages"
PACKAGE = PACKAGES / "dovetail"


def test_every_test_that_is_named_exists() -> None:
    folder = ""
    missing = []
    for name in re.findall(r"`([\w/-]*(?:test_\w+\.py|hostile|load))`", PAGE):
        if name.startswith("tests/"):
            path = f"dovetail/{name}"
        else:
            path = name if name.startswith("dovetail-") else f"{folder}/{name}"
        folder = path.rpartition("/")[0]
        if not (PACKAGES / path).exists():
            missing.append(path)
    assert missing == []


def test_attacks_that_are_named_are_in_the_table() -> None:
    table = (PACKAGE / "tests" / "deep" / "auth" / "test_attacks.py").read_text("utf-8")
    for line in PAGE.splitlines():
        for names in re.findall(r"test_attacks\.py` \(([^)]*)\)", line):
            for name in re.findall(r"`([^`]+)`", names):
                assert f'"{name}":' in table or f"def {name}" in table, name


def test_the_attack_table_of_mounts_names_every_test() -> None:
    source = (PACKAGES / "dovetail-gateway/tests/gateway/test_attacks.py").read_text("utf-8")
    named = re.findall(r"\| `(test_\w+)` \|$", PAGE, re.M)
    assert sorted(named) == sorted(re.findall(r"^def (test_\w+)", source, re.M))
