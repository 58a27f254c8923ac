"""Detection of login pages and related hosts."""

from __future__ import annotations

import pytest

from dovetail_browser.login import classify, is_login_url, is_same_site


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/login",
        "https://example.org/Login?next=/",
        "https://example.org/signin/v2",
        "https://example.org/sign-in",
        "https://example.org/oauth2/authorize",
        "https://example.org/login.php",
        "https://login.example.org/",
        "https://accounts.example.org/x",
        "https://idp.example.org/saml",
    ],
)
def test_login_pages_are_detected_by_host_and_path(url: str) -> None:
    assert is_login_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://example.org/loginsight",
        "https://example.org/authors",
        "https://example.org/blog/login",
        "https://idea.example.org/",
        "https://mylogin.example.org/",
        "about:blank",
    ],
)
def test_other_pages_are_not_login_pages(url: str) -> None:
    assert not is_login_url(url)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("example.org", "example.org", True),
        ("www.example.org", "example.org", True),
        ("app.example.org", "shop.example.org", True),
        ("app.example.co.uk", "shop.example.co.uk", True),
        ("one.co.uk", "other.co.uk", False),
        ("one.com.au", "other.com.au", False),
        ("one.github.io", "other.github.io", False),
        ("one.org", "other.org", False),
        ("localhost", "localhost", True),
        ("localhost", "127.0.0.1", False),
        ("badexample.org", "example.org", False),
    ],
)
def test_hosts_are_related_below_a_registered_domain_only(one: str, other: str, same: bool) -> None:
    assert is_same_site(one, other) is same and is_same_site(other, one) is same


@pytest.mark.parametrize(
    ("asked", "arrived", "kind"),
    [
        ("https://a.org/x", "https://a.org/y", "none"),
        ("https://a.org/x", "https://b.org/y", "moved"),
        ("https://a.org/x", "https://a.org/login", "login"),
        ("https://a.org/x", "https://login.b.org/", "login"),
        ("https://a.org/login", "https://login.b.org/", "asked_for"),
    ],
)
def test_redirects_are_classified(asked: str, arrived: str, kind: str) -> None:
    assert classify(asked, arrived) == kind
