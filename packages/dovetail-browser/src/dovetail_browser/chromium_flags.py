"""Chromium's command line flags: no background activity, automation, all traffic by the proxy.

Playwright's default flags are not used, because they also set the profile and the pipe. This
list repeats those for automation and adds those that keep all traffic inside the proxy.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Launch", "list_flags"]

# No background activity: no first run, updates, reports or sync.
_QUIET = (
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-pings",
    "--metrics-recording-only",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--password-store=basic",
    "--use-mock-keychain",
)

# Pages in the background are not throttled, and nothing waits for user input.
_AUTOMATED = (
    "--allow-pre-commit-input",
    "--deny-permission-prompts",
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-dev-shm-usage",
    "--disable-hang-monitor",
    "--disable-infobars",
    "--disable-ipc-flooding-protection",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-renderer-backgrounding",
    "--enable-unsafe-swiftshader",
    "--force-color-profile=srgb",
    "--mute-audio",
    "--noerrdialogs",
    "--unsafely-disable-devtools-self-xss-warnings",
)

_HEADLESS = (
    "--headless=new",
    "--hide-scrollbars",
    # Report a mouse, so that pages do not serve a touch layout.
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,"
    "primaryPointerType=4,availablePointerTypes=4",
)

# Disable traffic that would bypass the proxy: UDP, and name resolution by the browser.
_CONFINED = (
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    # By default Chromium bypasses the proxy for loopback addresses, which must be refused.
    "--proxy-bypass-list=<-loopback>",
)

_FEATURES_OFF = (
    "AimEnabled",
    "AutofillServerCommunication",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "CertificateTransparencyComponentUpdater",
    "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "Translate",
    # The list below the address bar is a page of its own in every window. It is never shown here,
    # and takes more than half of the CPU time of a start.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
_FEATURES_ON = ("CDPScreenshotNewSurface", "SkipListAccountsWithoutGaiaCookies")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Options that differ between launches."""

    profile: str
    # HOST:PORT of the proxy for all traffic.
    proxy: str
    headless: bool = True
    sandbox: bool = True


def list_flags(launch: Launch) -> list[str]:
    """Return the command line arguments, without the program."""
    return [
        *_QUIET,
        *_AUTOMATED,
        *_CONFINED,
        *(_HEADLESS if launch.headless else ()),
        *(() if launch.sandbox else ("--no-sandbox",)),
        f"--disable-features={','.join(_FEATURES_OFF)}",
        f"--enable-features={','.join(_FEATURES_ON)}",
        f"--proxy-server=http://{launch.proxy}",
        f"--user-data-dir={launch.profile}",
        "--remote-debugging-pipe",
        "--no-startup-window",
    ]
