"""The pages: what is asked in a URL, answered as HTML or, under ``.json``, as JSON with the same content."""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from polysema.errors import InputError, MissingExtraError, PolysemaError, UnknownWordError
from polysema.explorer import answers, pictures
from polysema.explorer.work import Busy, Work
from polysema.lexicon.lexicon import Lexicon, with_matrices
from polysema.version import __version__

try:
    import jinja2
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as missing:
    raise MissingExtraError("the explorer", "explore") from missing

log = logging.getLogger("polysema.explorer")

HERE = Path(__file__).parent
LONGEST = {"s": 500, "a": 500, "b": 500, "w": 100, "prefix": 100}
"""Characters of what can be asked; 64 for all else."""
LONGEST_URL = 6000
PAGES_KEPT = 256
LOCAL = ("127.0.0.1", "localhost", "[::1]")
STATIC = {"style.css": "text/css", "explorer.js": "text/javascript", "icon.svg": "image/svg+xml"}

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a page says.

    Attributes:
        template: its file.
        facts: its content, the JSON.
        status: of HTTP.
        extra: what only the HTML needs: where things are drawn.
    """

    template: str
    facts: Facts
    status: int = 200
    extra: Mapping[str, Any] | None = None


class Pages:
    """The application's state and its pages.

    Args:
        lexicons: by name; the first is asked where none is named.
        prefix: what stands before every path behind a proxy, such as ``/user/ann/proxy/8765``.
        evaluation: what ``polysema evaluate --json`` wrote, where there is one.
        work: the bounds on what is computed.
    """

    def __init__(
        self, lexicons: Mapping[str, Lexicon], prefix: str = "", evaluation: Any = None, work: Work | None = None
    ) -> None:
        if not lexicons:
            raise InputError("the explorer needs a lexicon")
        self.lexicons = {name: with_matrices(item, "the explorer") for name, item in lexicons.items()}
        self.usual = next(iter(self.lexicons))
        self.prefix, self.evaluation, self.work = prefix, evaluation, work or Work()
        self.rows = [] if evaluation is None else answers.evaluation_rows(evaluation)
        self._kept: OrderedDict[tuple[str, str, bytes], Response] = OrderedDict()  # pages as they were answered
        self._parsing = Lock()  # spaCy's pipeline serves one thread at a time
        self.templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters |= {"number": _number, "percent": lambda share: f"{100 * share:.0f} %"}
        self.static = {name: (HERE / "static" / name).read_bytes() for name in STATIC}

    # ------------------------------------------------------------------------------------------------------ the pages

    async def sentence(self, request: Request) -> Answer:
        """A sentence; without one, an invitation."""
        name, lexicon = self._lexicon(request)
        text, method = _text(request, "s").strip(), _text(request, "method")
        if not text:
            return Answer("sentence.html", {"sentence": "", "methods": list(lexicon.methods)})
        facts = await self._parsed(("sentence", name, text, method), lambda: answers.sentence(lexicon, text, method))
        steps = facts["steps"]
        step = _whole(request, "step", len(steps), 0, len(steps))
        facts = {**facts, "step": step}
        extra: Facts = {"picture": None}
        if facts["composition"] is not None:
            done = {item["path"] for item in steps[:step]}
            current = steps[step - 1]["path"] if step else None
            extra["picture"] = pictures.tree(facts["composition"]["nodes"], done, current)
        return Answer("sentence.html", facts, extra=extra)

    async def word(self, request: Request) -> Answer:
        """A word."""
        name, lexicon = self._lexicon(request)
        asked = request.path_params.get("word") or _text(request, "w").strip()
        if len(asked) > LONGEST["w"]:
            raise HTTPException(414, f"a word has at most {LONGEST['w']} characters here")
        if not asked:
            some = await self.work(("examples", name), lambda: answers.examples(lexicon))
            return Answer("word_none.html", {"word": "", "examples": some})
        facts = await self.work(("word", name, asked), lambda: answers.word(lexicon, asked))
        return Answer("word.html", facts, extra={"picture": pictures.plane(facts)})

    async def listed(self, request: Request) -> Answer:
        """The vocabulary."""
        name, lexicon = self._lexicon(request)
        asked = answers.Filter(
            sort=_text(request, "sort") or "ambiguity",
            reversed=_text(request, "reversed") in ("1", "on"),
            prefix=_text(request, "prefix"),
            min_count=_whole(request, "min_count", 0),
            max_count=_whole(request, "max_count", None),
            min_entropy=_real(request, "min_entropy", 0.0),
            max_entropy=_real(request, "max_entropy", None),
            function_words=_text(request, "function_words") in ("1", "on"),
            page=_whole(request, "page", 1),
            size=_whole(request, "size", answers.PAGE),
        )
        facts = await self.work(("list", name, asked), lambda: answers.listed(lexicon, asked))
        filters = {item.name: getattr(asked, item.name) for item in fields(asked)}
        return Answer("list.html", {**filters, **facts})

    async def compare(self, request: Request) -> Answer:
        """Two phrases; or one word in two lexicons."""
        name, lexicon = self._lexicon(request)
        a, b, other = _text(request, "a").strip(), _text(request, "b").strip(), _text(request, "other")
        both: Facts = {"a": None, "b": None, "measures": [], "shared": [], "two": None}
        if a and other:
            second = self.lexicons.get(other)
            if second is None:
                raise HTTPException(404, f"there is no lexicon of this name; there are: {', '.join(self.lexicons)}")
            both["two"] = await self.work(
                ("two", name, other, a), lambda: {"lexicons": [name, other], **answers.in_two(lexicon, second, a)}
            )
        elif a and b:
            both |= await self._parsed(("compare", name, a, b), lambda: answers.compared(lexicon, a, b))
        return Answer("compare.html", both, extra={"asked_a": a, "asked_b": b, "other": other})

    async def evaluated(self, request: Request) -> Answer:
        """The report of ``polysema evaluate``."""
        return Answer("evaluation.html", {"evaluation": self.evaluation}, extra={"rows": self.rows})

    async def about(self, request: Request) -> Answer:
        """What each number means."""
        name, lexicon = self._lexicon(request)
        return Answer("about.html", answers.about(name, lexicon))

    async def openapi(self, request: Request) -> Response:
        """The JSON pages, described."""
        return _json(_described(self.prefix))

    async def file(self, request: Request) -> Response:
        """Style sheet, script and icon: held in memory, no path is looked up."""
        name = request.path_params["name"]
        if name not in self.static:
            raise HTTPException(404, "there is no such page")
        return Response(self.static[name], media_type=STATIC[name], headers={"cache-control": "max-age=3600"})

    # ------------------------------------------------------------------------------------------------------- answering

    def answered(self, page: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """A page as an endpoint: its answer as HTML or JSON, its errors as pages; nothing gets out of here."""

        async def endpoint(request: Request) -> Response:
            asked = (request.method, request.scope["path"], request.scope["query_string"])
            if (kept := self._kept.get(asked)) is not None:
                self._kept.move_to_end(asked)
                return kept
            try:
                for key, value in request.query_params.multi_items():
                    if len(value) > (most := LONGEST.get(key, 64)) or len(key) > 64:
                        raise HTTPException(414, f"too long: at most {most} characters")
                answer = await page(request)
            except UnknownWordError as error:
                answer = _trouble(404, str(error), word=error.word, suggestions=error.close)
            except MissingExtraError as error:
                answer = _trouble(501, str(error))
            except PolysemaError as error:
                answer = _trouble(400, str(error))
            except Busy as error:
                answer = _trouble(503, str(error))
            except HTTPException as error:
                answer = _trouble(error.status_code, error.detail)
            except Exception as error:
                at = error.__traceback__
                while at is not None and at.tb_next is not None:
                    at = at.tb_next
                where = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at is not None else "?"
                log.error("%s at %s", type(error).__name__, where)  # not its message: it may quote what was asked
                answer = _trouble(500, "this is a fault of the explorer; the log says where")
            response = answer if isinstance(answer, Response) else self._rendered(request, answer)
            if response.status_code == 200:
                self._kept[asked] = response
                while len(self._kept) > PAGES_KEPT:
                    self._kept.popitem(last=False)
            return response

        return endpoint

    def _rendered(self, request: Request, answer: Answer) -> Response:
        headers = {"retry-after": "2"} if answer.status == 503 else {}
        if request.scope["path"].endswith(".json"):
            name = request.query_params.get("lexicon") or self.usual
            shown = name if name in self.lexicons else self.usual
            return _json({"lexicon": shown, **answer.facts}, answer.status, headers)
        facts = answer.facts
        named = {
            "words_told": facts.get("words"),
            "prefix_asked": facts.get("prefix", ""),
        }  # apart from all pages' names
        page = self.templates.get_template(answer.template)
        html = page.render({**facts, **named, **(answer.extra or {}), **self._context(request)})
        return Response(html, answer.status, headers, "text/html; charset=utf-8")

    def _context(self, request: Request) -> Facts:
        """What every template may use."""
        name = request.query_params.get("lexicon") or self.usual
        name = name if name in self.lexicons else self.usual
        chosen = {} if name == self.usual else {"lexicon": name}

        def url(path: str, /, **query: Any) -> str:
            given = {key: value for key, value in {**chosen, **query}.items() if value not in ("", None, False)}
            return self.prefix + path + (f"?{urlencode(given)}" if given else "")

        def here(**query: Any) -> str:
            path = request.scope["path"].removeprefix(self.prefix) or "/"
            return url(quote(path, safe="/"), **{**dict(request.query_params), **query})

        def word_url(word: str) -> str:
            if word in (".", "..") or word.endswith(".json"):
                return url("/word", w=word)
            return url("/word/" + quote(word, safe=""))

        path = request.scope["path"].removeprefix(self.prefix) or "/"
        twin = "/sentence.json" if path == "/" else quote(path, safe="/") + ".json"
        return {
            "url": url,
            "here": here,
            "word_url": word_url,
            "json_url": url(twin, **dict(request.query_params)),
            "prefix": self.prefix,
            "path": path,
            "lexicons": list(self.lexicons),
            "chosen": name,
            "usual": self.usual,
            "version": __version__,
            "has_evaluation": self.evaluation is not None,
        }

    def _lexicon(self, request: Request) -> tuple[str, Lexicon]:
        name = request.query_params.get("lexicon") or self.usual
        if name not in self.lexicons:
            raise HTTPException(404, f"there is no lexicon of this name; there are: {', '.join(self.lexicons)}")
        return name, self.lexicons[name]

    async def _parsed(self, key: tuple[str, ...], answer: Callable[[], Facts]) -> Any:
        def alone() -> Facts:
            with self._parsing:
                return answer()

        return await self.work(key, alone)

    def warm(self) -> None:
        """Get ready for the first pages."""
        with self._parsing:
            answers.warm(list(self.lexicons.values()))


def _trouble(status: int, message: str, word: str = "", suggestions: Sequence[str] = ()) -> Answer:
    return Answer(
        "error.html", {"error": message, "status": status, "word": word, "suggestions": [*suggestions]}, status
    )


def _json(facts: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    body = text.encode("utf-8", "replace")
    return Response(body, status, dict(headers or {}), "application/json")


# --------------------------------------------------------------------------------------------------------- parameters


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _whole(request: Request, name: str, default: Any, least: int = 0, most: int = 10**12) -> Any:
    """A whole number, brought into its bounds; what is none is an error."""
    written = request.query_params.get(name, "")
    if not written:
        return default
    try:
        return min(max(int(written), least), most)
    except ValueError:
        raise HTTPException(400, f"{name} is a whole number") from None


def _real(request: Request, name: str, default: Any) -> Any:
    written = request.query_params.get(name, "")
    if not written:
        return default
    try:
        return float(written)
    except ValueError:
        raise HTTPException(400, f"{name} is a number") from None


def _number(value: float | None, digits: int = 3) -> str:
    return "∞" if value is None else f"{value:.{digits}f}".replace("-", "−")


# -------------------------------------------------------------------------------------------------------- application


def application(
    lexicons: Mapping[str, Lexicon],
    *,
    prefix: str = "",
    hosts: Sequence[str] = (),
    framed: bool = False,
    evaluation: Any = None,
    work: Work | None = None,
) -> Guard:
    """The explorer as an ASGI application.

    Args:
        lexicons: by name; the first is asked where none is named.
        prefix: what stands before every path behind a proxy.
        hosts: names that it may be asked under, besides those of this machine.
        framed: whether a notebook on this machine may show it in a frame.
        evaluation: what ``polysema evaluate --json`` wrote.
        work: the bounds on what is computed.
    """
    prefix = "/" + prefix.strip("/") if prefix.strip("/") else ""
    pages = Pages(lexicons, prefix, evaluation, work)
    routes = []
    for paths, page in (
        (("/", "/sentence", "/sentence.json"), pages.sentence),
        (("/word", "/word.json", "/word/{word:path}.json", "/word/{word:path}"), pages.word),
        (("/list", "/list.json"), pages.listed),
        (("/compare", "/compare.json"), pages.compare),
        (("/evaluation", "/evaluation.json"), pages.evaluated),
        (("/about", "/about.json"), pages.about),
        (("/openapi.json",), pages.openapi),
        (("/static/{name}",), pages.file),
    ):
        routes += [Route(path, pages.answered(page), methods=["GET"]) for path in paths]

    async def elsewhere(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        message = {404: "there is no such page", 405: "the explorer is only read"}.get(
            status, "this cannot be answered"
        )
        refused: Response = await pages.answered(partial(_refused, status, message))(request)
        return refused

    app = Starlette(routes=routes, exception_handlers={HTTPException: elsewhere})
    app.router.redirect_slashes = False
    return Guard(app, pages, hosts, framed)


async def _refused(status: int, message: str, request: Request) -> Answer:
    return _trouble(status, message)


class Guard:
    """What every request passes: the host's name, the length, the prefix; and the headers of every answer."""

    def __init__(self, app: ASGIApp, pages: Pages, hosts: Sequence[str], framed: bool) -> None:
        self.app, self.pages = app, pages
        self.hosts = {*LOCAL, *(host.lower() for host in hosts)}
        frames = "'self' http://localhost:* http://127.0.0.1:* vscode-webview:" if framed else "'self'"
        policy = f"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {frames}"
        self.headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
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

        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, sending)
        else:
            await self.app(self._stripped(scope), receive, sending)
        page = scope["path"].removeprefix(self.pages.prefix).lstrip("/").partition("/")[0][:20]
        known = page.removesuffix(".json") in (
            "",
            "sentence",
            "word",
            "list",
            "compare",
            "evaluation",
            "about",
            "static",
        )
        log.info(
            "%s /%s %d %.0f ms", scope["method"], page if known else "…", status, 1e3 * (time.perf_counter() - start)
        )

    def _refused(self, scope: Scope) -> Response | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if name not in self.hosts:
            return Response(
                "this host name is not one of the explorer's: see --allow-host\n", 421, media_type="text/plain"
            )
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string", b"")) > LONGEST_URL:
            return Response("this address is too long\n", 414, media_type="text/plain")
        return None

    def _stripped(self, scope: Scope) -> Scope:
        """Without the prefix, whether or not the proxy took it away."""
        prefix, path = self.pages.prefix, scope["path"]
        if not prefix or not (path == prefix or path.startswith(prefix + "/")):
            return scope
        return {**scope, "path": path[len(prefix) :] or "/"}


def _described(prefix: str) -> Facts:
    """An OpenAPI document of the JSON pages."""
    asked = {
        "/sentence.json": ("A sentence composed node by node", ("s", "method", "step")),
        "/word/{word}.json": ("A word, its senses and neighbours", ()),
        "/list.json": (
            "A page of the vocabulary",
            ("sort", "reversed", "prefix", "min_count", "max_count", "min_entropy", "max_entropy", "function_words",
             "page", "size"),
        ),
        "/compare.json": ("Two phrases, or a word in two lexicons", ("a", "b", "other")),
        "/evaluation.json": ("The report of polysema evaluate", ()),
        "/about.json": ("The lexicon", ()),
    }  # fmt: skip
    text = {"schema": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "polysema explorer", "version": __version__},
        "servers": [{"url": prefix or "/"}],
        "paths": {
            path: {
                "get": {
                    "summary": summary,
                    "parameters": [
                        *({"name": "word", "in": "path", "required": True, **text} for _ in "x" if "{word}" in path),
                        *({"name": name, "in": "query", **text} for name in (*names, "lexicon")),
                    ],
                    "responses": {
                        "200": {"description": "the content of the page", "content": {"application/json": {}}},
                        "4XX": {"description": "error, with suggestions where there are some"},
                        "503": {"description": "too much at once: ask again"},
                    },
                }
            }
            for path, (summary, names) in asked.items()
        },
    }
