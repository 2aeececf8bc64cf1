"""The pages: a URL is answered as HTML or, under ``.json``, as JSON with the same content."""

from __future__ import annotations

import gzip
import json
import logging
import random
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from polysema.composition.phrases import is_text
from polysema.drawing import tree_places
from polysema.errors import InputError, MissingExtraError, PolysemaError, UnknownWordError, check_choice, needing
from polysema.explorer import answers, atlas
from polysema.explorer.listing import Facts, Filter, listing
from polysema.lexicon.lexicon import AnyLexicon, Lexicon
from polysema.parsing.sentences import parser
from polysema.version import __version__

with needing("the explorer", "explore"):
    import jinja2
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger("polysema.explorer")

HERE = Path(__file__).parent
LONGEST = {"s": 1000, "a": 500, "b": 500, "w": 100, "word": 100, "prefix": 100}
"""Most characters of a parameter; 64 for all others."""
MOST_TEXTS = 32
"""Texts of one question to ``/api/read`` at most."""
EXAMPLES = (
    "The bank by the river was steep.",
    "The fan blew cool air into the room.",
    "A mole dug under the lawn.",
    "She spread jam on the warm toast.",
    "The bark of the old oak was thick.",
    "The crane lifted the steel beam.",
)
VIEWS = {"": "Reading", "steps": "Word by word", "tree": "Tree"}
STATIC = {
    "style.css": "text/css",
    "explorer.js": "text/javascript",
    "map.js": "text/javascript",
    "surprises.txt": "text/plain",
    "icon.svg": "image/svg+xml",
    "openapi.json": "application/json",
}
_TRUE = ("1", "on")
_KINDS: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": lambda text: text in _TRUE}
"""How parameters are read, by their type."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request."""

    template: str  # the file of the HTML page
    facts: Facts  # the content, which is the JSON
    status: int = 200  # of HTTP
    extra: Mapping[str, Any] | None = None  # content of the HTML page only, such as positions in pictures


class Pages:
    """The pages of the explorer, each a function of the request."""

    def __init__(self, lexicons: Mapping[str, AnyLexicon], prefix: str = "") -> None:
        if not lexicons:
            raise InputError("the explorer needs a lexicon")
        self.lexicons = dict(lexicons)
        self.usual = next(iter(self.lexicons))
        self.prefix = prefix
        self.warming = False  # while the parser is being loaded
        self._nlp: Any = None
        self._parsing = threading.Lock()  # one thread at a time
        self._facts = lru_cache(256)(self._asked)  # one for HTML and JSON
        self._drawing: dict[str, threading.Thread] = {}
        self.templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
            auto_reload=False, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self.templates.filters |= {"number": _number, "percent": _percent, "stack": stack}
        self.static = {name: (HERE / "static" / name).read_bytes() for name in STATIC}

    def sentence(self, request: Request) -> Answer:
        """A sentence, by its words, word by word or as a tree; without one, examples."""
        name, lexicon = self._lexicon(request)
        text, view, method = _text(request, "s").strip(), _text(request, "view"), _text(request, "method")
        check_choice("view", view, VIEWS)
        page: Facts = {"view": view, "views": VIEWS, "examples": EXAMPLES}
        if not text:
            shown = {} if self.warming else self._facts(name, EXAMPLES[0], "", "")
            empty: Facts = {"sentence": "", "words": [], "notes": [], "cannot": answers.cannot(lexicon)}
            return Answer("start.html", empty, extra={**page, "shown": _drawn(shown) if shown else None})
        if view == "tree" and self.warming and not is_json(request) and is_text(text):
            return Answer("loading.html", {"sentence": text}, 202)
        facts = self._facts(name, text, view, method)
        if view == "tree":
            page["picture"] = tree_picture(facts["nodes"]) if facts["nodes"] else None
            return Answer("sentence.html", facts, extra={**page, "notes": []})
        if view == "steps":
            last = len(facts["heard"])
            step = _integer(request, "step", last, min(1, last), last)
            heard = len(text) if step == last else facts["heard"][step - 1]["end"]
            page |= {"step": step, "end": heard, "notes": facts.get("notes", [])}
        return Answer("sentence.html", facts, extra={**page, "read": _drawn(facts)})

    def _asked(self, name: str, text: str, view: str, method: str) -> Facts:
        lexicon = self.lexicons[name]
        if view == "steps":
            return answers.steps(lexicon, text)
        if view == "tree":
            with self._parsing:
                return answers.tree(lexicon, text, method, self.nlp(text))
        return answers.sentences(lexicon, [text])[0]

    def surprise(self, request: Request) -> Response:
        """To a sentence drawn from a list that people have read."""
        chosen = random.choice(self.static["surprises.txt"].decode().splitlines())  # noqa: S311
        where = self._context(request)["url"]("/", s=chosen)
        return Response(status_code=303, headers={"location": where, "cache-control": "no-store"})

    def read_texts(self, request: Request, body: bytes) -> Answer:
        """The answer to ``{"texts": [...]}``: one result for each text, in order."""
        _, lexicon = self._lexicon(request)
        try:
            texts = json.loads(body)["texts"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise HTTPException(400, 'send JSON of the form {"texts": ["…", "…"]}') from None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise HTTPException(400, '"texts" is a list of strings')
        if len(texts) > MOST_TEXTS:
            raise HTTPException(413, f"{len(texts)} texts: at most {MOST_TEXTS} at once; ask several times")
        if too_long := [text for text in texts if len(text) > LONGEST["s"]]:
            raise HTTPException(413, _too_long(too_long[0]))
        return Answer("", {"results": answers.sentences(lexicon, texts)})

    def vocabulary(self, request: Request) -> Answer | Response:
        """The map; its data come by themselves, drawn in the background when they are asked for first."""
        name, lexicon = self._lexicon(request)
        if not is_json(request):
            return Answer("map.html", {"cannot": answers.cannot(lexicon)})
        if name not in self._drawing:
            self._drawing[name] = threading.Thread(target=atlas.drawn, args=(lexicon,), daemon=True)
            self._drawing[name].start()
        self._drawing[name].join(0.2)
        if lexicon not in atlas.maps:
            return Answer("", {"drawing": True}, 202)
        text = _json(atlas.maps[lexicon])
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(text, media_type="application/json")
        return Response(gzip.compress(text, 6), 200, {"content-encoding": "gzip"}, "application/json")

    def word(self, request: Request) -> Answer:
        """A word; without one, examples."""
        _, lexicon = self._lexicon(request)
        asked = request.path_params.get("word") or _text(request, "w").strip()
        if len(asked) > LONGEST["w"]:
            raise HTTPException(414, f"a word has at most {LONGEST['w']} characters here")
        if not asked:
            return Answer("word_none.html", {"word": "", "examples": listing(lexicon).examples()})
        fine = _text(request, "fine") in _TRUE
        return Answer("word.html", answers.word(lexicon, asked, fine=fine))

    def listed(self, request: Request) -> Answer:
        """A page of the vocabulary."""
        _, lexicon = self._lexicon(request)
        given: Facts = {}
        for item in fields(Filter):
            if _text(request, item.name):
                kind = _KINDS[str(item.type).partition(" ")[0]]
                given[item.name] = _integer(request, item.name, 0) if kind is int else _given(request, item.name, kind)
        asked = Filter(**given)
        return Answer("list.html", {**asdict(asked), **listing(lexicon).page(asked), "cannot": answers.cannot(lexicon)})

    def compare(self, request: Request) -> Answer:
        """Two phrases; or one word in two lexicons."""
        name, lexicon = self._lexicon(request)
        a, b, other = _text(request, "a").strip(), _text(request, "b").strip(), _text(request, "other")
        facts: Facts = {"a": None, "b": None, "measures": [], "shared": [], "two": None, "sides": [], "uses": []}
        if a and other:
            facts["two"] = {"lexicons": [name, other], **answers.in_two(lexicon, self._named(other), a)}
        elif a and b and is_text(a) and is_text(b) and isinstance(lexicon, Lexicon):
            facts |= answers.two_sentences(lexicon, a, b)
        elif a and b:
            with self._parsing:
                facts |= answers.compared(lexicon, a, b, self.nlp(a, b))
        facts["cannot"] = answers.cannot(lexicon)
        drawn = {"read": [_drawn(side) for side in facts["sides"]]}
        return Answer("compare.html", facts, extra={"asked_a": a, "asked_b": b, "other": other, "notes": [], **drawn})

    def about(self, request: Request) -> Answer:
        """The meaning of each number, and the lexicon."""
        return Answer("about.html", answers.about(*self._lexicon(request)))

    def file(self, request: Request) -> Response:
        """A static file; all are held in memory, so that no path is looked up."""
        name = request.path_params.get("name", "openapi.json")
        if name not in self.static:
            raise HTTPException(404, "there is no such page")
        return Response(self.static[name], media_type=STATIC[name], headers={"cache-control": "max-age=3600"})

    def respond(self, page: Callable[..., Answer | Response], request: Request, *given: Any) -> Response:
        """A page's answer as HTML or JSON. Every error becomes a page."""
        try:
            for key, value in request.query_params.multi_items():
                if len(value) > (most := LONGEST.get(key, 64)) or len(key) > 64:
                    raise HTTPException(414, _too_long(value, most))
            answer = page(request, *given)
            return answer if isinstance(answer, Response) else self._rendered(request, answer)
        except UnknownWordError as error:
            failure = _failure(404, str(error), error.word, error.close)
        except PolysemaError as error:
            failure = _failure(501 if isinstance(error, MissingExtraError) else 400, _private(str(error)))
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
        headers = {503: {"retry-after": "2"}, 429: {"retry-after": "2"}, 202: {"refresh": "1"}}.get(answer.status, {})
        facts = answer.facts
        if is_json(request):
            content = {"lexicon": self._chosen(request), **facts}
            return Response(_json(content), answer.status, headers, "application/json")
        own = {"words_told": facts.get("words"), "prefix_asked": facts.get("prefix", ""), "asked": _text(request, "s")}
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

    def nlp(self, *texts: str) -> Any:
        """The parser, loaded for the first plain text; None where none is installed: then the library says so."""
        if self._nlp is None and any(map(is_text, texts)):
            with suppress(MissingExtraError):
                self._nlp = parser()
        return self._nlp

    def warm(self) -> None:
        """Prepare the first pages: first a sentence, then the parser, which takes seconds, then the lists."""
        self.warming = True
        try:
            for lexicon in self.lexicons.values():
                answers.sentences(lexicon, [EXAMPLES[0]])
            with self._parsing:
                self.nlp("any text")
        finally:
            self.warming = False
        for lexicon in self.lexicons.values():
            if usual := listing(lexicon).examples(4):
                listing(lexicon).order("word")
                lexicon.neighbours(usual, 1)
        for lexicon in self.lexicons.values():
            _ = listing(lexicon).parts_of_speech


def _json(facts: Facts) -> bytes:
    return json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def _drawn(facts: Facts) -> Facts:
    """A sentence in pieces for a page."""
    return {**facts, "pieces": pieces(facts["sentence"], facts["words"])}


def _too_long(text: str, most: int = LONGEST["s"]) -> str:
    more = " Give one sentence. The command polysema read takes whole files." if most >= 500 else ""
    return f"{len(text):,} characters: at most {most:,} are read here.{more}"


def _private(message: str) -> str:
    """A message without the folders of this machine."""
    return re.sub(r"(?<![\w.:/])(?:/[^\s/:'\"]+)+/(?=[^\s/])", "…/", message)


def _failure(status: int, message: str, word: str = "", suggestions: Sequence[str] = ()) -> Answer:
    facts = {"error": message, "status": status, "word": word, "suggestions": [*suggestions]}
    return Answer("error.html", facts, status)


def is_json(request: Request) -> bool:
    """Whether a request asks for JSON."""
    return str(request.scope["path"]).endswith((".json", "/api/read"))


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _integer(request: Request, name: str, default: int, least: int = 0, most: int = 10**12) -> int:
    """An integer, moved into its bounds; anything else is an error."""
    return min(max(int(_given(request, name, int) or default), least), most)


def _given(request: Request, name: str, kind: Callable[[str], Any]) -> Any:
    """A parameter, read as what it is."""
    try:
        return kind(_text(request, name) or "0")
    except ValueError:
        raise HTTPException(400, f"{name} is a {'whole ' if kind is int else ''}number") from None


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # no −0.000


def _percent(share: float) -> str:
    """A share as people say it: never 0 % or 100 % of what is not certain."""
    return "< 1 %" if 0 < share < 0.005 else "> 99 %" if 0.995 < share < 1 else f"{100 * share:.0f} %"


# ------------------------------------------------------------------------------- the marks in pictures, in pixels

LEVELS = 9
"""Shades of entropy in the style sheet."""

OTHERS = 6
"""The colour, grey, of senses that are not told one by one."""

_ROW, _LETTER, _WIDE = 34, 8.6, 318  # pixels


def pieces(text: str, words: Sequence[Mapping[str, Any]]) -> list[Facts]:
    """A text in pieces: each word with its number, and what lies between them, whose number is None."""
    found: list[Facts] = []
    at = 0
    for number, (start, end) in [*enumerate(word["span"] for word in words), (None, (len(text), len(text)))]:
        if start >= at:
            between = re.finditer(r"\s+|\S+", text[at:start])
            found += [{"text": run.group(), "start": at + run.start(), "word": None} for run in between]
            found += [{"text": text[start:end], "start": start, "word": number}] if end > start else []
            at = end
    return found


def stack(senses: Sequence[Mapping[str, Any]], shares: Iterable[float] | None = None) -> list[Facts]:
    """A bar of 100 with a part for each sense, its place and length; by default as probable as it is."""
    found, at = [], 0.0
    for sense, share in zip(senses, [s["probability"] for s in senses] if shares is None else shares, strict=True):
        found.append({"colour": sense["colour"], "x": round(at, 1), "width": round(100 * share, 1)})
        at += 100 * share
    return [*found, {"colour": OTHERS, "x": round(at, 1), "width": round(100 - at, 1)}] if at < 99.5 else found


def tree_picture(nodes: Sequence[Mapping[str, Any]]) -> Facts:
    """A tree that lies on its side: a row for each word, in the order of the sentence, and phrases to the right."""
    most = max([0.05, *(node["entropy"] or 0.0 for node in nodes)])
    leaves = sorted((node for node in nodes if "position" in node), key=lambda node: (node["position"], node["path"]))
    rows = {node["path"]: float(row) for row, node in enumerate(leaves)}
    places = tree_places(rows, [node["path"] for node in nodes])
    left = 68 + _LETTER * min(max(len(node["phrase"]) for node in leaves), 16)
    wide = min(74.0, max(13.0, (_WIDE - left) / max(level for _, level in [*places.values(), (0, 1)])))
    at = {path: (round(left + wide * level, 1), round(_ROW * (row + 0.6), 1)) for path, (row, level) in places.items()}
    marks = []
    for node in nodes:
        x, y = at[node["path"]]
        shade = round(LEVELS * min((node["entropy"] or 0.0) / most, 1.0))
        marks.append({**node, "x": x, "y": y, "shade": shade, "word": node["path"] in rows})
    edges = [{"from": at[path], "to": at[path[:-1]]} for path in sorted(at) if path]
    width = max(x for x, _ in at.values()) + 56
    return {"width": round(width), "height": round(_ROW * (len(rows) + 0.2)), "nodes": marks, "edges": edges,
            "numbers": wide >= 40}  # fmt: skip
