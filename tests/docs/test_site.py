"""The tools that build the site: its pages, its navigation, its links and its versions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from tests.contracts.source_tree import ROOT
from tools.site_links import find_problems
from tools.site_links import main as check_links
from tools.site_pages import (
    REPOSITORY,
    ROOT_PAGES,
    copy_pages,
    expand_reference,
    read_members,
    rewrite_links,
    unescape_pipes,
    unlink_headings,
)
from tools.site_versions import add_version, merge_versions
from tools.site_versions import main as run_versions


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, which names a Python function."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def read_config() -> dict[str, Any]:
    config: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Loader)
    return config


def read_nav(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from read_nav(value)
            else:
                yield value


def test_the_navigation_has_every_page_once() -> None:
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    listed = list(read_nav(read_config()["nav"]))
    assert sorted(listed) == sorted(pages | set(ROOT_PAGES.values()))


def test_nothing_is_loaded_from_other_hosts() -> None:
    config = read_config()
    assert config["theme"]["font"] is False
    assert [name for name in config.get("extra_css", []) if "//" in name] == []
    # With repo_url, the pages ask the host of the repository for its stars.
    assert not {"repo_url", "extra_javascript"} & set(config)
    assert "analytics" not in config["extra"]


def test_links_out_of_docs_are_rewritten(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    text = (
        "[a](../SECURITY.md) [b](../packages) [c](tools.md#x) [d](#here) [e](https://a.example)\n"
        "[f](../gone.md) ![g](images/a.png)\n"
        "```\n[a](../SECURITY.md)\n```\n[a](../SECURITY.md#x)\n"
    )
    assert rewrite_links(text, PurePosixPath("docs/page.md"), tmp_path) == (
        f"[a](security-policy.md) [b]({REPOSITORY}packages) [c](tools.md#x) [d](#here) "
        "[e](https://a.example)\n[f](../gone.md) ![g](images/a.png)\n"
        "```\n[a](../SECURITY.md)\n```\n[a](security-policy.md#x)\n"
    )
    assert rewrite_links("[a](../../SECURITY.md) [b](../tools.md)", PurePosixPath("docs/a/b.md"),
                         tmp_path) == "[a](../security-policy.md) [b](../tools.md)"  # fmt: skip
    assert rewrite_links("[a](docs/tools.md)", PurePosixPath("CONTRIBUTING.md"), tmp_path) == (
        "[a](tools.md)"
    )


def test_the_reference_lists_the_members_of_the_public_api() -> None:
    members = read_members("a.B  class\na.B.x  attribute\na.B.y  def()\na.f  def()\n")
    assert members["a.B"] == ["x", "y"]
    expanded = expand_reference("::: a.B\n\n::: a.f\n", members)
    assert "::: a.B\n    options:\n      filters: ['!^(?!(?:x|y)$)']\n" in expanded
    assert "::: a.f\n    options:\n      members: false\n" in expanded


def test_pipes_in_the_code_of_tables_lose_their_backslash() -> None:
    text = "| `a\\|b` | c \\| d | `` e\\|f ``\n`g\\|h`\n"
    assert unescape_pipes(text) == "| `a|b` | c \\| d | `` e|f ``\n`g\\|h`\n"


def test_a_name_in_a_signature_leads_to_no_heading() -> None:
    link = '<a class="autorefs autorefs-internal" title="x" href="../a/#{}"><code>{}</code></a>'
    html = link.format("list", "list") + link.format("dovetail.Icon", "Icon")
    assert unlink_headings(html) == "<code>list</code>" + link.format("dovetail.Icon", "Icon")


def test_all_pages_are_copied(tmp_path: Path) -> None:
    (tmp_path / "old.md").touch()
    copy_pages(ROOT, tmp_path)
    assert not (tmp_path / "old.md").exists()
    assert (tmp_path / "contributing.md").read_text("utf-8").startswith("# Contributing")
    assert "filters: [" in (tmp_path / "reference" / "server.md").read_text("utf-8")


def make_site(folder: Path) -> Path:
    site = folder / "site"
    (site / "guide").mkdir(parents=True)
    (site / "style.css").write_text("a { background: url(missing.png) }", "utf-8")
    (site / "index.html").write_text(
        '<a href="guide/">a</a> <a href="guide/#top">b</a> <a href="guide/#gone">c</a>'
        '<a href="gone/">d</a> <a href="https://other.example/x">e</a><a href="javascript:x">f</a>'
        '<link rel="stylesheet" href="style.css"><link rel="canonical" href="https://a.example/">'
        '<script src="https://cdn.example/x.js"></script><img src="data:image/png;base64,x">'
        '<pre class="x mermaid">graph</pre>',
        "utf-8",
    )
    (site / "guide" / "index.html").write_text(
        '<h1 id="top">x</h1><a href="..">up</a><a href="../#nowhere">n</a><a href="#top">t</a>'
        '<style>@import "https://fonts.example/x.css";</style><img src="../gone.svg">',
        "utf-8",
    )
    return site


def test_broken_links_anchors_and_foreign_assets_are_found(tmp_path: Path) -> None:
    assert list(find_problems(make_site(tmp_path))) == [
        "guide/index.html: ../#nowhere: index.html has no such anchor",
        "guide/index.html: https://fonts.example/x.css: an asset of another host",
        "guide/index.html: ../gone.svg: there is no such file",
        "index.html: guide/#gone: guide/index.html has no such anchor",
        "index.html: gone/: there is no such page",
        "index.html: javascript:x: expected a relative link, http, https or mailto",
        "index.html: https://cdn.example/x.js: an asset of another host",
        "index.html: https://unpkg.com/mermaid: an asset of another host",
        "style.css: missing.png: there is no such file",
    ]


def test_the_check_fails_for_a_broken_site_and_for_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_links([str(make_site(tmp_path))]) == 1
    assert "gone/: there is no such page" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert check_links([str(tmp_path / "empty")]) == 1
    good = tmp_path / "good"
    good.mkdir()
    (good / "index.html").write_text('<p id="a"><a href="#a">a</a>', "utf-8")
    (good / "404.html").write_text('<a href="/">a</a><a href="/index.html">b</a>', "utf-8")
    assert check_links([str(good)]) == 0


def test_an_alias_belongs_to_one_version() -> None:
    first = merge_versions([], "1.9.0", ["stable"])
    second = merge_versions(first, "1.10.0", ["stable"])
    third = merge_versions(second, "main", [])
    assert [(entry["version"], entry["aliases"]) for entry in third] == [
        ("1.10.0", ["stable"]),
        ("1.9.0", []),
        ("main", []),
    ]
    assert len(merge_versions(third, "main", [])) == 3


def test_versions_are_added_beside_each_other(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "all"
    site.mkdir()
    (site / "index.html").write_text("one", "utf-8")
    add_version(site, folder, "main", [])
    assert 'url=main/"' in (folder / "index.html").read_text("utf-8")
    add_version(site, folder, "1.0.0", ["stable"])
    (site / "index.html").write_text("two", "utf-8")
    assert run_versions([str(site), str(folder), "main"]) == 0
    assert 'url=stable/"' in (folder / "index.html").read_text("utf-8")
    assert (folder / "stable" / "index.html").read_text("utf-8") == "one"
    assert (folder / "main" / "index.html").read_text("utf-8") == "two"
    versions = json.loads((folder / "versions.json").read_text("utf-8"))
    assert [entry["version"] for entry in versions] == ["1.0.0", "main"]
    assert run_versions([]) == 2
    with pytest.raises(ValueError, match="a version is"):
        add_version(site, folder, "../x", [])
