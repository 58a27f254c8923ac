from __future__ import annotations

from dovetail_browser.chromium_flags import Launch, list_flags


def test_all_traffic_uses_the_proxy_also_to_loopback() -> None:
    flags = list_flags(Launch(profile="/p", proxy="127.0.0.1:1234"))
    assert "--proxy-server=http://127.0.0.1:1234" in flags
    assert "--proxy-bypass-list=<-loopback>" in flags
    assert "--disable-quic" in flags
    assert "--webrtc-ip-handling-policy=disable_non_proxied_udp" in flags
    assert not [flag for flag in flags if flag.startswith("--remote-debugging-port")]


def test_the_sandbox_is_disabled_on_request_only() -> None:
    assert "--no-sandbox" not in list_flags(Launch(profile="/p", proxy="x"))
    assert "--no-sandbox" in list_flags(Launch(profile="/p", proxy="x", sandbox=False))


def test_no_flag_is_given_twice() -> None:
    flags = list_flags(Launch(profile="/p", proxy="x", headless=True, sandbox=False))
    names = [flag.partition("=")[0] for flag in flags]
    assert len(names) == len(set(names))


def test_only_the_headless_flags_depend_on_the_window() -> None:
    shown = set(list_flags(Launch(profile="/p", proxy="x", headless=False)))
    hidden = set(list_flags(Launch(profile="/p", proxy="x", headless=True)))
    assert shown < hidden and "--headless=new" in hidden - shown
