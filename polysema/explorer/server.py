"""The explorer run: on the command line until Ctrl-C, in a notebook in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from polysema.errors import InputError, needing
from polysema.explorer.listing import Model
from polysema.explorer.web import Guard, application
from polysema.lexicon.formats import load

with needing("the explorer", "explore"):
    import uvicorn
    from threadpoolctl import threadpool_limits
    from uvicorn.protocols.http.h11_impl import H11Protocol

PORT = 8765
CONNECTIONS = 512
"""Open at once; one more is answered 503."""
PATIENCE = 45.0
"""Seconds after which a connection on which nothing was asked or taken is closed."""


def serve(
    app: Guard, host: str = "127.0.0.1", port: int = PORT, ready: Callable[[str], None] = lambda url: None
) -> None:
    """Answer until Ctrl-C.

    Args:
        port: 0 takes any that is free.
        ready: is told the address once the server listens.
    """
    listening = _listening(host, port)
    server = _server(app)
    url = _url(listening, app.pages.prefix)

    async def main() -> None:
        serving = asyncio.create_task(server.serve([listening]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        _warm(app)
        ready(url)
        await serving

    try:
        with contextlib.suppress(KeyboardInterrupt), threadpool_limits(1, "blas"):  # the server's threads are enough
            asyncio.run(main())
    finally:
        app.pages.work.close()
        listening.close()


class Connection(H11Protocol):
    """A connection that is given up when its client sends, or takes, nothing for long."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open."""
        super().connection_made(transport)
        self._seen: object = None
        self._check = self.loop.call_later(PATIENCE, self._checked)

    def _checked(self) -> None:
        if self._seen is self.cycle:  # no request since the last look
            self.transport.abort()
        else:
            self._seen, self._check = self.cycle, self.loop.call_later(PATIENCE, self._checked)

    def connection_lost(self, exc: Exception | None) -> None:
        """Closed."""
        self._check.cancel()
        super().connection_lost(exc)


class Explorer:
    """An explorer that runs in the background; in a notebook it shows itself in a frame.

    Attributes:
        url: where it is.
    """

    def __init__(self, app: Guard, port: int = 0, height: int = 720) -> None:
        self.height = height
        self._listening = _listening("127.0.0.1", port)
        self.url = _url(self._listening, app.pages.prefix)
        self._app, self._server = app, _server(app)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._thread.start()
        until = time.monotonic() + 10
        while not self._server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        self._warming = _warm(app)

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = True
        self._thread.join(10)
        self._app.pages.work.close()
        self._listening.close()

    def _repr_html_(self) -> str:
        url = escape(self.url, quote=True)
        return f"<iframe src='{url}' title='polysema explorer' width='100%' height='{self.height}'></iframe>"

    def __repr__(self) -> str:
        return f"Explorer({self.url!r})"


def explore(*lexicons: Model | None, port: int = 0, height: int = 720, prefix: str = "", **named: Model) -> Explorer:
    """Explore lexicons in a notebook, or in a browser at the result's ``url``.

    Args:
        lexicons: by default the model that comes with polysema; several are numbered, or named by keyword.
        port: 0 takes any that is free.
        height: of the frame, in pixels.
        prefix: what stands before every path behind a proxy.
    """
    given: dict[str, Any] = {"lexicon" if i == 0 else f"lexicon-{i + 1}": item for i, item in enumerate(lexicons)}
    shown: Mapping[str, Model] = {name: load() if item is None else item for name, item in (given | named).items()}
    return Explorer(application(shown or {"default": load()}, prefix=prefix, framed=True), port, height)


def _server(app: Guard) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=Connection,
            access_log=False,
            log_config=None,
            log_level="warning",
            lifespan="off",
            ws="none",
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
            server_header=False,
        )
    )


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host}:{port}: {reason}; choose another with --host or --port") from error
    return found


def _url(listening: socket.socket, prefix: str) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{host}:{port}{prefix}/"


def _warm(app: Guard) -> threading.Thread:
    warming = threading.Thread(target=app.pages.warm, daemon=True, name="explorer-warm")
    warming.start()
    return warming


def named(lexicons: Sequence[str]) -> dict[str, str | None]:
    """Paths by name, as they are given on the command line: ``PATH``, or ``NAME=PATH``."""
    found: dict[str, str | None] = {}
    for given in lexicons or ["default"]:
        name, equals, path = given.partition("=")
        if not equals or "/" in name or Path(given).exists():
            name, path = given.rstrip("/").rsplit("/", 1)[-1], given
        if not name or len(name) > 64 or name in found:
            raise InputError(f"{given!r}: give each lexicon a short name of its own, NAME=PATH")
        found[name] = path
    return found
