"""The ready server `browser`: drives a real Chromium, in small answers, without leaks.

`driver` starts the browser and `egress` is its only way out; `page_source`, `cleaning`, the forms
and `snapshots` make a page small; `sessions`, `tabs` and `targets` say what a call means; the tools
are on top.
"""

from dovetail_browser.server import BrowserOptions, build_server

__all__ = ["BrowserOptions", "build_server"]
