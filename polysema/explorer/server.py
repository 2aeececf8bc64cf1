"""The explorer as a web server: on the command line until Ctrl-C, in a notebook in a thread of its own.

Pages are computed in threads, with bounds on how many run, how many wait, and how long each may take.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from polysema.errors import InputError, needing
from polysema.explorer.public import MOST_MEMORY, Allowance, JsonLines, Metrics, client_of, resident
from polysema.explorer.web import Answer, Pages, is_json
from polysema.lexicon.lexicon import AnyLexicon, load
from polysema.version import __version__

with needing("the explorer", "explore"):
    import uvicorn
    from h11 import LocalProtocolError
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from threadpoolctl import threadpool_limits
    from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger("polysema.explorer")

PORT = 8765
CONNECTIONS = 512
"""Most open connections; one more is answered 503."""
PATIENCE = 45.0
"""Seconds after which an idle connection is closed."""
LONGEST_URL = 12_000
LONGEST_BODY = 64_000
LARGEST_KEPT = 500_000
LOCAL = ("127.0.0.1", "localhost", "[::1]")


# ------------------------------------------------------------------------------------------------------------- threads


class Busy(Exception):
    """Too many questions at once, or one that took too long."""


class WorkQueue:
    """Threads that compute answers; the last answers are kept.

    Args:
        threads: how many work at once.
        waiting: how many questions may wait; one more is refused at once.
        seconds: how long a request waits. A question without a waiting request is not begun.
        kept: how many answers are kept.
    """

    def __init__(self, threads: int = 2, waiting: int = 254, seconds: float = 20.0, kept: int = 256) -> None:
        self.seconds, self.kept, self.most = seconds, kept, threads + waiting
        self._pool = ThreadPoolExecutor(threads, "explorer")
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._running: dict[Hashable, asyncio.Future[Any]] = {}
        self._waiters: Counter[Hashable] = Counter()

    async def __call__(
        self, key: Hashable, answer: Callable[[], Any], keep: Callable[[Any], bool] = lambda answer: True
    ) -> Any:
        """The answer kept under a key, or a new one; a question that is being answered is not begun twice."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        if (running := self._running.get(key)) is None:
            if len(self._running) >= self.most:
                raise Busy("too many questions at once: ask again in a moment")
            running = self._running[key] = asyncio.get_running_loop().run_in_executor(self._pool, answer)
            running.add_done_callback(lambda done: self._done(key, done, keep))
        self._waiters[key] += 1
        try:
            return await asyncio.wait_for(asyncio.shield(running), self.seconds)
        except TimeoutError:
            raise Busy(f"this took more than {self.seconds:.0f} seconds: ask for less") from None
        finally:
            self._waiters[key] -= 1
            if not self._waiters[key]:
                del self._waiters[key]
                running.cancel()  # where it is still in the queue

    def _done(self, key: Hashable, done: asyncio.Future[Any], keep: Callable[[Any], bool]) -> None:
        if self._running.get(key) is done:
            del self._running[key]
        if not done.cancelled() and done.exception() is None and keep(done.result()):
            self._answers[key] = done.result()
            while len(self._answers) > self.kept:
                self._answers.popitem(last=False)

    @property
    def running(self) -> int:
        """Questions that are being answered or wait."""
        return len(self._running)

    def close(self) -> None:
        """Start nothing new."""
        self._pool.shutdown(wait=False, cancel_futures=True)


# --------------------------------------------------------------------------------------------------------- application


def application(
    lexicons: Mapping[str, AnyLexicon],
    *,
    prefix: str = "",
    hosts: Sequence[str] = (),
    framed: bool = False,
    public: bool = False,
) -> Application:
    """The explorer as an ASGI application.

    Args:
        lexicons: by name; the first is the default.
        prefix: the path before every page behind a proxy, such as ``/user/ann/proxy/8765``.
        hosts: host names to answer to, besides those of this machine.
        framed: whether a notebook on this machine may show it in a frame.
        public: whether to bound what each client may ask for, and the memory; ``hosts`` are then needed.
    """
    if public and not hosts:
        raise InputError("in public it answers to named hosts only: give the name that people type, --allow-host NAME")
    prefix = "/" + prefix.strip("/") if prefix.strip("/") else ""
    work = WorkQueue(seconds=8.0 if public else 20.0)
    return Application(Pages(lexicons, prefix), work, hosts, framed, public)


class Application:
    """ASGI application: checks every request's host and length, strips the prefix, and sets the headers of answers."""

    def __init__(self, pages: Pages, work: WorkQueue, hosts: Sequence[str], framed: bool, public: bool) -> None:
        self.pages, self.work, self.public = pages, work, public
        self.allowance, self.metrics = Allowance(), Metrics()
        self._busy = lru_cache(8)(self._busy_page)  # rendered once: refusing costs nothing
        self.hosts = {*LOCAL, *(host.lower() for host in hosts)}
        frames = "'self' http://localhost:* http://127.0.0.1:* vscode-webview:" if framed else "'self'"
        policy = f"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {frames}"
        self.headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]
        self.app = self._routed()

    def _routed(self) -> ASGIApp:
        pages = self.pages
        table: dict[Callable[[Request], Answer | Response], tuple[str, ...]] = {
            pages.sentence: ("/", "/sentence", "/sentence.json"),
            pages.word: ("/word", "/word.json", "/word/{word:path}.json", "/word/{word:path}"),
            pages.listed: ("/list", "/list.json"),
            pages.compare: ("/compare", "/compare.json"),
            pages.vocabulary: ("/map", "/map.json"),
            pages.about: ("/about", "/about.json"),
            pages.surprise: ("/surprise",),
            pages.file: ("/openapi.json", "/static/{name}"),
        }
        self.known = {path.split("/")[1] for paths in table.values() for path in paths} | {"api", "health", "metrics"}
        routes = [Route(path, self._endpoint(page), methods=["GET"]) for page, paths in table.items() for path in paths]
        routes += [Route("/health", self._health), Route("/metrics", self._metrics)]
        routes.append(Route("/api/read", self._read, methods=["POST"]))

        async def elsewhere(request: Request, error: Exception) -> Response:
            status = error.status_code if isinstance(error, HTTPException) else 500
            messages = {404: "there is no such page", 405: "the explorer is read only"}
            return pages.refuse(request, status, messages.get(status, "this cannot be answered"))

        app = Starlette(routes=routes, exception_handlers={HTTPException: elsewhere})
        app.router.redirect_slashes = False
        return app

    def _endpoint(self, page: Callable[[Request], Answer | Response]) -> Callable[[Request], Any]:
        """A page as an endpoint: pages that compute something run in the threads, the others at once."""
        at_once = page in (self.pages.file, self.pages.about, self.pages.surprise)

        async def endpoint(request: Request) -> Response:
            if at_once:
                return self.pages.respond(page, request)
            encoding = "gzip" in request.headers.get("accept-encoding", "")
            asked = (request.scope["path"], request.scope["query_string"], encoding)
            return await self._computed(request, asked, lambda: self.pages.respond(page, request))

        return endpoint

    async def _computed(self, request: Request, asked: Hashable, answer: Callable[[], Response]) -> Response:
        """An answer from the threads; a client that goes away, such as one that types on, is not waited for."""
        working = asyncio.ensure_future(self.work(asked, answer, _worth_keeping))
        leaving = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                return Response(status_code=499)
            return working.result()  # type: ignore[no-any-return]
        except Busy as error:
            return self._busy(is_json(request), str(error))
        finally:
            working.cancel()
            leaving.cancel()

    async def _read(self, request: Request) -> Response:
        """``POST /api/read``."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > LONGEST_BODY:
                return self.pages.refuse(request, 413, f"at most {LONGEST_BODY:,} bytes at once; ask several times")
        return await self._computed(
            request, (request.url.query, body), lambda: self.pages.respond(self.pages.read_texts, request, body)
        )

    async def _health(self, request: Request) -> Response:
        ready = not self.pages.warming
        return JSONResponse({"status": "ok" if ready else "starting", "version": __version__}, 200 if ready else 503)

    async def _metrics(self, request: Request) -> Response:
        if "x-forwarded-for" in request.headers:  # it is for those who run it
            return self.pages.refuse(request, 404, "there is no such page")
        return Response(self.metrics.text(self.work.running), media_type="text/plain; version=0.0.4")

    def _busy_page(self, as_json: bool, message: str, status: int = 503) -> Response:
        scope = {"type": "http", "method": "GET", "path": "/busy.json" if as_json else "/"}
        return self.pages.refuse(Request({**scope, "query_string": b"", "headers": []}), status, message)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        stripped = self._stripped(scope)
        try:
            await (self._refused(scope) or self.app)(stripped, receive, sending)
        except Exception as error:  # the connection broke
            log.warning("%s while answering", type(error).__name__)
        page = stripped["path"].lstrip("/").partition("/")[0]
        shown = page if page in self.known else "…"
        took = time.perf_counter() - start
        self.metrics.count(shown, status, took)
        facts = {"method": scope["method"], "page": shown, "status": status, "ms": round(1e3 * took, 1)}
        log.info("%s /%s %d %.0f ms", scope["method"], shown, status, 1e3 * took, extra={"facts": facts})

    def _refused(self, scope: Scope) -> Response | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if name not in self.hosts and scope["path"] not in ("/health", "/metrics"):
            message = "this host name is not one of the explorer's: see --allow-host\n"
            return Response(message, 421, media_type="text/plain")
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string", b"")) > LONGEST_URL:
            return Response("this address is too long\n", 414, media_type="text/plain")
        page = self._stripped(scope)["path"].split("/")[1]
        if self.public and page not in ("static", "openapi.json", "health", "metrics"):
            if wait := self.allowance.wait(client_of(scope), 4.0 if page == "api" else 1.0):
                return self._busy(is_json(Request(scope)), f"too many questions: ask again in {wait:.0f} seconds", 429)
            if resident() > MOST_MEMORY:
                return self._busy(is_json(Request(scope)), "the explorer is out of memory: ask again later")
        return None

    def _stripped(self, scope: Scope) -> Scope:
        """The request without the prefix, whether or not the proxy removed it."""
        prefix, path = self.pages.prefix, scope["path"]
        if not prefix or not (path == prefix or path.startswith(prefix + "/")):
            return scope
        return {**scope, "path": path[len(prefix) :] or "/"}


def _worth_keeping(response: Response) -> bool:
    return response.status_code == 200 and len(response.body) < LARGEST_KEPT


async def _left(request: Request) -> None:
    """Wait until the client goes away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# ------------------------------------------------------------------------------------------------------------- running


class Connection(H11Protocol):
    """A connection that is closed when its client is idle for long, or sends what cannot even be refused."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open."""
        super().connection_made(transport)
        self._seen: object = None
        self._check = self.loop.call_later(PATIENCE, self._checked)

    def _checked(self) -> None:
        if self._seen is self.cycle:  # no request since the last check
            self.transport.abort()
        else:
            self._seen, self._check = self.cycle, self.loop.call_later(PATIENCE, self._checked)

    def handle_events(self) -> None:
        """Read what was sent."""
        try:
            super().handle_events()
        except LocalProtocolError:  # broken bytes after an answer: there is no place for a refusal
            log.warning("broken request after an answer")
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Closed."""
        self._check.cancel()
        super().connection_lost(exc)


class Explorer:
    """An explorer that runs in a thread; a notebook shows it in a frame.

    Attributes:
        url: its address.
    """

    def __init__(self, app: Application, host: str = "127.0.0.1", port: int = 0, height: int = 720) -> None:
        self.height = height
        self._listening = _listening(host, port)
        self.url = _url(self._listening, app.pages.prefix)
        self._app = app
        self._server = uvicorn.Server(uvicorn.Config(
            app, http=Connection, access_log=False, log_config=None, log_level="warning", lifespan="off", ws="none",
            limit_concurrency=CONNECTIONS, timeout_keep_alive=5, timeout_graceful_shutdown=2, server_header=False,
        ))  # fmt: skip
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._thread.start()
        until = time.monotonic() + 10
        while not self._server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        self._warming = threading.Thread(target=app.pages.warm, daemon=True, name="explorer-warm")
        self._warming.start()

    def wait(self) -> None:
        """Wait until it ends."""
        self._thread.join()

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = True
        self._thread.join(10)
        self._app.work.close()
        self._listening.close()

    def _repr_html_(self) -> str:
        url = escape(self.url, quote=True)
        return f"<iframe src='{url}' title='polysema explorer' width='100%' height='{self.height}'></iframe>"

    def __repr__(self) -> str:
        return f"Explorer({self.url!r})"


def serve(
    app: Application, host: str = "127.0.0.1", port: int = PORT, ready: Callable[[str], None] = lambda url: None
) -> None:
    """Answer until Ctrl-C.

    Args:
        port: 0 takes any that is free.
        ready: called with the address once the server listens.
    """
    if app.public:
        machine = logging.StreamHandler()
        machine.setFormatter(JsonLines())
        log.addHandler(machine)
        log.setLevel(logging.INFO)
    with threadpool_limits(1, "blas"):  # the server has threads of its own
        running = Explorer(app, host, port)
        try:
            ready(running.url)
            running.wait()
        except KeyboardInterrupt:
            pass
        finally:
            running.stop()


def explore(
    *lexicons: AnyLexicon | None, port: int = 0, height: int = 720, prefix: str = "", **named: AnyLexicon
) -> Explorer:
    """Explore lexicons in a notebook, or in a browser at the result's ``url``.

    Args:
        lexicons: by default the model that comes with polysema; several are numbered, or named by keyword.
        port: 0 takes any that is free.
        height: of the frame, in pixels.
        prefix: the path before every page behind a proxy.
    """
    given: dict[str, Any] = {"lexicon" if i == 0 else f"lexicon-{i + 1}": item for i, item in enumerate(lexicons)}
    shown = {name: load() if item is None else item for name, item in (given | named).items()}
    return Explorer(application(shown or {"default": load()}, prefix=prefix, framed=True), port=port, height=height)


def named(lexicons: Sequence[str]) -> dict[str, str | None]:
    """Paths by name, from arguments ``PATH`` or ``NAME=PATH``."""
    found: dict[str, str | None] = {}
    for given in lexicons or ["default"]:
        name, equals, path = given.partition("=")
        if not equals or "/" in name or Path(given).exists():
            name, path = given.rstrip("/").rsplit("/", 1)[-1], given
        if not name or len(name) > 64 or name in found:
            raise InputError(f"{given!r}: give each lexicon a short name of its own, NAME=PATH")
        found[name] = path
    return found


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InputError(f"a port is a number from 0 to 65535, not {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host}:{port}: {reason}; choose another with --host or --port") from error
    return found


def _url(listening: socket.socket, prefix: str) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{host}:{port}{prefix}/"
