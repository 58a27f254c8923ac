"""The command line of Chromium in tests that use Playwright."""

from __future__ import annotations

__all__ = ["CHROMIUM_FLAGS"]

_FEATURES_OFF = (
    # The list below the address bar is a page of its own in every window: two thirds of the CPU
    # time of a page in a test.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
    # Chromium uses the last list of features only, so Playwright's own list is repeated.
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", f"--disable-features={','.join(_FEATURES_OFF)}"]
