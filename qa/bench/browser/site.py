"""The site that both browse: a shop with many products, and a page for each that reckons."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

__all__ = ["PRODUCTS", "serve_site"]

PRODUCTS = 400

_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font-family:sans-serif;margin:0}}nav a{{margin:4px}}.card{{display:inline-block;
width:220px;padding:12px;border:1px solid #ddd}}.badge{{color:#a00}}{padding}</style>
<script>window.settings = {{"theme": "plain", "experiments": [{numbers}]}};</script></head><body>
<nav aria-label="Main"><a href="/">Start</a><a href="/offers">Offers</a><a href="/help">Help</a>
<a href="/account">Account</a><a href="/basket">Basket</a></nav><main><h1>{title}</h1>"""
_FOOT = """</main><footer><p>A shop that exists for a benchmark.</p><a href="/imprint">Imprint</a>
</footer></body></html>"""
_RECKON = """<form><label>Quantity <input id="quantity" name="quantity" type="text"></label>
<label>Note <textarea name="note"></textarea></label><button type="button">Order</button></form>
<p id="total" role="status">Total: 0</p><script>
document.getElementById("quantity").addEventListener("input", event => {{
  document.getElementById("total").textContent = "Total: " + Number(event.target.value) * {price};
}});</script>"""


def _head(title: str) -> str:
    padding = "".join(f".u{number}{{margin:{number}px}}" for number in range(200))
    numbers = ",".join(str(number) for number in range(500))
    return _HEAD.format(title=title, padding=padding, numbers=numbers)


def _shop() -> str:
    cards = [
        f'<div class="card u{number % 200}" data-index="{number}"><h2><a href="/product/{number}">'
        f"Product {number:03}</a></h2><p>Made of oak and steel, size {number % 7}, "
        f'<span class="badge">in stock</span>.</p><p>Price: {number + 10} <small>with taxes'
        f'</small></p><button type="button" class="u3">Remember {number:03}</button></div>'
        for number in range(PRODUCTS)
    ]
    return _head("All products") + "".join(cards) + _FOOT


def _product(number: int) -> str:
    about = "<p>It lasts for years, and can be mended by anybody with two tools.</p>" * 5
    return _head(f"Product {number:03}") + about + _RECKON.format(price=number + 10) + _FOOT


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    shop = _shop().encode()

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        """The shop, a product, or nothing."""
        name, _, number = self.path.strip("/").partition("/")
        found = name in ("", "product")
        body = self.shop if name != "product" else _product(int(number)).encode()
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body) if found else 0))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body if found else b"")


@contextlib.contextmanager
def serve_site() -> Iterator[str]:
    """The address of the running site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
