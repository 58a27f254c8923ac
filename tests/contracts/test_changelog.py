"""Fragments have the right names, and merging them loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT
from tools.changelog import MARKER, FragmentError, merge, read_fragments


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with an older release and a readme among the fragments."""
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("how to", "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{MARKER}\n## 0.1.0\n", "utf-8")
    return tmp_path


def test_the_committed_fragments_and_the_changelog_can_be_merged() -> None:
    read_fragments(ROOT / "changes")
    assert (ROOT / "CHANGELOG.md").read_text("utf-8").count(MARKER) == 1


def test_merging_groups_by_kind_and_removes_the_fragments(root: Path) -> None:
    changes = root / "changes"
    (changes / "12.fixed.md").write_text("A lone\nsurrogate is refused.\n", "utf-8")
    (changes / "9.ping.fixed.md").write_text("Ping answers.", "utf-8")
    (changes / "10.breaking.md").write_text("`run` takes options.", "utf-8")
    merge(root, "0.2.0", "2030-01-02")
    assert (root / "CHANGELOG.md").read_text("utf-8") == (
        f"# Changelog\n\n{MARKER}\n"
        "## 0.2.0 (2030-01-02)\n\n"
        "### Breaking\n\n- `run` takes options. (#10)\n\n"
        "### Fixed\n\n- Ping answers. (#9)\n- A lone surrogate is refused. (#12)\n\n"
        "## 0.1.0\n"
    )
    assert [path.name for path in changes.iterdir()] == ["README.md"]


@pytest.mark.parametrize("name", ["12.md", "12.removed.md", "x.added.md", "12.added.txt"])
def test_a_fragment_with_another_name_is_refused(root: Path, name: str) -> None:
    (root / "changes" / name).write_text("text", "utf-8")
    with pytest.raises(FragmentError, match=r"expected <number>"):
        read_fragments(root / "changes")


def test_an_empty_fragment_a_wrong_version_and_nothing_to_release_are_refused(root: Path) -> None:
    with pytest.raises(FragmentError, match="has no fragment"):
        merge(root, "0.2.0", "2030-01-02")
    with pytest.raises(FragmentError, match="is not a version"):
        merge(root, "two", "2030-01-02")
    (root / "changes" / "1.added.md").write_text(" \n", "utf-8")
    with pytest.raises(FragmentError, match="is empty"):
        merge(root, "0.2.0", "2030-01-02")
