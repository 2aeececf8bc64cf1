"""The pages: a URL is answered as HTML or, under ``.json``, as JSON with the same content."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from polysema.composition.phrases import is_text
from polysema.errors import InputError, MissingExtraError, PolysemaError, UnknownWordError, needing
from polysema.explorer import answers
from polysema.explorer.listing import Facts, Filter, listing
from polysema.lexicon.lexicon import AnyLexicon
from polysema.parsing.sentences import parser
from polysema.version import __version__

with needing("the explorer", "explore"):
    import jinja2
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger("polysema.explorer")

HERE = Path(__file__).parent
LONGEST = {"s": 500, "a": 500, "b": 500, "w": 100, "word": 100, "prefix": 100}
"""Most characters of a parameter; 64 for all others."""
STATIC = {
    "style.css": "text/css",
    "explorer.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "openapi.json": "application/json",
}


class CachedPipeline:
    """A spaCy pipeline that keeps its last documents, so that a page parses its sentence once.

    Only one thread parses at a time. Other attributes are the pipeline's own.
    """

    def __init__(self, nlp: Any, kept: int = 256) -> None:
        self._nlp, self._lock = nlp, Lock()
        self._cached = lru_cache(kept)(nlp)

    def __call__(self, text: Any) -> Any:
        """The document of a text."""
        with self._lock:
            return self._cached(text) if isinstance(text, str) else self._nlp(text)

    def pipe(self, texts: Iterable[str], **_: Any) -> Iterator[Any]:
        """The document of each text."""
        return map(self, texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nlp, name)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request."""

    template: str  # the file of the HTML page
    facts: Facts  # the content, which is the JSON
    status: int = 200  # of HTTP
    extra: Mapping[str, Any] | None = None  # content of the HTML page only, such as positions in pictures


class Pages:
    """The pages of the explorer, each a function of the request.

    Args:
        lexicons: by name; the first is the default.
        prefix: the path before every page behind a proxy, such as ``/user/ann/proxy/8765``.
        evaluation: the report of ``polysema evaluate --json``.
    """

    def __init__(self, lexicons: Mapping[str, AnyLexicon], prefix: str = "", evaluation: Any = None) -> None:
        if not lexicons:
            raise InputError("the explorer needs a lexicon")
        self.lexicons = dict(lexicons)
        self.usual = next(iter(self.lexicons))
        self.prefix, self.evaluation = prefix, evaluation
        self.rows = [] if evaluation is None else answers.evaluation_rows(evaluation)
        self.warming = False  # while the parser is being loaded
        self._nlp: CachedPipeline | None = None
        self._loading = Lock()
        self._sentences = lru_cache(256)(self._sentence)  # one for all steps, HTML and JSON
        self.templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
            auto_reload=False, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self.templates.filters |= {"number": _number, "percent": lambda share: f"{100 * share:.0f} %"}
        self.static = {name: (HERE / "static" / name).read_bytes() for name in STATIC}

    def sentence(self, request: Request) -> Answer:
        """A sentence; without one, examples; while the parser is being loaded, a page that reloads itself."""
        name, lexicon = self._lexicon(request)
        text, method = _text(request, "s").strip(), _text(request, "method")
        if not text:
            empty: Facts = {"sentence": "", "methods": list(lexicon.methods), "cannot": answers.cannot(lexicon)}
            return Answer("sentence.html", empty)
        if self.warming and not is_json(request) and is_text(text):
            return Answer("loading.html", {"sentence": text}, 202)
        facts = self._sentences(name, text, method)
        steps = facts["steps"]
        step = _integer(request, "step", len(steps), 0, len(steps))
        picture = None
        if facts["composition"] is not None:
            done = {item["path"] for item in steps[:step]}
            current = steps[step - 1]["path"] if step else None
            picture = answers.tree_picture(facts["composition"]["nodes"], done, current)
        numbers = {item["path"]: number for number, item in enumerate(steps, 1)}
        return Answer("sentence.html", {**facts, "step": step}, extra={"picture": picture, "numbers": numbers})

    def _sentence(self, name: str, text: str, method: str) -> Facts:
        return answers.sentence(self.lexicons[name], text, method, self.nlp(text))

    def word(self, request: Request) -> Answer:
        """A word; without one, examples."""
        _, lexicon = self._lexicon(request)
        asked = request.path_params.get("word") or _text(request, "w").strip()
        if len(asked) > LONGEST["w"]:
            raise HTTPException(414, f"a word has at most {LONGEST['w']} characters here")
        if not asked:
            return Answer("word_none.html", {"word": "", "examples": listing(lexicon).examples()})
        facts = answers.word(lexicon, asked)
        return Answer("word.html", facts, extra={"picture": answers.plane_picture(facts) if facts["senses"] else None})

    def listed(self, request: Request) -> Answer:
        """A page of the vocabulary."""
        _, lexicon = self._lexicon(request)
        given = {}
        for item in fields(Filter):
            if written := _text(request, item.name):
                given[item.name] = _READERS[str(item.type).partition(" ")[0]](request, item.name, written)
        asked = Filter(**given)
        return Answer("list.html", {**asdict(asked), **listing(lexicon).page(asked), "cannot": answers.cannot(lexicon)})

    def compare(self, request: Request) -> Answer:
        """Two phrases; or one word in two lexicons."""
        name, lexicon = self._lexicon(request)
        a, b, other = _text(request, "a").strip(), _text(request, "b").strip(), _text(request, "other")
        facts: Facts = {"a": None, "b": None, "measures": [], "shared": [], "two": None}
        if a and other:
            facts["two"] = {"lexicons": [name, other], **answers.in_two(lexicon, self._named(other), a)}
        elif a and b:
            facts |= answers.compared(lexicon, a, b, self.nlp(a, b))
        facts["cannot"] = answers.cannot(lexicon)
        return Answer("compare.html", facts, extra={"asked_a": a, "asked_b": b, "other": other})

    def evaluated(self, request: Request) -> Answer:
        """The report of ``polysema evaluate``."""
        return Answer("evaluation.html", {"evaluation": self.evaluation}, extra={"rows": self.rows})

    def about(self, request: Request) -> Answer:
        """The meaning of each number, and the lexicon."""
        return Answer("about.html", answers.about(*self._lexicon(request)))

    def file(self, request: Request) -> Response:
        """A static file; all are held in memory, so that no path is looked up."""
        name = request.path_params.get("name", "openapi.json")
        if name not in self.static:
            raise HTTPException(404, "there is no such page")
        return Response(self.static[name], media_type=STATIC[name], headers={"cache-control": "max-age=3600"})

    def respond(self, page: Callable[[Request], Answer | Response], request: Request) -> Response:
        """A page's answer as HTML or JSON. Every error becomes a page."""
        try:
            for key, value in request.query_params.multi_items():
                if len(value) > (most := LONGEST.get(key, 64)) or len(key) > 64:
                    raise HTTPException(414, f"too long: at most {most} characters")
            answer = page(request)
            return answer if isinstance(answer, Response) else self._rendered(request, answer)
        except UnknownWordError as error:
            failure = _failure(404, str(error), error.word, error.close)
        except PolysemaError as error:
            failure = _failure(501 if isinstance(error, MissingExtraError) else 400, str(error))
        except HTTPException as error:
            failure = _failure(error.status_code, error.detail)
        except Exception as error:
            at = error.__traceback__
            while at is not None and at.tb_next is not None:
                at = at.tb_next
            where = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at is not None else "?"
            log.error("%s at %s", type(error).__name__, where)  # without the message, which may quote the question
            failure = _failure(500, "this is a fault of the explorer; the log says where")
        return self._rendered(request, failure)

    def refuse(self, request: Request, status: int, message: str) -> Response:
        """An error page."""
        return self._rendered(request, _failure(status, message))

    def _rendered(self, request: Request, answer: Answer) -> Response:
        headers = {503: {"retry-after": "2"}, 202: {"refresh": "1"}}.get(answer.status, {})
        facts = answer.facts
        if is_json(request):
            content = {"lexicon": self._chosen(request), **facts}
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return Response(text.encode("utf-8", "replace"), answer.status, headers, "application/json")
        own = {"words_told": facts.get("words"), "prefix_asked": facts.get("prefix", "")}  # names used by macros, base
        page = self.templates.get_template(answer.template)
        html = page.render({**facts, **own, **(answer.extra or {}), **self._context(request)})
        return Response(html, answer.status, headers, "text/html; charset=utf-8")

    def _context(self, request: Request) -> Facts:
        """Names that every template may use."""
        name = self._chosen(request)
        chosen = {} if name == self.usual else {"lexicon": name}
        path, asked = request.scope["path"], dict(request.query_params)

        def url(path: str, /, **query: Any) -> str:
            given = {key: value for key, value in {**chosen, **query}.items() if value not in ("", None, False)}
            return self.prefix + path + (f"?{urlencode(given)}" if given else "")

        def here(**query: Any) -> str:
            return url(quote(path, safe="/"), **{**asked, **query})

        def word_url(word: str) -> str:
            awkward = word in (".", "..") or word.endswith(".json")
            return url("/word", w=word) if awkward else url(f"/word/{quote(word, safe='')}")

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

    def _lexicon(self, request: Request) -> tuple[str, AnyLexicon]:
        name = request.query_params.get("lexicon") or self.usual
        return name, self._named(name)

    def _named(self, name: str) -> AnyLexicon:
        if name not in self.lexicons:
            raise HTTPException(404, f"there is no lexicon of this name; there are: {', '.join(self.lexicons)}")
        return self.lexicons[name]

    def nlp(self, *texts: str) -> CachedPipeline | None:
        """The parser, loaded for the first plain text; None where none is installed: then the library says so."""
        if not any(map(is_text, texts)):
            return None
        with self._loading:
            if self._nlp is None:
                try:
                    self._nlp = CachedPipeline(parser())
                except MissingExtraError:
                    return None
            return self._nlp

    def warm(self) -> None:
        """Prepare the first pages: first the words, then the parser, which takes seconds."""
        self.warming = True
        try:
            for lexicon in self.lexicons.values():
                listing(lexicon).examples()
            nlp = self.nlp("any text")
        finally:
            self.warming = False
        answers.warm(list(self.lexicons.values()), nlp)


def _failure(status: int, message: str, word: str = "", suggestions: Sequence[str] = ()) -> Answer:
    facts = {"error": message, "status": status, "word": word, "suggestions": [*suggestions]}
    return Answer("error.html", facts, status)


def is_json(request: Request) -> bool:
    """Whether a request asks for JSON."""
    return str(request.scope["path"]).endswith(".json")


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _integer(request: Request, name: str, default: int, least: int = 0, most: int = 10**12) -> int:
    """An integer, moved into its bounds; anything else is an error."""
    try:
        return min(max(int(_text(request, name) or default), least), most)
    except ValueError:
        raise HTTPException(400, f"{name} is a whole number") from None


def _real(request: Request, name: str, written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise HTTPException(400, f"{name} is a number") from None


_READERS: dict[str, Callable[[Request, str, str], Any]] = {
    "str": lambda request, name, written: written,
    "bool": lambda request, name, written: written in ("1", "on"),
    "int": lambda request, name, written: _integer(request, name, 0),
    "float": _real,
}
"""Functions that read a parameter, by its type."""


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # no −0.000
