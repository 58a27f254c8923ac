"""Results contain no secrets, and file access is limited to one folder."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deep.browser.driving import BrowserHarness, data_of, desk

PASSWORD = "hunter2&more"
FORMS = ("html", "markdown", "text", "snapshot")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("folder")
    (made / "plan.txt").write_text("three barrels")
    return made


@pytest.fixture(scope="module")
def browser(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserHarness]:
    secrets = tmp_path_factory.mktemp("secrets") / "secrets.env"
    secrets.write_text(f"# of the site\nSHOP={PASSWORD}\nFAR@localhost=only for localhost\n")
    options = ["--secrets", str(secrets), "--folder", str(folder), "--enable-scripts"]
    environment = {**os.environ, "DOVETAIL_SECRET_PIN": "8642-pin"}
    with desk(*options, env=environment) as opened:
        yield opened


def test_a_typed_secret_is_in_no_format_of_the_page(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    # A field that is no password field, on a page that repeats what is typed.
    typed = browser.call("type_text", label="A note for us", secret="SHOP")
    assert data_of(typed)["message"].startswith("Typed secret SHOP into")
    browser.good("type_text", selector="#name", secret="PIN", returnHtml=False)
    texts = [typed.text, str(typed.data)]
    for form in FORMS:
        read = browser.call("get_current_html", format=form)
        texts += [read.text, str(read.data)]
    raw = browser.call("get_current_html", removeUnnecessaryHTML=False)
    texts += [raw.text, str(raw.data)]
    snapshot = browser.call("page_snapshot")
    texts += [snapshot.text, str(snapshot.data)]
    for text in texts:
        assert "hunter2" not in text and "8642" not in text
    assert any("You wrote [secret SHOP]" in text for text in texts)


def test_a_typed_secret_that_the_page_encodes_is_hidden(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    browser.good("type_text", label="A note for us", secret="SHOP", returnHtml=False)
    shown = [
        "[...note].reverse().join('')",
        "btoa(note)",
        "btoa('The password is ' + note)",
        "[...note].map((one) => one.charCodeAt(0).toString(16)).join('')",
        "encodeURIComponent(encodeURIComponent(note))",
    ]
    browser.good(
        "evaluate_script",
        expression="() => { const note = document.querySelector('[name=note]').value;"
        f"for (const one of [{', '.join(shown)}])"
        " document.body.append(Object.assign(document.createElement('p'), {textContent: one})); }",
    )
    data = PASSWORD.encode()
    for form in FORMS:
        text = browser.call("get_current_html", format=form).text
        assert text.count("[secret") >= len(shown)
        for value in (PASSWORD[::-1], b64encode(data).decode()[:-4], data.hex(), "hunter2"):
            assert value not in text


def test_a_secret_stays_out_of_urls_logs_scripts_and_errors(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    browser.good("type_text", label="A note for us", secret="SHOP", returnHtml=False)
    note = "document.querySelector('[name=note]').value"
    run = browser.call("evaluate_script", expression=f"console.log({note}), {note}")
    failed = browser.call("evaluate_script", expression=f"throw new Error({note})")
    gone = browser.call(
        "evaluate_script", expression=f"location.href = '/?q=' + encodeURIComponent({note}), 1"
    )
    browser.good("wait_for", pageUrl="?q=")
    logs = [browser.call("get_page_log", kind=kind) for kind in ("console", "network")]
    tabs = browser.call("manage_tabs", action="list")
    for result in (run, failed, gone, *logs, tabs):
        assert "hunter2" not in result.text and "hunter2" not in str(result.data)
    assert "[secret SHOP]" in run.text
    assert "[secret SHOP]" in tabs.text
    assert "hunter2" not in browser.run(browser.client.read("browser://tabs")).text


def test_the_value_of_a_password_field_is_never_returned(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    browser.good("type_text", label="Password", text="plain words", returnHtml=False)
    for form in FORMS:
        assert "plain words" not in browser.call("get_current_html", format=form).text


def test_logging_in_with_a_secret(browser: BrowserHarness) -> None:
    page = browser.fetch("/private", format="text")
    assert page["loginRequired"] and "secret" in page["nextSteps"][0]
    done = browser.good(
        "fill_form",
        fields=[{"label": "User", "value": "ada"}, {"label": "Password", "secret": "SHOP"}],
        submit=True,
        format="text",
    )
    assert "Your orders are on their way" in done["content"]
    assert "loginRequired" not in browser.fetch("/private")


def test_a_secret_of_one_host_is_not_typed_at_another_nor_into_its_frames(
    browser: BrowserHarness,
) -> None:
    browser.fetch("/frames")
    field = {"label": "Field near", "secret": "FAR"}
    refused = browser.call("fill_form", fields=[field])
    assert refused.is_error and "for localhost only" in refused.text
    assert "for localhost only" in browser.refused("type_text", label="Field near", secret="FAR")
    browser.good("type_text", label="Field far", secret="FAR", returnHtml=False)
    values = browser.good(
        "evaluate_script", expression="near.contentDocument.querySelector('input').value"
    )
    assert values["content"] == '""'


def test_an_unknown_secret_lists_the_known_names(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    text = browser.refused("type_text", selector="#name", secret="NOPE")
    assert "the secrets are: FAR, PIN, SHOP" in text and "DOVETAIL_SECRET_NOPE" in text
    assert "one of `text` and `secret`" in browser.refused("type_text", selector="#name")


def test_pages_and_screenshots_are_saved_in_the_folder_without_replacing_files(
    browser: BrowserHarness, folder: Path
) -> None:
    browser.fetch("/")
    saved = browser.good("get_current_html", format="markdown", saveTo="pages/barrels.md")
    assert saved["savedTo"] == "pages/barrels.md" and "content" not in saved
    assert "# Rain barrels" in (folder / "pages/barrels.md").read_text()
    assert "already" in browser.refused("get_current_html", saveTo="pages/barrels.md")
    browser.good("take_screenshot", saveTo="barrels.png", format="png")
    assert (folder / "barrels.png").read_bytes().startswith(b"\x89PNG")
    browser.good("take_screenshot", saveTo="barrels.pdf", format="pdf")
    assert (folder / "barrels.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", ["../out.md", "/var/out.md", "a/../../out.md", "link/out.md", "."])
def test_nothing_is_written_outside_the_folder(
    browser: BrowserHarness, folder: Path, name: str
) -> None:
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to(folder.parent)
    browser.fetch("/")
    text = browser.refused("get_current_html", saveTo=name)
    assert "outside the folder" in text or "not a regular file" in text
    assert not (folder.parent / "out.md").exists()


def test_downloads_land_in_the_folder_under_a_safe_name(
    browser: BrowserHarness, folder: Path
) -> None:
    page = browser.fetch("/download")
    [name] = page["downloads"]
    assert (folder / name).read_text() == "oak,3\n" and "/" not in name
    assert "html" not in page


def test_uploads_come_from_the_folder_only(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    done = browser.good(
        "fill_form",
        fields=[{"label": "Drawing", "files": ["plan.txt"]}],
        submit=True,
        format="text",
    )
    assert "three barrels" in done["content"]
    browser.fetch("/form")
    failed = browser.call("fill_form", fields=[{"label": "Drawing", "files": ["/etc/passwd"]}])
    assert failed.is_error and "outside the folder" in failed.text
    failed = browser.call("fill_form", fields=[{"label": "Drawing", "files": ["nope.txt"]}])
    assert "plan.txt" in failed.text
