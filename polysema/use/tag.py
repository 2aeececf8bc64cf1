"""Tag a corpus: every content word with its sense, in a folder that the other commands open.

Text is cut into blocks of :data:`BLOCK` different sentences by its order alone. A block is read by one process whose
matrix products use one thread, and saved; the blocks, put together, are the result. So it has the same bytes for any
number of workers on one type of processor, and a run that was killed goes on from its last block. A sentence that
repeats an earlier one, among the last :data:`REMEMBERED`, is not read again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from polysema.checkpoints import WorkingFolder
from polysema.corpus.readers import describe, find_sources
from polysema.engine import Engine, engine_named
from polysema.errors import CorpusError, FormatError, InputError, OutputError
from polysema.interrupts import Interrupts
from polysema.machine import in_turn, processors
from polysema.progress import Progress, Report, silent
from polysema.senses.dictionary import Dictionary
from polysema.storage import atomic_file, atomic_folder, check_name, read_config, remove, save_arrays, writing
from polysema.use.tagged import (
    EXPORTS,
    FORMAT,
    OWN,
    TYPES,
    VERSION,
    Columns,
    Tagged,
    dictionary_of,
    digest,
    is_tagged,
    owner,
    ranges,
    read_sentences,
)  # fmt: skip
from polysema.use.text import Document
from polysema.use.text import read_sentences as sentences_of

BLOCK = 1024
REMEMBERED = 1 << 17


class Task(NamedTuple):
    """A block of sentences to read."""

    number: int
    texts: tuple[str, ...]


class Shared(NamedTuple):
    """What all tasks need."""

    dictionary: Dictionary
    vectors: bool


def read_block(shared: Shared, task: Task, _: Report = silent) -> tuple[Task, Columns]:
    """The columns of a block."""
    return task, read_sentences(shared.dictionary, task.texts, vectors=shared.vectors)


def tag(
    sources: Any, output: str | Path, dictionary: Any = None, *, vectors: bool = True, workers: int | None = None,
    engine: str | Engine = "local", address: str | None = None, encoding: str = "auto", overwrite: bool = False,
    progress: Report = silent,
) -> Tagged:  # fmt: skip
    """Give every content word of a text its sense.

    Args:
        sources: files, folders, globs, URLs or ``-``, packed or not, or (text, facts) pairs; see
            :func:`~polysema.use.text.read_documents`. Or a tagged folder, to write it as text.
        output: a folder; or a file of JSON lines (``.jsonl``) or CoNLL-U (``.conllu``). Until the run is done
            ``OUTPUT.tagging`` beside it holds what is read: the same call goes on from there.
        dictionary: a lexicon, or a dictionary and its folder; by default the lexicon that comes with polysema.
        vectors: whether to keep the vector of every word, which ``change`` and ``concordance --like`` need: six times
            the disk.
        workers: processes; by default one per core. The result does not depend on it.
        engine: ``local``, ``ray``, or an engine (``docs/cluster.md``).
    """
    output, known = Path(output), dictionary_of(dictionary)
    check_name(output)
    if output.suffix in EXPORTS:
        options = {"vectors": vectors, "workers": workers, "engine": engine, "address": address, "encoding": encoding}
        return _exported(sources, output, known, overwrite, options, progress)
    if is_tagged(sources):
        raise InputError(f"{sources} is tagged already: name an output that ends in {' or '.join(EXPORTS)}")
    config: dict[str, Any] = {"format": FORMAT, "version": VERSION, "dictionary": digest(known), "vectors": vectors,
              "sources": _described(sources), "encoding": encoding}  # fmt: skip
    working = WorkingFolder(output.parent / f"{output.name}.tagging")
    if not overwrite and config["sources"] and _is_same(output, config):
        working.removed_as_finished(output)
        return Tagged.open(output, known)
    inputs = [item["path"] for item in config["sources"] or () if "://" not in item["path"]]
    with (
        writing(output, overwrite=overwrite, inputs=inputs, owner=owner), working.held(),
        atomic_folder(output, overwrite, owner) as folder, open(folder / "text.txt", "wb") as text,
        open(folder / "documents.jsonl", "wb") as listed, Interrupts() as interrupts,
    ):  # fmt: skip
        run = _Run(working, text, listed, f"{config['dictionary']} {vectors}")
        shared, begun, words = Shared(Dictionary(known.file, known.encoder), vectors), time.perf_counter(), 0
        with _mapped(engine, address, workers, shared, inputs) as mapped:
            for task, columns in mapped(run.tasks(sentences_of(sources, encoding))):
                run.save(task, columns)
                words += len(columns["start"])
                speed = words / (time.perf_counter() - begun)
                progress(Progress("tagging", run.words + words, None, "words", speed, sentences=len(run.document)))
                interrupts.check()
        if not run.document:
            raise CorpusError("the text holds no sentence")
        text.flush()
        config |= {"documents": run.documents, "sentences": len(run.document), "words": run.merge(folder)}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    working.remove()
    return Tagged.open(output, known)


class _Run:
    """Cuts text into tasks, keeps their results, and puts them together."""

    def __init__(self, working: WorkingFolder, text: IO[bytes], listed: IO[bytes], model: str) -> None:
        self._working, self._text, self._listed, self._model = working, text, listed, model
        self.documents = self.blocks = self.words = 0
        self.document, self._offset, self._bytes, self._distinct = array("i"), array("q"), array("q", [0]), array("q")
        self._seen: dict[str, int] = {}
        self._new = 0  # different sentences so far

    def tasks(self, found: Iterable[tuple[Document, int, str]]) -> Iterator[Task]:
        """The blocks that are not read yet; everything else about the text is noted on the way."""
        for block in self._blocks(found):
            task, self.blocks = Task(self.blocks, tuple(block)), self.blocks + 1
            if (words := self._done(task)) is None:
                yield task
            else:
                self.words += words

    def _blocks(self, found: Iterable[tuple[Document, int, str]]) -> Iterator[list[str]]:
        block: list[str] = []
        last = None
        for document, offset, sentence in found:
            if document is not last:
                record = {"name": document.name, "facts": dict(document.facts)}
                self._listed.write(json.dumps(record).encode() + b"\n")
                self.documents, last = self.documents + 1, document
            self._text.write(line := f"{sentence}\n".encode())
            self.document.append(self.documents - 1)
            self._offset.append(offset)
            self._bytes.append(self._bytes[-1] + len(line))
            if (number := self._seen.get(sentence)) is None:
                number, self._new = self._new, self._new + 1
                if len(self._seen) >= REMEMBERED:
                    self._seen.clear()
                self._seen[sentence] = number
                block.append(sentence)
            self._distinct.append(number)
            if len(block) == BLOCK:
                yield block
                block = []
        if block:
            yield block
        self._listed.flush()

    def _file(self, number: int) -> Path:
        return self._working.path / f"block-{number:07}"

    def _identity(self, task: Task) -> str:
        return sha256("\n".join((self._model, *task.texts)).encode()).hexdigest()

    def _done(self, task: Task) -> int | None:
        """The words of a block that an earlier run read; None if it did not, or read other text."""
        from safetensors import SafetensorError, safe_open

        with suppress(SafetensorError, OSError), safe_open(self._file(task.number), "np") as file:
            if (file.metadata() or {}).get("text") == self._identity(task):
                return int(file.get_slice("start").get_shape()[0])
        return None

    def save(self, task: Task, columns: Columns) -> None:
        """Keep the columns of a block."""
        path = self._working.file(self._file(task.number).name)
        new = path.with_name(f".{path.name}.polysema-new")
        save_arrays(new, columns, {"text": self._identity(task)})
        os.replace(new, path)

    def merge(self, folder: Path) -> int:
        """Write the columns of all sentences; returns how many words there are."""
        from safetensors import safe_open
        from safetensors.numpy import load_file

        distinct = np.frombuffer(self._distinct, np.int64)
        parts = []
        for block in range(self.blocks):
            with safe_open(self._file(block), "np") as file:
                parts.append(file.get_tensor("count").astype(np.int64))
        counts = np.concatenate(parts)
        first = np.concatenate([[0], np.cumsum(counts[distinct])])
        own = {"byte": self._bytes, "document": self.document, "offset": self._offset, "first": first}
        for name, values in own.items():
            np.save(folder / f"{name}.npy", np.asarray(values, OWN[name]))
        out = {}
        for name, values in load_file(self._file(0)).items():
            shape = (int(first[-1]), *values.shape[1:])
            if name != "count" and 0 in shape:  # an empty file cannot be mapped
                np.save(folder / f"{name}.npy", np.empty(shape, TYPES[name]))
            elif name != "count":
                out[name] = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", TYPES[name], shape)
        order = np.argsort(distinct, kind="stable")
        edges = np.searchsorted(distinct[order], np.arange(self.blocks + 1) * BLOCK)
        for block in range(self.blocks):
            columns, places = load_file(self._file(block)), order[edges[block] : edges[block + 1]]
            local = np.cumsum(columns["count"], dtype=np.int64) - columns["count"]
            size = counts[distinct[places]]
            source = ranges(local[distinct[places] - block * BLOCK], size)
            target = ranges(first[places], size)
            for name, values in out.items():
                values[target] = columns[name][source]
        for values in out.values():
            values.flush()
        return int(first[-1])


def _exported(
    sources: Any, output: Path, known: Dictionary, overwrite: bool, options: dict[str, Any], progress: Report
) -> Tagged:
    """Tag a text beside the output if it is not tagged yet, and write it as text."""
    write, start = EXPORTS[output.suffix]

    def own(path: Path) -> None:
        with open(path, "rb") as file:
            if file.read(len(start)) != start:
                raise FormatError(f"{path}: not a tagged text that polysema wrote")

    folder = output.with_name(f"{output.name}.tagged")
    with writing(output, overwrite=overwrite, owner=own):
        tagged = is_tagged(sources)
        found = Tagged.open(sources, known) if tagged else tag(sources, folder, known, progress=progress, **options)
        with atomic_file(output, overwrite, own) as stream:
            write(found, stream)
    if not tagged:
        remove(folder)
    return found


def _described(sources: Any) -> list[dict[str, Any]] | None:
    """The facts that identify files; None for what is no file."""
    given = [sources] if isinstance(sources, str | Path) else sources
    if not all(isinstance(item, str | Path) for item in given):
        return None
    files = find_sources(given)
    return None if any(str(file) == "-" for file in files) else [describe(file) for file in files]


def _is_same(output: Path, config: dict[str, Any]) -> bool:
    """Whether a folder is what this call would write."""
    with suppress(FormatError):
        found = read_config(output, FORMAT, VERSION)
        return all(found.get(name) == value for name, value in json.loads(json.dumps(config)).items())
    return False


# ------------------------------------------------------------------------------------------------------------- workers


@contextmanager
def _mapped(engine: str | Engine, address: str | None, workers: int | None, shared: Shared, inputs: list[str]) -> Any:
    """A function that maps tasks to their results, in order."""
    if engine == "local":
        with _one_thread():
            pool = ProcessPoolExecutor(workers or processors(), multiprocessing.get_context("spawn"), _begin, (shared,))

            def here(tasks: Iterator[Task]) -> Iterator[tuple[Task, Columns]]:
                try:
                    yield from in_turn(pool, _work, tasks, 2 * (workers or processors()))
                except BrokenProcessPool:
                    raise OutputError("a worker died, perhaps of too little memory: the same command goes on") from None

            try:
                yield here
            finally:
                pool.shutdown(cancel_futures=True)
        return
    with engine_named(engine, address, workers) as found:
        found.see(inputs)
        yield lambda tasks: found.map(read_block, found.put(shared), tasks)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that start in this block compute matrix products on one thread each."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_SHARED: list[Shared] = []


def _begin(shared: Shared) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    _SHARED.append(shared)


def _work(task: Task) -> tuple[Task, Columns]:
    return read_block(_SHARED[0], task)
