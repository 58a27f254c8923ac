"""`server.run()`: serve a server from its own file."""

from __future__ import annotations

from dovetail.server import HttpAppOptions, Server

__all__ = ["run"]


def run(server: Server, http: int | str | None, path: str, options: HttpAppOptions) -> int:
    """Serve until the client leaves or a signal arrives; returns the exit code."""
    if http is None:
        from dovetail.cli.run_stdio import run_server  # noqa: PLC0415 - HTTP does not need it

        return run_server(server)
    from dovetail.cli.run_http import run_server_http  # noqa: PLC0415 - uvicorn
    from dovetail.cli.settings import HttpSettings, parse_address  # noqa: PLC0415 - only for HTTP

    host, port = parse_address(str(http))
    # A program that serves itself decides: `server.http_app(console=True)`.
    run = HttpSettings(host=host, port=port, path=path, app=options, console=False)
    return run_server_http(lambda: (server, server.http_app(path, **options)), run)
