"""A page is read when it has settled, and results say what was still pending."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.browser.official import OfficialClient
from tests.patience import CAP

# The wait of the first version, which took what was there after a second.
_LONGER_THAN_BEFORE = 1.3


@pytest.fixture(scope="module")
def patient() -> Iterator[OfficialClient]:
    with OfficialClient("--settle", "60") as opened:
        yield opened


@pytest.fixture(scope="module")
def hasty() -> Iterator[OfficialClient]:
    with OfficialClient("--settle", "0.5") as opened:
        yield opened


async def release_when_asked(client: OfficialClient) -> None:
    """Let the held response go some time after the page has asked for it."""
    async with asyncio.timeout(CAP):
        while "/held" not in client.site.seen:
            await asyncio.sleep(0.01)
    await asyncio.sleep(_LONGER_THAN_BEFORE)
    client.site.released.set()


def test_a_page_is_read_when_its_slow_request_has_ended(patient: OfficialClient) -> None:
    async def run() -> str:
        patient.site.released.clear()
        patient.site.seen.clear()
        url = patient.url("/late?now&from=/held")
        page, _ = await asyncio.gather(
            patient.ask("fetch_webpage", url=url, format="text"), release_when_asked(patient)
        )
        assert page.structured_content is not None and "pending" not in page.structured_content
        return str(page.structured_content["content"])

    assert "Here at last" in patient.run(run())


def test_the_effect_of_a_click_is_read_when_its_slow_request_has_ended(
    patient: OfficialClient,
) -> None:
    patient.good("fetch_webpage", url=patient.url("/late?from=/held"))

    async def run() -> str:
        patient.site.released.clear()
        patient.site.seen.clear()
        page, _ = await asyncio.gather(
            patient.ask("click_element", text="More", format="text"), release_when_asked(patient)
        )
        assert page.structured_content is not None
        return str(page.structured_content["content"])

    assert "Here at last" in patient.run(run())


def test_a_request_that_does_not_end_is_reported_once(hasty: OfficialClient) -> None:
    page = hasty.good("fetch_webpage", url=hasty.url("/late?now&from=/never"), format="text")
    assert page["pending"][0].startswith(f"GET {hasty.url('/never')} (fetch, ")
    assert "Loading" in page["content"]
    assert page["nextSteps"][0].startswith("wait_for with `text`, `selector` or `networkIdle`")
    # The next action does not wait for the same request.
    after = hasty.good("interact", action="scroll", deltaY=10)
    assert "/never" not in str(after.get("pending"))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("setInterval(() => document.body.append('.'), 5)", "the document was still changing"),
        ("document.body.ariaBusy = 'true'", "an element was marked as busy (aria-busy)"),
    ],
)
def test_a_document_that_does_not_settle_is_reported(
    hasty: OfficialClient, script: str, expected: str
) -> None:
    page = hasty.good("fetch_webpage", url=hasty.url(f"/script?do={quote(script)}"))
    # On a slow machine, the page does not respond in time.
    assert page["pending"][-1] in (expected, "the scripts of the page did not respond")


def test_a_given_pause_reports_what_is_pending(hasty: OfficialClient) -> None:
    url = hasty.url("/late?now&from=/never")
    page = hasty.good("fetch_webpage", url=url, postLoadWait=300)
    assert [one for one in page["pending"] if "/never" in one]


def test_a_page_that_is_idle_reports_nothing(patient: OfficialClient) -> None:
    assert "pending" not in patient.good("fetch_webpage", url=patient.url("/"))
