"""`server.run()`: serve a server from its own file."""

from __future__ import annotations

from typing import Any

from dovetail.server import HttpAppOptions, Server

__all__ = ["run"]


def run(server: Server, http: int | str | None, path: str, options: HttpAppOptions) -> int:
    """Serve until the client leaves or a signal arrives; returns the exit code."""
    if http is None:
        from dovetail.cli.run_stdio import run_server  # noqa: PLC0415 - HTTP does not need it

        return run_server(server)
    from dovetail.cli.run_http import HttpSettings, parse_address, run_server_http  # noqa: PLC0415 - uvicorn

    host, port = parse_address(str(http))
    settings: dict[str, Any] = {
        "allow_hosts": options.get("allowed_hosts") or (),
        "allow_origins": options.get("allowed_origins", ()),
        "stateless": options.get("stateless", False),
        # A program that serves itself decides: `server.http_app(console=True)`.
        "console": False,
    }
    run = HttpSettings(host=host, port=port, path=path, **settings)
    return run_server_http(lambda: (server, server.http_app(path, **options)), run)
