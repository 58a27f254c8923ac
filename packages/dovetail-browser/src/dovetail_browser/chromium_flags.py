"""The command line of Chromium: quiet, automated, and with one way out to the network.

Playwright's own list is not used (it would also name the profile and the pipe for us); this one
repeats what of it concerns automation and adds what keeps traffic inside the proxy.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Launch", "list_flags"]

# Nothing that the page did not ask for: no first run, no updates, no reports, no sync.
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

# Pages run the same whether anybody looks at them or not, and nothing waits for a person.
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
    # A mouse, so that pages do not think of a touch screen.
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,"
    "primaryPointerType=4,availablePointerTypes=4",
)

# Whatever could leave without the proxy: UDP, names looked up by the browser itself.
_CONFINED = (
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    # Loopback is not exempt: it is the first thing that must be refused.
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
)
_FEATURES_ON = ("CDPScreenshotNewSurface", "SkipListAccountsWithoutGaiaCookies")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What differs from one start to another."""

    profile: str
    # HOST:PORT of the proxy through which everything goes.
    proxy: str
    headless: bool = True
    sandbox: bool = True


def list_flags(launch: Launch) -> list[str]:
    """The arguments, without the program."""
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
