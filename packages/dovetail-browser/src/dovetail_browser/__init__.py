"""The `browser` server: drives Chromium and returns pages as short text.

`driver` starts the browser and `egress` is the proxy for all its traffic. `page_source`,
`html_cleaner`, `text_renderer` and `snapshots` reduce a page to text. `sessions`, `tabs` and
`targets` find the session, tab and element of a call. The `*_tools` modules define the tools.
"""

from dovetail_browser.server import BrowserOptions, build_server

__all__ = ["BrowserOptions", "build_server"]
