"""From text to counted relations: spaCy in several processes, in pieces that are kept, so that a run can go on.

Text is cut into blocks of whole lines. Each block is parsed by one process; the counts of ``PIECE`` blocks are written
as one piece in the run's folder, and the sum of all pieces is the result. Blocks do not depend on the number of
processes and a sum not on its order, so the same text gives the same bytes whatever the number of processes.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from polysema.checkpoints import WorkingFolder
from polysema.composition.occurrences import OVERLONG
from polysema.corpus.readers import ReadingOptions, find_sources, read_blocks
from polysema.errors import CorpusError, InputError, MissingExtraError
from polysema.machine import processors
from polysema.parsing.sentences import parser
from polysema.progress import Progress, Report, silent
from polysema.slots.parsed import ParsedText, merged, owner
from polysema.slots.relations import ADJECTIVES, NOUNS, VERBS, Relation, Word, relations
from polysema.storage import writing

PIECE = 32
"""Blocks whose counts are written together."""

LONG = 10_000
"""Characters of a line that are parsed at once."""

_BASE_FORMS = frozenset({"VB", "NN", "NNP", "NNPS", "JJ"})


def parse_text(
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    workers: int = 1,
    overwrite: bool = False,
    encoding: str = "auto",
    progress: Report = silent,
) -> ParsedText:
    """Parse text and count the relations in it; what is written is read back with :meth:`ParsedText.load`.

    Args:
        sources: files, packed or not, folders, globs.
        output: the folder to write. Beside it, ``OUTPUT.parsing`` holds the pieces until the run is done: the same call
            goes on from there.
        workers: processes; no more than there are cores.
        overwrite: whether parsed text that is there may be replaced.
    """
    files = _files(sources)
    given = [sources] if isinstance(sources, str | Path) else sources
    output = Path(output)
    working = WorkingFolder(output.parent / f"{output.name}.parsing")
    if not overwrite and working.removed_as_finished(output):
        return ParsedText.load(output)
    with writing(output, overwrite=overwrite, inputs=[*given, *files], owner=owner), working.held():
        done = _pieces_done(working, text_identity(files, encoding))
        blocks = (block.data.decode("utf-8", "replace") for file in files for block in _text(file, encoding))
        for _ in islice(blocks, len(done) * PIECE):
            pass
        _parse_pieces(blocks, working, done, max(1, min(workers, processors())), progress)
        found = merged(ParsedText.load(path) for path in done)
    found.save(output, overwrite)
    working.remove()
    return found


def _parse_pieces(
    blocks: Iterator[str],
    working: WorkingFolder,
    done: list[Path],
    workers: int,
    progress: Report,
) -> None:
    """Parse what is left, piece by piece; the path of each piece is added to those that are done."""
    tokens, begun = 0, time.perf_counter()
    with _counting(workers) as counted:
        while piece := list(islice(blocks, PIECE)):
            total: Counter[Relation] = Counter()
            in_piece = 0
            for found, seen in counted(piece):
                total.update(found)
                tokens, in_piece = tokens + seen, in_piece + seen
                speed = tokens / (time.perf_counter() - begun)
                progress(Progress("parsing", tokens, None, "tokens", speed, words=tokens))
            path = working.file(f"piece-{len(done):06}")
            ParsedText.of(total, {"tokens": in_piece, "parser": _model()}).save(path)
            done.append(path)


@contextmanager
def _counting(workers: int) -> Iterator[Callable[[Iterable[str]], Iterator[tuple[Counter[Relation], int]]]]:
    """What counts the relations of blocks, in their order: this process, or several."""
    if workers == 1:
        yield lambda blocks: map(count_relations, blocks)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield lambda blocks: pool.imap(count_relations, blocks)


def _text(path: Path, encoding: str) -> Iterator[Any]:
    for block in read_blocks(path, ReadingOptions(encoding=encoding)):
        if block.columns is not None:
            raise CorpusError(f"{path}: a token a line; parsing wants running text")
        yield block


def _files(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    files = find_sources(sources)
    if any(str(file) == "-" for file in files):
        raise InputError("parsing goes on after a stop, and standard input cannot be read twice: write it to a file")
    here = [file for file in files if isinstance(file, Path)]
    if len(here) < len(files):
        raise InputError("parsing reads files of this machine: fetch what lies at a URL first")
    return here


def text_identity(sources: str | Path | Sequence[str | Path], encoding: str = "auto") -> str:
    """What tells one parsing from another: the bytes of the text, in order, and how they are read. Reads the files."""
    digests = []
    for path in _files(sources):
        try:
            with open(path, "rb") as file:
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
    return hashlib.sha256(json.dumps([digests, encoding, PIECE, _model()]).encode()).hexdigest()


def _pieces_done(working: WorkingFolder, identity: str) -> list[Path]:
    """The pieces of an earlier call with the same text; another text there is an error."""
    path = working.path / "identity"
    if path.exists():
        if path.read_text(encoding="utf-8") != identity:
            raise InputError(f"{working.path} holds another run (another text): finish that one, or delete it")
    else:
        working.file("identity").write_text(identity, encoding="utf-8")
    done: list[Path] = []
    while (working.path / f"piece-{len(done):06}" / "config.json").is_file():
        done.append(working.path / f"piece-{len(done):06}")
    return done


# ------------------------------------------------------------------------------------------------------ in a process


def count_relations(text: str) -> tuple[Counter[Relation], int]:
    """The relations of a text, a paragraph or a sentence a line, with their counts; and how many tokens it has."""
    from spacy.attrs import DEP, HEAD, ORTH, TAG

    nlp = _ready()
    strings = nlp.vocab.strings
    found: Counter[Relation] = Counter()
    tokens = 0
    text = OVERLONG.sub(" ", text)
    lines = (line[at : at + LONG] for line in text.splitlines() for at in range(0, len(line), LONG) if line.strip())
    with nlp.select_pipes(enable=[name for name in ("tok2vec", "tagger", "parser") if name in nlp.pipe_names]):
        for doc in nlp.pipe(lines, batch_size=128):
            tokens += len(doc)
            rows = doc.to_array([ORTH, TAG, DEP, HEAD]).tolist()
            words = []
            for place, (form, tag, label, head) in enumerate(rows):
                offset = head if head < 1 << 63 else head - (1 << 64)
                words.append(Word(_lemma(strings[form], strings[tag]), strings[tag], strings[label], place + offset))
            found.update(relations(words))
    return found, tokens


@cache
def _ready() -> Any:
    """spaCy's pipeline. The tagger and the parser alone are run; lemmas are looked up a word at a time, and kept."""
    nlp = parser()
    missing = [name for name in ("tagger", "parser", "lemmatizer") if name not in nlp.pipe_names]
    if missing:
        raise MissingExtraError(f"parsing text, with a model that has {' and '.join(missing)}", "parse")
    return nlp


@cache
def _model() -> str:
    meta = _ready().meta
    return f"{meta['lang']}_{meta['name']} {meta['version']}"


@cache
def _lemma(form: str, tag: str) -> str:
    """The dictionary form of a word, in lower case."""
    lower = form.lower()
    if tag in ("VBP", "VBZ") and lower in _SHORT:
        return _SHORT[lower]
    kind = "VERB" if tag in VERBS else "NOUN" if tag in NOUNS else "ADJ" if tag in ADJECTIVES else ""
    if not kind or tag in _BASE_FORMS:
        return lower
    from spacy.tokens import Doc

    nlp = _ready()
    (token,) = Doc(nlp.vocab, words=[lower], pos=[kind])
    return str(nlp.get_pipe("lemmatizer").lemmatize(token)[0]).lower()


_SHORT = {"am": "be", "are": "be", "'re": "be", "'m": "be", "'s": "be", "'ve": "have"}
