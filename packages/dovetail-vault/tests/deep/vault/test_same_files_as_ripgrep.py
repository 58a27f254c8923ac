"""A literal query finds the same files as ripgrep, on thousands of real documents.

Few queries by default; 200 with DURABILITY_RUNS=100 (make durability).
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_vault.search_request import SearchRequest
from dovetail_vault.text_search import TextSearcher
from dovetail_vault.vault import Vault
from tests.patience import CAP
from tests.vault.corpus import ENOUGH, copy_corpus

RIPGREP = Path(sys.executable).parent / "rg"
QUERIES = max(15, 2 * int(os.environ.get("DURABILITY_RUNS", "0")))
# Nothing, signs, long s, final sigma, sharp s, the Kelvin sign, ideographs.
ODD = [
    "zzqx",
    "->",
    "::",
    "\u00b0",
    "\u017ftr",
    "\u03a3\u0391\u03c2",
    "stra\u00dfe",
    "\u212a",
    "\u65e5\u672c",
]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("corpus") / "vault"
    count = copy_corpus(folder, ENOUGH + 200)
    assert count >= ENOUGH
    opened = Vault("corpus", folder, index_dir=folder.parent / "index")
    opened.start()
    assert opened.wait_until_complete(CAP)
    yield opened
    opened.stop()


def ask_ripgrep(folder: Path, text: str, case_sensitive: bool) -> set[str]:
    words = [str(RIPGREP), "--no-config", "--no-ignore", "-l", "-F", "-g", "*.md"]
    words += ["-s" if case_sensitive else "-i", "-e", text, "."]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {line.removeprefix("./") for line in done.stdout.splitlines()}


def ask_vault(vault: Vault, text: str, case_sensitive: bool) -> set[str]:
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    found: set[str] = set()
    searcher = TextSearcher(vault)
    while True:
        page = searcher.search(
            SearchRequest(
                query=quoted,
                case_sensitive=case_sensitive,
                limit=500,
                offset=len(found),
                max_chars=1000,
            )
        )
        names = {file.path for file in page.files}
        assert not names & found, "a page repeats what an earlier one had"
        found |= names
        if page.next_offset is None:
            assert page.total == len(found)
            return found


def pieces_of(vault: Vault, seed: int) -> Iterator[str]:
    """Return words, parts of words, phrases, punctuation and random texts."""
    draw = random.Random(seed)
    notes = [row.path for row in vault.index.select("ORDER BY path")]
    while True:
        text = vault.text_of(draw.choice(notes)) or ""
        lines = [line for line in text.split("\n") if line.strip()]
        if not lines:
            continue
        line = draw.choice(lines).rstrip("\r")
        words = re.findall(r"\w+", line)
        kind = draw.randrange(5)
        if kind == 0 and words:
            yield draw.choice(words)
        elif kind == 1 and words:
            word = draw.choice(words)
            start = draw.randrange(len(word))
            yield word[start : start + draw.randint(1, 6)]
        elif kind == 2:
            start = draw.randrange(len(line))
            piece = line[start : start + draw.randint(1, 30)]
            if piece.strip():
                yield piece
        elif kind == 3 and words:
            word = draw.choice(words)
            yield draw.choice([word.upper(), word.lower(), word.title(), word.swapcase()])
        else:
            yield draw.choice(ODD)


@pytest.mark.slow
@pytest.mark.parametrize("case_sensitive", [False, True])
def test_a_literal_query_finds_the_files_that_ripgrep_finds(
    vault: Vault, case_sensitive: bool
) -> None:
    pieces = pieces_of(vault, seed=5 + case_sensitive)
    found_something = 0
    for _ in range(QUERIES // 2):
        text = next(pieces)
        expected = ask_ripgrep(vault.root.path, text, case_sensitive)
        assert ask_vault(vault, text, case_sensitive) == expected, repr(text)
        found_something += bool(expected)
    # Random texts often occur nowhere; some must, or nothing is compared.
    assert found_something >= QUERIES // 8


def test_every_document_is_in_the_index(vault: Vault) -> None:
    listed = {row.path for row in vault.index.select("WHERE state = 'ok'")}
    on_disk = {str(path.relative_to(vault.root.path)) for path in vault.root.path.rglob("*.md")}
    assert listed == on_disk
    assert len(listed) >= ENOUGH
