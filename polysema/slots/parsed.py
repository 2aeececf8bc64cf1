"""Parsed text: how often each word filled each slot of each head. Parsed texts can be added.

A folder holds ``config.json``, ``words.txt`` (a lemma a line, sorted) and ``counts.safetensors`` with ``head`` ``slot``
``filler`` ``count``, (R,) each, sorted, so that equal relations give equal bytes.

Text is cut into blocks of whole lines, each parsed by one process with spaCy. The counts of ``PIECE`` blocks are saved
as one piece in the run's folder, and the sum of all pieces is the result. Blocks do not depend on the number of
processes and a sum not on its order, so the same text gives the same bytes with any number of processes.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysema.checkpoints import WorkingFolder
from polysema.composition.occurrences import OVERLONG
from polysema.corpus.readers import ReadingOptions, find_sources, read_blocks
from polysema.errors import CorpusError, FormatError, InputError, MissingExtraError
from polysema.machine import processors
from polysema.parsing.sentences import lemma, parser
from polysema.progress import Progress, Report, silent
from polysema.slots.relations import ADJECTIVES, NOUNS, VERBS, Relation, Word, relations
from polysema.storage import atomic_file, atomic_folder, check_regular, holds, read_config, save_arrays, writing

FORMAT = "polysema-parsed"
VERSION = 1
owner = holds(FORMAT, VERSION, ("config.json", "words.txt", "counts.safetensors"))

PIECE = 32  # blocks whose counts are saved together
LONG = 10_000  # characters of a line that are parsed at once


@dataclass(frozen=True, eq=False)
class ParsedText:
    """Counts of relations, R of them."""

    words: tuple[str, ...]  # the lemmas, sorted
    slots: tuple[str, ...]  # the names of the slots, sorted
    head: NDArray[np.int32]  # (R,), the row of each relation's head in ``words``
    slot: NDArray[np.int16]  # (R,), its row in ``slots``
    filler: NDArray[np.int32]  # (R,), the row of its filler in ``words``
    count: NDArray[np.int64]  # (R,), how often it was seen
    facts: Mapping[str, Any]  # how much text was read, and by which parser

    @classmethod
    def of(cls, counts: Mapping[Relation, int], facts: Mapping[str, Any] | None = None) -> ParsedText:
        """From counted relations."""
        words = sorted({word for relation in counts for word in (relation.head, relation.filler)})
        slots = sorted({relation.slot for relation in counts})
        word_row = {word: row for row, word in enumerate(words)}
        slot_row = {slot: row for row, slot in enumerate(slots)}
        rows = sorted((word_row[r.head], slot_row[r.slot], word_row[r.filler], n) for r, n in counts.items())
        return cls._of_columns(words, slots, np.array(rows, np.int64).reshape(-1, 4).T, facts or {})

    @classmethod
    def _of_columns(
        cls, words: Sequence[str], slots: Sequence[str], columns: Iterable[NDArray[Any]], facts: Mapping[str, Any]
    ) -> ParsedText:
        types = (np.int32, np.int16, np.int32, np.int64)
        head, slot, filler, count = (np.array(column, type) for column, type in zip(columns, types, strict=True))
        return cls(tuple(words), tuple(slots), head, slot, filler, count, dict(facts))

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"ParsedText({len(self.words)} words, {len(self)} relations, seen {int(self.count.sum())} times)"

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the folder, whole or not at all."""
        config = {"format": FORMAT, "version": VERSION, "slots": list(self.slots), "facts": dict(self.facts)}
        arrays = {"head": self.head, "slot": self.slot, "filler": self.filler, "count": self.count}
        with atomic_folder(Path(path), overwrite, owner) as folder:
            (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
            (folder / "words.txt").write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8")
            save_arrays(folder / "counts.safetensors", arrays)

    @classmethod
    def load(cls, path: str | Path) -> ParsedText:
        """Read a folder; inconsistent files are an error."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = Path(path)
        config = read_config(path, FORMAT, VERSION)
        try:
            check_regular(path / "words.txt")
            check_regular(path / "counts.safetensors")
            words = (path / "words.txt").read_text(encoding="utf-8").splitlines()
            arrays = load_file(path / "counts.safetensors")
            columns = [arrays[name] for name in ("head", "slot", "filler", "count")]
            slots, facts = config["slots"], config.get("facts", {})
        except (OSError, UnicodeDecodeError, SafetensorError, KeyError) as error:
            raise FormatError(f"{path}: damaged parsed text: {error}") from None
        problem = ""
        if not (isinstance(slots, list) and all(isinstance(name, str) for name in slots) and isinstance(facts, dict)):
            problem = "config.json wants names of slots, and a table of facts"
        elif len(set(words)) < len(words) or len(set(slots)) < len(slots):
            problem = "a word or a slot is listed twice"
        elif any(
            rows.dtype.kind not in "iu"
            or rows.shape != columns[-1].shape[:1]
            or (rows.size and not least <= rows.min() <= rows.max() < most)
            for rows, least, most in zip(
                columns, (0, 0, 0, 1), (len(words), len(slots), len(words), 1 << 62), strict=True
            )
        ):
            problem = "its relations do not fit its words"
        if problem:
            raise FormatError(f"{path}: damaged parsed text: {problem}")
        return cls._of_columns(words, slots, columns, facts)


def is_parsed(path: str | Path) -> bool:
    """Whether a path is a folder of parsed text."""
    try:
        read_config(Path(path), FORMAT)
    except FormatError:
        return False
    return True


def merged(parts: Iterable[ParsedText]) -> ParsedText:
    """The sum of parsed texts; it does not depend on their order."""
    parts = list(parts)
    if not any(map(len, parts)):
        raise InputError("no relation was found in the text: there is nothing to add up")
    words = sorted(set().union(*(part.words for part in parts)))
    slots = sorted(set().union(*(part.slots for part in parts)))
    word_row = {word: row for row, word in enumerate(words)}
    slot_row = {slot: row for row, slot in enumerate(slots)}
    keys = []
    for part in parts:
        rows = np.array([word_row[word] for word in part.words], np.int64)
        kinds = np.array([slot_row[slot] for slot in part.slots], np.int64)
        keys.append((rows[part.head] * len(slots) + kinds[part.slot]) * len(words) + rows[part.filler])
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    count = np.zeros(len(key), np.int64)
    np.add.at(count, where.ravel(), np.concatenate([part.count for part in parts]))
    facts: dict[str, Any] = {}
    for name, value in (item for part in parts for item in part.facts.items()):
        both = isinstance(value, int) and isinstance(facts.get(name), int)
        facts[name] = facts[name] + value if both else value
    head, rest = np.divmod(key, len(slots) * len(words))
    return ParsedText._of_columns(words, slots, (head, *np.divmod(rest, len(words)), count), facts)


# ------------------------------------------------------------------------------------------------------------ parsing


def parse_text(
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    workers: int = 1,
    overwrite: bool = False,
    encoding: str = "auto",
    progress: Report = silent,
) -> ParsedText:
    """Parse text and save the counts of its relations.

    Args:
        sources: files, packed or not, folders, globs.
        output: the folder to write. Until the run is done, ``OUTPUT.parsing`` beside it holds the pieces: the same call
            continues from there.
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
        texts = islice(_texts(files, encoding), len(done) * PIECE, None)
        workers, tokens, begun = min(workers, processors()), 0, time.perf_counter()
        with multiprocessing.get_context("spawn").Pool(workers) if workers > 1 else nullcontext() as pool:
            while piece := list(islice(texts, PIECE)):
                total: Counter[Relation] = Counter()
                before = tokens
                for found, seen in (pool.imap if pool else map)(count_relations, piece):
                    total.update(found)
                    tokens += seen
                    speed = tokens / (time.perf_counter() - begun)
                    progress(Progress("parsing", tokens, None, "tokens", speed, words=tokens))
                done.append(working.file(f"piece-{len(done):06}"))
                ParsedText.of(total, {"tokens": tokens - before, "parser": _model()}).save(done[-1])
        result = merged(ParsedText.load(path) for path in done)
    result.save(output, overwrite)
    working.remove()
    return result


def _texts(files: Sequence[Path], encoding: str) -> Iterator[str]:
    """Blocks of whole lines."""
    for path in files:
        for block in read_blocks(path, ReadingOptions(encoding=encoding)):
            if block.columns is not None:
                raise CorpusError(f"{path}: a token a line; parsing wants running text")
            yield block.data.decode("utf-8", "replace")


def _files(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    files = find_sources(sources)
    if any(str(file) == "-" for file in files):
        raise InputError("parsing cannot continue from standard input after a stop: write the text to a file")
    here = [file for file in files if isinstance(file, Path)]
    if len(here) < len(files):
        raise InputError("parsing reads files of this machine: download the text first")
    return here


def text_identity(sources: str | Path | Sequence[str | Path], encoding: str = "auto") -> str:
    """A digest of the text, its encoding and the parser. It reads the files."""
    digests = []
    for path in _files(sources):
        try:
            with open(path, "rb") as file:
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from None
    return hashlib.sha256(json.dumps([digests, encoding, PIECE, _model()]).encode()).hexdigest()


def _pieces_done(working: WorkingFolder, identity: str) -> list[Path]:
    """The pieces of an earlier call with the same text; the pieces of another text are an error."""
    path = working.path / "identity"
    if not path.exists():
        with atomic_file(working.file(path.name)) as file:
            file.write(identity.encode())
    elif path.read_text(encoding="utf-8") != identity:
        raise InputError(f"{working.path} holds another run (another text): finish that one, or delete it")
    done: list[Path] = []
    while ((piece := working.path / f"piece-{len(done):06}") / "config.json").is_file():
        done.append(piece)
    return done


def count_relations(text: str) -> tuple[Counter[Relation], int]:
    """The counted relations of a text, a paragraph or a sentence a line, and its number of tokens."""
    from spacy.attrs import DEP, HEAD, ORTH, TAG

    nlp = _pipeline()
    strings = nlp.vocab.strings
    found: Counter[Relation] = Counter()
    tokens = 0
    text = OVERLONG.sub(" ", text)
    lines = (line[at : at + LONG] for line in text.splitlines() for at in range(0, len(line), LONG) if line.strip())
    with nlp.select_pipes(enable=[name for name in ("tok2vec", "tagger", "parser") if name in nlp.pipe_names]):
        for doc in nlp.pipe(lines, batch_size=128):
            tokens += len(doc)
            words = []
            for place, (form, tag, label, head) in enumerate(doc.to_array([ORTH, TAG, DEP, HEAD]).tolist()):
                offset = head if head < 1 << 63 else head - (1 << 64)
                words.append(Word(_lemma(strings[form], strings[tag]), strings[tag], strings[label], place + offset))
            found.update(relations(words))
    return found, tokens


@cache
def _pipeline() -> Any:
    """spaCy's pipeline. Only the tagger and the parser run on text; lemmas are looked up once a word."""
    nlp = parser()
    missing = [name for name in ("tagger", "parser", "lemmatizer") if name not in nlp.pipe_names]
    if missing:
        raise MissingExtraError(f"parsing text, with a model that has {' and '.join(missing)}", "parse")
    return nlp


def _model() -> str:
    meta = _pipeline().meta
    return f"{meta['lang']}_{meta['name']} {meta['version']}"


@cache
def _lemma(form: str, tag: str) -> str:
    """The dictionary form of a word, in lower case."""
    lower = form.lower()
    if tag in ("VBP", "VBZ") and lower in _SHORT:
        return _SHORT[lower]
    kind = "VERB" if tag in VERBS else "NOUN" if tag in NOUNS else "ADJ" if tag in ADJECTIVES else ""
    return lemma(lower, kind, _pipeline()).lower() if kind and tag not in _BASE_FORMS else lower


_BASE_FORMS = frozenset({"VB", "NN", "NNP", "NNPS", "JJ"})
_SHORT = {"am": "be", "are": "be", "'re": "be", "'m": "be", "'s": "be", "'ve": "have"}
