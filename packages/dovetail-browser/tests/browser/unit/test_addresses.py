"""Address rules: all notations of a host, and --allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import UsageError
from dovetail_browser.addresses import AddressRules, Destination

# Host of a URL -> text that the reason must contain.
REFUSED: list[tuple[str, str]] = [
    # loopback, in every notation
    ("127.0.0.1", "loopback"),
    ("127.0.0.2", "loopback"),
    ("127.255.255.254", "loopback"),
    ("127.1", "loopback"),
    ("127.0.1", "loopback"),
    ("2130706433", "loopback"),
    ("0x7f000001", "loopback"),
    ("0x7f.0.0.1", "loopback"),
    ("0X7F.1", "loopback"),
    ("0177.0.0.1", "loopback"),
    ("017700000001", "loopback"),
    ("0177.0x0.1", "loopback"),
    ("00000177.1", "loopback"),
    ("127.0.0.1.", "loopback"),
    ("%31%32%37.0.0.1", "loopback"),
    ("127%2E0%2e0.1", "loopback"),
    ("①②⑦.⓪.⓪.①", "loopback"),
    ("\uff11\uff12\uff17\uff0e\uff10\uff0e\uff10\uff0e\uff11", "loopback"),
    ("127。0。0。1", "loopback"),
    ("127｡0｡0｡1", "loopback"),
    ("[::1]", "loopback"),
    ("[0:0:0:0:0:0:0:1]", "loopback"),
    ("[0000::0001]", "loopback"),
    # names of this machine and its network
    ("localhost", "this machine"),
    ("LOCALHOST", "this machine"),
    ("localhost.", "this machine"),
    ("a.localhost", "this machine"),
    ("x.y.localhost.", "this machine"),
    ("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "this machine"),
    ("\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54", "this machine"),
    ("local%68ost", "this machine"),
    ("local\u00adhost", "this machine"),
    ("printer.local", "this machine"),
    ("metadata.google.internal", "this machine"),
    ("a.internal.", "this machine"),
    ("host.docker.internal", "this machine"),
    ("kubernetes.default.svc.cluster.local", "this machine"),
    ("localhost.localdomain", "this machine"),
    ("router.home.arpa", "this machine"),
    ("box.lan", "this machine"),
    # the unspecified address and this network
    ("0", "unspecified"),
    ("0.0.0.0", "unspecified"),
    ("0x0", "unspecified"),
    ("0x", "unspecified"),
    ("000000000000", "unspecified"),
    ("[::]", "unspecified"),
    ("0.1.2.3", "this network"),
    # private
    ("10.0.0.1", "private"),
    ("10.255.255.255", "private"),
    ("10.1", "private"),
    ("167772161", "private"),
    ("012.0.0.1", "private"),
    ("0xa.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.0.1", "private"),
    ("192.168.257", "private"),
    ("3232235521", "private"),
    ("0xC0A80001", "private"),
    ("0300.0250.0.1", "private"),
    ("[fc00::1]", "private"),
    ("[fd12:3456:789a::1]", "private"),
    # CGNAT, link-local, site-local
    ("100.64.0.1", "CGNAT"),
    ("100.127.255.255", "CGNAT"),
    ("169.254.0.1", "link-local"),
    ("[fe80::1]", "link-local"),
    ("[febf::1]", "link-local"),
    ("[fec0::1]", "site-local"),
    # cloud metadata services
    ("169.254.169.254", "metadata"),
    ("2852039166", "metadata"),
    ("0xa9fea9fe", "metadata"),
    ("0251.0376.0251.0376", "metadata"),
    ("169.254.43518", "metadata"),
    ("169.254.170.2", "metadata"),
    ("100.100.100.200", "metadata"),
    ("168.63.129.16", "metadata"),
    ("192.0.0.192", "metadata"),
    ("[fd00:ec2::254]", "metadata"),
    ("[fd20:ce::254]", "metadata"),
    ("[::ffff:169.254.169.254]", "metadata"),
    ("[::ffff:a9fe:a9fe]", "metadata"),
    ("[64:ff9b::169.254.169.254]", "metadata"),
    # multicast, broadcast, reserved, documentation, benchmarks
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("[ff02::1]", "multicast"),
    ("255.255.255.255", "broadcast"),
    ("4294967295", "broadcast"),
    ("240.0.0.1", "reserved"),
    ("192.0.0.1", "reserved"),
    ("192.88.99.1", "reserved"),
    ("192.0.2.1", "documentation"),
    ("198.51.100.1", "documentation"),
    ("203.0.113.1", "documentation"),
    ("198.18.0.1", "benchmarking"),
    ("198.19.255.255", "benchmarking"),
    ("[2001:db8::1]", "documentation"),
    ("[3fff::1]", "documentation"),
    ("[2001:2::1]", "reserved"),
    ("[100::1]", "reserved"),
    ("[4000::1]", "reserved"),
    ("[5f00::1]", "reserved"),
    ("[64:ff9b:1::1]", "reserved"),
    # IPv4 inside IPv6
    ("[::ffff:127.0.0.1]", "loopback"),
    ("[::ffff:7f00:1]", "loopback"),
    ("[0:0:0:0:0:ffff:127.0.0.1]", "loopback"),
    ("[::ffff:10.0.0.1]", "private"),
    ("[::ffff:0.0.0.0]", "unspecified"),
    ("[::127.0.0.1]", "loopback"),
    ("[::10.0.0.1]", "private"),
    ("[::8.8.8.8]", "reserved"),
    ("[::ffff:0:127.0.0.1]", "loopback"),
    ("[64:ff9b::127.0.0.1]", "loopback"),
    ("[64:ff9b::a00:1]", "private"),
    ("[2002:7f00:1::]", "loopback"),
    ("[2002:a00:1::1]", "private"),
    ("[2002:c0a8:101::1]", "private"),
    ("[2001:0:7f00:1::]", "loopback"),
    ("[2001:0:808:808:0:0:f5ff:fffe]", "private"),
    ("[2001:0:808:808:0:0:f7f7:f7f7]", "reserved"),
    ("[2606:4700::5efe:10.0.0.1]", "private"),
    ("[2606:4700::200:5efe:127.0.0.1]", "loopback"),
    ("[fe80::5efe:8.8.8.8]", "link-local"),
    # invalid hosts
    ("[fe80::1%eth0]", "not a valid host name"),
    ("[fe80::1%25eth0]", "not a valid host name"),
    ("[::1%lo]", "not a valid host name"),
    ("256.1.1.1", "not a valid host name"),
    ("1.2.3.4.5", "not a valid host name"),
    ("1.2.3.256", "not a valid host name"),
    ("4294967296", "not a valid host name"),
    ("127.0.0.08", "not a valid host name"),
    ("127.0.0.0x100", "not a valid host name"),
    ("a..b", "not a valid host name"),
    (".", "not a valid host name"),
    ("..", "not a valid host name"),
    ("a..", "not a valid host name"),
    ("-a.example", "not a valid host name"),
    ("a b.example", "white space"),
    ("a%20b.example", "not a valid host name"),
    ("a%00.example", "not a valid host name"),
    ("exa%2fmple.com", "not a valid host name"),
    ("a\\@b.example", "backslashes"),
    ("x" * 64 + ".example", "not a valid host name"),
    ("user@example.com", "user name or password"),
    ("user:secret@example.com", "user name or password"),
    ("@example.com", "user name or password"),
    ("example.com:0", "not a valid port"),
    ("example.com:65536", "cannot be parsed"),
    ("example.com:x", "cannot be parsed"),
    ("", "has no host"),
]

PUBLIC = [
    "example.com",
    "EXAMPLE.com.",
    "münchen.example",
    "xn--mnchen-3ya.example",
    "a_b.example",
    "localhost.example",
    "notlocal",
    "internal.example",
    "8.8.8.8",
    "134744072",
    "0x08080808",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "192.167.1.1",
    "198.17.0.1",
    "223.255.255.255",
    "169.253.1.1",
    "[2606:4700:4700::1111]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::8.8.8.8]",
    "[2002:808:808::1]",
    "1.1.1.1.example",
]


@pytest.mark.parametrize(("host", "word"), REFUSED)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_non_public_hosts_are_refused_in_every_notation(scheme: str, host: str, word: str) -> None:
    said = AddressRules().parse_url(f"{scheme}://{host}/path?query")
    assert isinstance(said, str) and word in said, said


@pytest.mark.parametrize("host", PUBLIC)
def test_public_hosts_are_allowed(host: str) -> None:
    destination = AddressRules().parse_url(f"https://{host}/")
    assert isinstance(destination, Destination), destination
    assert destination.port == 443


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "ftp://example.com/",
        "chrome://settings",
        "view-source:http://example.com",
        "javascript:alert(1)",
        "data:text/html,x",
        "blob:http://example.com/x",
        "about:blank",
        "devtools://devtools/bundled/x",
        "ws://example.com",
        "gopher://example.com",
        "//example.com",
        "example.com",
        "http:example.com",
        "http:///example.com",
        "",
        " ",
        "http://exa\nmple.com/",
        "ht\ttp://example.com/",
        "http://example.com\\@127.0.0.1/",
        "http://[::1",
        "http://[not an address]/",
    ],
)
def test_only_absolute_http_urls_are_accepted(url: str) -> None:
    assert isinstance(AddressRules().parse_url(url), str)


def test_a_refusal_never_repeats_a_password() -> None:
    for url in (
        "http://me:hunter2@example.com/",
        "ftp://me:hunter2@a/",
        "http://me:hunter2@a:x/",
        "http://me:hunter2@[::1",
        "http://me:hunter2@a\\b",
    ):
        said = AddressRules().parse_url(url)
        assert isinstance(said, str) and "hunter2" not in said, said


@pytest.mark.parametrize(
    ("allow", "url", "is_open"),
    [
        ("localhost", "http://localhost/", True),
        ("localhost", "http://localhost:8000/", True),
        ("localhost", "http://LOCALHOST./", True),
        ("localhost", "http://a.localhost/", False),
        ("localhost", "http://127.0.0.1/", False),
        ("localhost:8000", "http://localhost:8000/", True),
        ("localhost:8000", "http://localhost:8001/", False),
        ("localhost:80", "http://localhost/", True),
        ("localhost:443", "https://localhost/", True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/", True),
        ("127.0.0.1:8000", "http://127.1:8000/", True),
        ("127.0.0.1:8000", "http://127.0.0.1/", False),
        ("127.0.0.1:8000", "http://127.0.0.2:8000/", False),
        ("127.0.0.1", "http://127.0.0.1:1234/", True),
        ("127.1", "http://127.0.0.1/", True),
        ("10.0.0.0/8", "http://10.20.30.40/", True),
        ("10.0.0.0/8", "http://11.0.0.1/", True),
        ("10.0.0.0/8", "http://192.168.0.1/", False),
        ("10.0.0.0/8", "http://[::ffff:10.0.0.1]/", False),
        ("::1", "http://[::1]/", True),
        ("[::1]:8000", "http://[::1]:8000/", True),
        ("[::1]:8000", "http://[::1]:8001/", False),
        ("[::1]", "http://[::1]:9/", True),
        ("fd00::/8", "http://[fd00::1]/", True),
        ("fd00::/8", "http://10.0.0.1/", False),
        ("*.corp.internal", "http://wiki.corp.internal/", True),
        ("*.corp.internal", "http://a.b.corp.internal./", True),
        ("*.corp.internal", "http://corp.internal/", False),
        ("*.corp.internal", "http://evilcorp.internal/", False),
        ("*.corp.internal:8080", "http://wiki.corp.internal/", False),
        ("*.corp.internal:8080", "http://wiki.corp.internal:8080/", True),
        ("WIKI.internal", "http://wiki.internal/", True),
        ("bücher.internal", "http://xn--bcher-kva.internal/", True),
    ],
)
def test_allow_rules_allow_only_what_they_name(allow: str, url: str, is_open: bool) -> None:
    said = AddressRules((allow,)).parse_url(url)
    assert isinstance(said, Destination) is is_open, said


@pytest.mark.parametrize(
    "allow",
    [
        "",
        " ",
        "*",
        "*.",
        "http://example.com",
        "a b",
        "10.0.0.0/33",
        "10.0.0.1/8",
        "host:0",
        "host:99999",
        "host:x",
        "*.10.0.0.1",
        "[::1",
        "a..b",
        "user@host",
    ],
)
def test_an_invalid_allow_value_is_explained(allow: str) -> None:
    with pytest.raises(UsageError, match="--allow"):
        AddressRules((allow,))


def test_resolved_addresses_are_checked_by_the_same_table() -> None:
    rules = AddressRules()
    destination = Destination("evil.example", 80)
    assert rules.check_address(destination, "93.184.216.34") is None
    assert rules.check_address(destination, "2606:4700::1") is None
    for address in ("127.0.0.1", "::1", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0", "0.0.0.0"):
        said = rules.check_address(destination, address)
        assert said is not None and said.startswith("evil.example resolves to"), address
    assert "not an IP address" in str(rules.check_address(destination, "nonsense"))


def test_an_allowed_network_does_not_allow_names_that_resolve_into_it() -> None:
    rules = AddressRules(("127.0.0.1", "10.0.0.0/8"))
    assert rules.check_address(Destination("evil.example", 80), "127.0.0.1") is not None
    assert rules.check_address(Destination("evil.example", 80), "10.0.0.1") is not None
    named = AddressRules(("wiki.example",))
    assert named.check_address(Destination("wiki.example", 80), "10.0.0.1") is None
    assert named.check_address(Destination("evil.example", 80), "10.0.0.1") is not None


def test_a_refusal_says_how_to_allow_it() -> None:
    said = AddressRules().parse_url("http://10.0.0.1/")
    assert said == (
        "10.0.0.1 is a private address; the operator can allow it by starting the server with "
        "--allow 10.0.0.1"
    )


@given(st.text(max_size=60))
def test_parse_url_never_raises(text: str) -> None:
    assert isinstance(AddressRules().parse_url(f"http://{text}"), str | Destination)
