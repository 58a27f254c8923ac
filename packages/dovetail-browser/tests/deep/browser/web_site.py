"""The site that the tests browse: files of `site` and pages that misbehave, in threads."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.deep.browser.hidden_kinds import HIDDEN, VISIBLE, build_page
from tests.patience import CAP

FOLDER = Path(__file__).with_name("site")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebSite

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: requests are kept by the site."""

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        parts = urlsplit(self.path)
        self.query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("content-length") or 0)
        self.body = self.rfile.read(length)
        self.server.seen.append(self.path)
        route = PAGES.get(parts.path)
        if route is None and parts.path.startswith("/spa"):
            route = PAGES["/spa"]
        with contextlib.suppress(ConnectionError):
            if route is None:
                self.send("<title>Nothing</title><h1>Nothing here</h1>", 404)
            else:
                route(self)

    def send(
        self, body: str | bytes, status: int = 200, kind: str = "text/html", **headers: str
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("content-type", f"{kind}; charset=utf-8")
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    @property
    def cookies(self) -> dict[str, str]:
        pairs = [one.strip().partition("=") for one in self.headers.get("cookie", "").split(";")]
        return {name: value for name, _, value in pairs if name}

    @property
    def other(self) -> str:
        """This site under its other name."""
        port = self.server.server_port
        is_address = self.headers.get("host", "").startswith("127.")
        return f"{'localhost' if is_address else '127.0.0.1'}:{port}"


class WebSite(http.server.ThreadingHTTPServer):
    """The running site."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[str] = []
        self.over = threading.Event()
        # Lets the page /held come.
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def other_url(self) -> str:
        """The same site under another host name."""
        return f"http://localhost:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that hangs up is no error."""


def _file(name: str) -> Callable[[_Handler], None]:
    def route(handler: _Handler) -> None:
        text = (FOLDER / f"{name}.html").read_text("utf-8")
        handler.send(text.replace("{other}", handler.other))

    return route


def _go(handler: _Handler, where: str, **headers: str) -> None:
    handler.send("", 302, location=where, **headers)


def _long(handler: _Handler) -> None:
    count = int(handler.query.get("n", "2000"))
    lines = (
        f"<p>Line {number} of a long text about barrels &amp; rain.</p>" for number in range(count)
    )
    handler.send(f"<title>Long</title><h1>Long</h1>{''.join(lines)}")


def _hostile(handler: _Handler) -> None:
    """Everything long, and of characters that take more room in JSON than on the page."""
    rough = '\\\\"quoted" \u0001\u001f\t<&> \U0001f6e2\ufe0f \ud7ff '
    escaped = rough.replace("&", "&amp;").replace("<", "&lt;")
    buttons = "".join(
        f"<button id='b{number}' aria-label='{escaped.replace(chr(39), '') * 20}{number}'>B{number}"
        f"</button><input name='{'n' * 300}{number}'>"
        for number in range(60)
    )
    handler.send(
        f"<title>{escaped * 100}</title><h1>Hostile</h1><p>{escaped * 800}</p>{buttons}"
        f"<script>for (let i = 0; i < 40; i++) console.log({json.dumps(rough)}.repeat(200), i);"
        f"b1.onclick = () => alert({json.dumps(rough)}.repeat(50));</script>"
    )


def _slow(handler: _Handler) -> None:
    handler.server.over.wait(int(handler.query.get("ms", "0")) / 1000)
    handler.send("<title>Slow</title><h1>Here at last</h1>")


def _held(handler: _Handler) -> None:
    handler.server.released.wait(CAP)
    handler.send("<title>Held</title><h1>Here at last</h1>")


def _late(handler: _Handler) -> None:
    """A page whose script renders what it fetches from the path in the query, once it comes."""
    handler.send(
        "<title>Late</title><main id=app>Loading</main><button onclick=show()>More</button>"
        "<script>const show = () => fetch("
        f"{json.dumps(handler.query['from'])}"
        ").then((one) => one.text()).then((text) => { app.innerHTML = text; });"
        "if (location.search.includes('now')) show();</script>"
    )


def _never(handler: _Handler) -> None:
    handler.server.over.wait(CAP)


def _endless(handler: _Handler) -> None:
    """Headers at once, the first words, and then a drop now and then."""
    handler.send_response(200)
    handler.send_header("content-type", "text/html")
    handler.end_headers()
    handler.wfile.write(b"<title>Endless</title><h1>The beginning</h1>")
    while not handler.server.over.wait(0.2):
        handler.wfile.write(b"<!-- drop -->")


def _huge(handler: _Handler) -> None:
    """500 MB of text."""
    handler.send_response(200)
    handler.send_header("content-type", "text/html")
    handler.send_header("content-length", str(500_000_000))
    handler.end_headers()
    for _ in range(500):
        handler.wfile.write(b"<p>water</p>" * 83_333)


def _broken(handler: _Handler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b"<h1>Half")
    handler.close_connection = True


def _garbage(handler: _Handler) -> None:
    handler.wfile.write(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
    handler.close_connection = True


def _items(handler: _Handler) -> None:
    page = int(handler.query.get("page", "1"))
    time.sleep(0.15)
    handler.send(
        json.dumps([f"Barrel {page}{letter}" for letter in "abc"]), kind="application/json"
    )


def _private(handler: _Handler) -> None:
    if handler.cookies.get("user"):
        _file("private")(handler)
    else:
        _go(handler, "/auth/sso" if "sso" in handler.query else "/login")


def _login(handler: _Handler) -> None:
    if handler.command == "POST":
        given = parse_qs(handler.body.decode())
        if given.get("password") == ["hunter2&more"]:
            _go(handler, "/private", set_cookie="user=ada; Path=/")
            return
    _file("login")(handler)


def _orders(handler: _Handler) -> None:
    """A table with a filter, and the same as CSV; only for those who are logged in."""
    if not handler.cookies.get("user"):
        _go(handler, "/signin")
        return
    rows = [
        (number, ("Oak", "Larch", "Pine")[number % 3], ("open", "sent")[number % 2])
        for number in range(1, 61)
    ]
    if handler.query.get("as") == "csv":
        lines = [",".join(map(str, row)) for row in rows if row[1] == "Larch"]
        handler.send("number,wood,state\n" + "\n".join(lines) + "\n", kind="text/plain")
        return
    table = "".join(f"<tr><td>{number}<td>{wood}<td>{state}</tr>" for number, wood, state in rows)
    handler.send(
        "<title>Orders</title><nav><a href='/'>Home</a><a href='/orders'>Orders</a></nav>"
        "<main><h1>Orders</h1><label>Filter <input oninput='show(this.value)'></label>"
        "<a href='/orders?as=csv'>As CSV</a>"
        f"<table><tr><th>Number<th>Wood<th>State</tr>{table}</table></main>"
        "<script>const show = (text) => {"
        " for (const cell of document.querySelectorAll('td:first-child'))"
        " cell.parentNode.hidden = !cell.parentNode.textContent.includes(text); };</script>"
    )


def _signin(handler: _Handler) -> None:
    if parse_qs(handler.body.decode()).get("password") == ["hunter2&more"]:
        _go(handler, "/orders", set_cookie="user=ada; Path=/")
        return
    handler.send(
        "<title>Sign in</title><form method=post><label>User <input name=user></label>"
        "<label>Password <input name=password type=password></label><button>Sign in</button></form>"
    )


def _manual(handler: _Handler) -> None:
    """A page of documentation: much navigation, little text."""
    page = int(handler.query.get("page", "1"))
    links = "".join(f"<li><a href='/manual?page={at}'>Chapter {at}</a>" for at in range(1, 81))
    text = f"of chapter {page} about barrels and rain."
    handler.send(
        f"<title>Manual {page}</title><nav><ul>{links}</ul></nav><main><h1>Chapter {page}</h1>"
        + "".join(f"<p>Paragraph {at} {text}</p>" for at in range(12))
        + f"<a href='/manual?page={page + 1}'>Next chapter</a></main>"
        + f"<footer>{'Imprint ' * 40}</footer>"
    )


def _submitted(handler: _Handler) -> None:
    fields = []
    for part in handler.body.split(b"\r\n--"):
        head, _, value = part.partition(b"\r\n\r\n")
        if b'name="' in head:
            name = head.partition(b'name="')[2].partition(b'"')[0].decode()
            fields.append(f"<li>{name}={value.decode('utf-8', 'replace')}</li>")
    handler.send(f"<title>Thanks</title><h1>Thanks</h1><ul>{''.join(fields)}</ul>")


def _whoami(handler: _Handler) -> None:
    text = f"<h1>You are {handler.cookies.get('name', 'nobody')}</h1>"
    if "set" in handler.query:
        handler.send(text, set_cookie=f"name={handler.query['set']}; Path=/")
    else:
        handler.send(text)


def _stay(handler: _Handler) -> None:
    """As _whoami, with a cookie that outlives the browser."""
    cookie = f"name={handler.query['set']}; Path=/; Max-Age=3600"
    handler.send(f"<h1>You are {handler.cookies.get('name', 'nobody')}</h1>", set_cookie=cookie)


def _download(handler: _Handler) -> None:
    handler.send(
        "oak,3\n", kind="text/csv", content_disposition='attachment; filename="../stock.csv"'
    )


def _inner(handler: _Handler) -> None:
    who = handler.query.get("who", "nobody")
    handler.send(
        f"<title>Inner</title><p>Words of the {who} frame</p>"
        f"<button onclick=\"this.textContent = 'Pressed {who}'\">Press {who}</button>"
        f"<label>Field {who} <input></label>"
    )


_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cf500f0003860180a5e0f5260000000049454e44ae426082"
)
_PDF = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj "
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)


def _drawn(handler: _Handler) -> None:
    """A form whose real fields are hidden below what is drawn."""
    handler.send(
        "<title>Drawn</title><form>"
        "<label style='cursor:pointer'><input type='checkbox' name='a' style='display:none'"
        " onchange=\"said.textContent = 'agreed ' + this.checked\">I agree</label>"
        "<label>Upload <input type='file' style='display:none'"
        " onchange=\"said.textContent = 'file ' + this.files[0].name\"></label>"
        "</form><p id='said'></p>"
    )


def _script(handler: _Handler) -> None:
    """A page that runs the script in its query."""
    handler.send(f"<title>Script</title><p>Below</p><script>{handler.query['do']}</script>")


def _kinds(handler: _Handler) -> None:
    handler.send(build_page(HIDDEN if handler.query["of"] == "hidden" else VISIBLE))


PAGES: dict[str, Callable[[_Handler], None]] = {
    "/": _file("index"),
    "/news": _file("news"),
    "/shop": _file("shop"),
    "/mouse": _file("mouse"),
    "/form": _file("form"),
    "/spa": _file("spa"),
    "/frames": _file("frames"),
    "/shadow": _file("shadow"),
    "/dialogs": _file("dialogs"),
    "/overlay": _file("overlay"),
    "/log": _file("log"),
    "/auth/sso": _file("sso"),
    "/items": _items,
    "/inner": _inner,
    "/long": _long,
    "/script": _script,
    "/kinds": _kinds,
    "/hostile": _hostile,
    "/slow": _slow,
    "/held": _held,
    "/late": _late,
    "/never": _never,
    "/endless": _endless,
    "/huge": _huge,
    "/broken": _broken,
    "/garbage": _garbage,
    "/private": _private,
    "/login": _login,
    "/enter": lambda handler: _go(handler, "/private", set_cookie="user=sso; Path=/"),
    "/submitted": _submitted,
    "/orders": _orders,
    "/signin": _signin,
    "/manual": _manual,
    "/whoami": _whoami,
    "/stay": _stay,
    "/drawn": _drawn,
    "/plain.txt": lambda handler: handler.send("plain <b>words</b>\n", kind="text/plain"),
    "/data.json": lambda handler: handler.send('{"oak": 3}', kind="application/json"),
    "/dot.png": lambda handler: handler.send(_PNG, kind="image/png"),
    "/paper.pdf": lambda handler: handler.send(_PDF, kind="application/pdf"),
    "/empty": lambda handler: handler.send("", 204),
    "/download": _download,
    "/redirect": lambda handler: _go(handler, handler.query["to"]),
    "/round": lambda handler: _go(handler, "/round?again=1"),
    "/restless": lambda handler: handler.send(
        "<script>location.href = '/restless?' + Math.random()</script>"
    ),
    "/elsewhere": lambda handler: _go(handler, f"http://{handler.other}/"),
}


@contextlib.contextmanager
def serving_site() -> Iterator[WebSite]:
    """The site, on a free port."""
    site = WebSite()
    thread = threading.Thread(
        target=site.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        site.released.set()
        site.shutdown()
        site.server_close()
        thread.join(CAP)
