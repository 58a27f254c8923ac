from __future__ import annotations

from pathlib import Path

import pytest

from dovetail import UsageError
from dovetail_browser.chromium_path import find_chromium


def make_program(folder: Path, name: str) -> str:
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(program)


def test_the_environment_variable_comes_first(tmp_path: Path) -> None:
    make_program(tmp_path, "chromium")
    named = make_program(tmp_path, "mine")
    assert find_chromium({"PATH": str(tmp_path), "CHROME_PATH": named}) == named
    assert find_chromium({"PATH": str(tmp_path), "CHROME_PATH": "mine"}) == named


@pytest.mark.parametrize(
    "name", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
)
def test_the_usual_names_are_searched_on_the_path(tmp_path: Path, name: str) -> None:
    program = make_program(tmp_path, name)
    assert find_chromium({"PATH": str(tmp_path)}) == program
    first = make_program(tmp_path, "chromium")
    assert find_chromium({"PATH": str(tmp_path), "CHROME_PATH": ""}) == first


def test_a_missing_browser_error_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"apt-get install chromium.*CHROME_PATH.*--connect"):
        find_chromium({"PATH": str(tmp_path)})


def test_a_wrong_environment_variable_is_an_error(tmp_path: Path) -> None:
    make_program(tmp_path, "chromium")
    with pytest.raises(UsageError, match="CHROME_PATH is '/no/such/program'"):
        find_chromium({"PATH": str(tmp_path), "CHROME_PATH": "/no/such/program"})
