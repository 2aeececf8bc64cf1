"""The pages: what is asked in a URL, answered as HTML or, under ``.json``, as JSON with the same content."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from polysema.composition.phrases import is_text
from polysema.errors import InputError, MissingExtraError, PolysemaError, UnknownWordError, needing
from polysema.explorer import answers, pictures
from polysema.explorer.listing import Facts, Filter, Model, listing
from polysema.explorer.work import Busy, Parsed, Work
from polysema.parsing.sentences import parser
from polysema.version import __version__

with needing("the explorer", "explore"):
    import jinja2
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("polysema.explorer")

HERE = Path(__file__).parent
LONGEST = {"s": 500, "a": 500, "b": 500, "w": 100, "word": 100, "prefix": 100}
"""Characters of what can be asked; 64 for all else."""
LONGEST_URL = 6000
LOCAL = ("127.0.0.1", "localhost", "[::1]")
STATIC = {"style.css": "text/css", "explorer.js": "text/javascript", "icon.svg": "image/svg+xml"}

PAGES = ("sentence", "word", "list", "compare", "evaluation", "about", "static")


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
    """The application's state and its pages, each a function of the request; see :func:`application`."""

    def __init__(
        self, lexicons: Mapping[str, Model], prefix: str = "", evaluation: Any = None, work: Work | None = None
    ) -> None:
        if not lexicons:
            raise InputError("the explorer needs a lexicon")
        self.lexicons = dict(lexicons)
        self.usual = next(iter(self.lexicons))
        self.prefix, self.evaluation, self.work = prefix, evaluation, work or Work()
        self.rows = [] if evaluation is None else answers.evaluation_rows(evaluation)
        self.warming = False  # while the parser is being loaded
        self._nlp: Parsed | None = None
        self._loading = Lock()
        self._refusals = lru_cache(8)(self._refusal)  # rendered once: an overload is answered at no cost
        self._sentences = lru_cache(256)(self._sentence)  # steps and methods of one sentence, as HTML and as JSON
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

    def sentence(self, request: Request) -> Answer:
        """A sentence; without one, an invitation; before the parser is there, a page that waits for it."""
        name, lexicon = self._lexicon(request)
        text, method = _text(request, "s").strip(), _text(request, "method")
        if not text:
            return Answer(
                "sentence.html",
                {"sentence": "", "methods": list(lexicon.methods), "cannot": answers.cannot(lexicon)},
            )
        if self.warming and not _is_json(request) and is_text(text):
            return Answer("loading.html", {"sentence": text}, 202)
        facts = self._sentences(name, text, method)
        steps = facts["steps"]
        numbers = {item["path"]: number for number, item in enumerate(steps, 1)}
        step = _whole(request, "step", len(steps), 0, len(steps))
        picture = None
        if facts["composition"] is not None:
            done = {item["path"] for item in steps[:step]}
            current = steps[step - 1]["path"] if step else None
            picture = pictures.tree(facts["composition"]["nodes"], done, current)
        return Answer("sentence.html", {**facts, "step": step}, extra={"picture": picture, "numbers": numbers})

    def _sentence(self, name: str, text: str, method: str) -> Facts:
        return answers.sentence(self.lexicons[name], text, method, self.nlp(text))

    def word(self, request: Request) -> Answer:
        """A word."""
        _, lexicon = self._lexicon(request)
        asked = request.path_params.get("word") or _text(request, "w").strip()
        if len(asked) > LONGEST["w"]:
            raise HTTPException(414, f"a word has at most {LONGEST['w']} characters here")
        if not asked:
            return Answer("word_none.html", {"word": "", "examples": listing(lexicon).examples()})
        facts = answers.word(lexicon, asked)
        return Answer("word.html", facts, extra={"picture": pictures.plane(facts) if facts["senses"] else None})

    def listed(self, request: Request) -> Answer:
        """The vocabulary."""
        _, lexicon = self._lexicon(request)
        asked = Filter()
        for item in fields(Filter):
            if written := _text(request, item.name):
                asked = replace(asked, **{item.name: _READ[str(item.type)](request, item.name, written)})
        return Answer("list.html", {**asdict(asked), **listing(lexicon).page(asked), "cannot": answers.cannot(lexicon)})

    def compare(self, request: Request) -> Answer:
        """Two phrases; or one word in two lexicons."""
        name, lexicon = self._lexicon(request)
        a, b, other = _text(request, "a").strip(), _text(request, "b").strip(), _text(request, "other")
        facts: Facts = {"a": None, "b": None, "measures": [], "shared": [], "two": None}
        if a and other:
            both = {"lexicons": [name, other], **answers.in_two(lexicon, self._named(other), a)}
            facts = {**facts, "two": both}
        elif a and b:
            facts |= answers.compared(lexicon, a, b, self.nlp(a, b))
        facts["cannot"] = answers.cannot(lexicon)
        return Answer("compare.html", facts, extra={"asked_a": a, "asked_b": b, "other": other})

    def evaluated(self, request: Request) -> Answer:
        """The report of ``polysema evaluate``."""
        return Answer("evaluation.html", {"evaluation": self.evaluation}, extra={"rows": self.rows})

    def about(self, request: Request) -> Answer:
        """What each number means."""
        return Answer("about.html", answers.about(*self._lexicon(request)))

    def openapi(self, request: Request) -> Response:
        """The JSON pages, described."""
        return _json(_described(self.prefix))

    def file(self, request: Request) -> Response:
        """Style sheet, script and icon: held in memory, no path is looked up."""
        name = request.path_params["name"]
        if name not in self.static:
            raise HTTPException(404, "there is no such page")
        return Response(self.static[name], media_type=STATIC[name], headers={"cache-control": "max-age=3600"})

    # ------------------------------------------------------------------------------------------------------- answering

    def endpoint(self, page: Callable[[Request], Answer | Response]) -> Callable[[Request], Any]:
        """A page as an endpoint: what computes goes to the threads, what is at hand is answered at once."""
        at_once = page in (self.file, self.openapi, self.evaluated, self.about)

        async def endpoint(request: Request) -> Response:
            if at_once:
                return self.respond(page, request)
            asked = (request.method, request.scope["path"], request.scope["query_string"])
            try:
                found: Response = await self.work(
                    asked, lambda: self.respond(page, request), lambda response: response.status_code == 200
                )
                return found
            except Busy as error:
                return self._refusals(_is_json(request), str(error))

        return endpoint

    def _refusal(self, as_json: bool, message: str) -> Response:
        path = "/busy.json" if as_json else "/"
        request = Request({"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []})
        return self._rendered(request, _trouble(503, message))

    def respond(self, page: Callable[[Request], Answer | Response], request: Request) -> Response:
        """A page's answer as HTML or JSON, its errors as pages; nothing gets out of here."""
        try:
            for key, value in request.query_params.multi_items():
                if len(value) > (most := LONGEST.get(key, 64)) or len(key) > 64:
                    raise HTTPException(414, f"too long: at most {most} characters")
            answer = page(request)
            return answer if isinstance(answer, Response) else self._rendered(request, answer)
        except UnknownWordError as error:
            trouble = _trouble(404, str(error), word=error.word, suggestions=error.close)
        except MissingExtraError as error:
            trouble = _trouble(501, str(error))
        except PolysemaError as error:
            trouble = _trouble(400, str(error))
        except HTTPException as error:
            trouble = _trouble(error.status_code, error.detail)
        except Exception as error:
            at = error.__traceback__
            while at is not None and at.tb_next is not None:
                at = at.tb_next
            where = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at is not None else "?"
            log.error("%s at %s", type(error).__name__, where)  # not its message: it may quote what was asked
            trouble = _trouble(500, "this is a fault of the explorer; the log says where")
        return self._rendered(request, trouble)

    def _rendered(self, request: Request, answer: Answer) -> Response:
        headers = {503: {"retry-after": "2"}, 202: {"refresh": "1"}}.get(answer.status, {})
        facts = answer.facts
        if _is_json(request):
            return _json({"lexicon": self._chosen(request), **facts}, answer.status, headers)
        own = {"words_told": facts.get("words"), "prefix_asked": facts.get("prefix", "")}  # apart from all pages' names
        page = self.templates.get_template(answer.template)
        html = page.render({**facts, **own, **(answer.extra or {}), **self._context(request)})
        return Response(html, answer.status, headers, "text/html; charset=utf-8")

    def _context(self, request: Request) -> Facts:
        """What every template may use."""
        name = self._chosen(request)
        chosen = {} if name == self.usual else {"lexicon": name}
        behind = f"?{urlencode(chosen)}" if chosen else ""
        path, asked = request.scope["path"], dict(request.query_params)

        def url(path: str, /, **query: Any) -> str:
            given = {key: value for key, value in {**chosen, **query}.items() if value not in ("", None, False)}
            return self.prefix + path + (f"?{urlencode(given)}" if given else "")

        def here(**query: Any) -> str:
            return url(quote(path, safe="/"), **{**asked, **query})

        def word_url(word: str) -> str:
            if word in (".", "..") or word.endswith(".json"):
                return url("/word", w=word)
            return f"{self.prefix}/word/{quote(word, safe='')}{behind}"

        twin = "/sentence.json" if path == "/" else quote(path, safe="/") + ".json"
        return {
            "url": url,
            "here": here,
            "word_url": word_url,
            "json_url": url(twin, **asked),
            "prefix": self.prefix,
            "path": path,
            "lexicons": list(self.lexicons),
            "chosen": name,
            "usual": self.usual,
            "version": __version__,
            "has_evaluation": self.evaluation is not None,
        }

    def _chosen(self, request: Request) -> str:
        name = request.query_params.get("lexicon") or self.usual
        return name if name in self.lexicons else self.usual

    def _lexicon(self, request: Request) -> tuple[str, Model]:
        name = request.query_params.get("lexicon") or self.usual
        return name, self._named(name)

    def _named(self, name: str) -> Model:
        if name not in self.lexicons:
            raise HTTPException(404, f"there is no lexicon of this name; there are: {', '.join(self.lexicons)}")
        return self.lexicons[name]

    def nlp(self, *texts: str) -> Parsed | None:
        """The parser, loaded once for the first plain text; None where there is none: then the library says why."""
        if not any(map(is_text, texts)):
            return None
        with self._loading:
            if self._nlp is None:
                try:
                    self._nlp = Parsed(parser())
                except MissingExtraError:
                    return None
            return self._nlp

    def warm(self) -> None:
        """Get ready for the first pages: first the words, then the parser, which takes seconds."""
        self.warming = True
        try:
            for lexicon in self.lexicons.values():
                listing(lexicon).examples()
            nlp = self.nlp("any text")
        finally:
            self.warming = False
        answers.warm(list(self.lexicons.values()), nlp)


def _trouble(status: int, message: str, word: str = "", suggestions: Sequence[str] = ()) -> Answer:
    return Answer(
        "error.html", {"error": message, "status": status, "word": word, "suggestions": [*suggestions]}, status
    )


def _json(facts: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    body = text.encode("utf-8", "replace")
    return Response(body, status, dict(headers or {}), "application/json")


# --------------------------------------------------------------------------------------------------------- parameters


def _is_json(request: Request) -> bool:
    return str(request.scope["path"]).endswith(".json")


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _whole(request: Request, name: str, default: int, least: int = 0, most: int = 10**12) -> int:
    """A whole number, brought into its bounds; what is none is an error."""
    try:
        return min(max(int(_text(request, name) or default), least), most)
    except ValueError:
        raise HTTPException(400, f"{name} is a whole number") from None


def _real(request: Request, name: str, written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise HTTPException(400, f"{name} is a number") from None


_READ: dict[str, Callable[[Request, str, str], Any]] = {
    "str": lambda request, name, written: written,
    "bool": lambda request, name, written: written in ("1", "on"),
    "int": lambda request, name, written: _whole(request, name, 0),
    "int | None": lambda request, name, written: _whole(request, name, 0),
    "float": _real,
    "float | None": _real,
}
"""How a parameter of each type is read."""


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # no −0.000


# -------------------------------------------------------------------------------------------------------- application


def application(
    lexicons: Mapping[str, Model],
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
        prefix: what stands before every path behind a proxy, such as ``/user/ann/proxy/8765``.
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
        routes += [Route(path, pages.endpoint(page), methods=["GET"]) for path in paths]

    async def elsewhere(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        message = {404: "there is no such page", 405: "the explorer is only read"}.get(
            status, "this cannot be answered"
        )
        return pages.respond(lambda _: _trouble(status, message), request)

    app = Starlette(routes=routes, exception_handlers={HTTPException: elsewhere})
    app.router.redirect_slashes = False
    return Guard(app, pages, hosts, framed)


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
            try:
                await self.app(self._stripped(scope), receive, sending)
            except Exception as error:  # the connection broke while it was answered
                log.warning("%s while answering", type(error).__name__)
        page = self._stripped(scope)["path"].lstrip("/").partition("/")[0][:20]
        shown = page if page.removesuffix(".json") in ("", *PAGES) else "…"
        log.info("%s /%s %d %.0f ms", scope["method"], shown, status, 1e3 * (time.perf_counter() - start))

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
    kinds = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}
    filters = {item.name: kinds[str(item.type).partition(" ")[0]] for item in fields(Filter)}
    asked: dict[str, tuple[str, dict[str, str]]] = {
        "/sentence.json": (
            "A sentence composed node by node",
            {"s": "string", "method": "string", "step": "integer"},
        ),
        "/word/{word}.json": ("A word, its senses and neighbours", {}),
        "/word.json": ("The same, for any spelling; without a word, some ambiguous ones", {"w": "string"}),
        "/list.json": ("A page of the vocabulary", filters),
        "/compare.json": (
            "Two phrases, or a word in two lexicons",
            {"a": "string", "b": "string", "other": "string"},
        ),
        "/evaluation.json": ("The report of polysema evaluate", {}),
        "/about.json": ("The lexicon", {}),
    }
    content = {"content": {"application/json": {"schema": {"type": "object"}}}}

    def parameter(name: str, kind: str, where: str = "query") -> Facts:
        schema: Facts = {"type": kind} | ({"maxLength": LONGEST.get(name, 64)} if kind == "string" else {})
        return {"name": name, "in": where, "required": where == "path", "schema": schema}

    return {
        "openapi": "3.1.0",
        "info": {"title": "polysema explorer", "version": __version__},
        "servers": [{"url": prefix or "/"}],
        "paths": {
            path: {
                "get": {
                    "summary": summary,
                    "parameters": [
                        *([parameter("word", "string", "path")] if "{word}" in path else []),
                        *(parameter(name, kind) for name, kind in {**names, "lexicon": "string"}.items()),
                    ],
                    "responses": {
                        "200": {"description": "the content of the page", **content},
                        "4XX": {"description": "an error, with suggestions where there are some", **content},
                        "503": {"description": "too much at once: ask again", **content},
                    },
                }
            }
            for path, (summary, names) in asked.items()
        },
    }
