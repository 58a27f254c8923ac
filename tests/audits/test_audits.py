"""What `make audit` needs and what it wrote hold together; the run itself is no test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dovetail_check.inventory import Level, by_id
from qa.audits.confirming import read_confirmations
from qa.audits.servers import SERVERS, Audited

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "audits"


def test_confirmations_are_of_servers_and_rows_that_exist() -> None:
    names = {server.name for server in SERVERS}
    for server, row in read_confirmations():
        assert server in names
        assert by_id()[row].strength is Level.MUST, row
        assert not by_id()[row].is_derived, row


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_each_fail_on_a_page_is_confirmed(server: Audited) -> None:
    text = (PAGES / f"{server.name}.md").read_text()
    confirmed = {row for name, row in read_confirmations() if name == server.name}
    sections = re.findall(r"^### fail\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    failed = {
        row for part in sections for row in re.findall(r"^\*\*([^*]+)\*\*", part, re.MULTILINE)
    }
    assert failed == confirmed
    assert "*Confirmed*: not yet" not in text


def test_the_table_has_every_server() -> None:
    table = (PAGES / "index.md").read_text()
    for server in SERVERS:
        rows = [line for line in table.splitlines() if line.startswith(f"| [{server.name}](")]
        assert len(rows) == (2 if server.http else 1), server.name


def test_versions_are_pinned() -> None:
    wanted = json.loads((ROOT / "qa" / "audits" / "package.json").read_text())
    versions = [*wanted["dependencies"].values(), *wanted["optionalDependencies"].values()]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
    lines = (ROOT / "qa" / "audits" / "requirements.txt").read_text().splitlines()
    assert all("==" in line for line in lines if not line.startswith("#"))


def test_pages_name_no_folder_of_a_machine() -> None:
    for page in PAGES.glob("*.md"):
        assert not re.search(r"(^|[\s(`'])/(home|work|root|tmp|Users|var)/", page.read_text()), page
