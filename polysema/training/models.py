"""The models that can be trained, in one table, and the one function that trains any of them.

A new model is a file with its options and its train function, and a line here.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from polysema.checkpoints import WorkingFolder
from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus, is_corpus
from polysema.engine import Engine, engine_named
from polysema.errors import CorpusError, InputError, listed
from polysema.errors import chosen as choice
from polysema.lexicon.lexicon import AnyLexicon, with_matrices
from polysema.machine import processors
from polysema.options import Options
from polysema.progress import Progress, Report, library_report
from polysema.slots.parsed import ParsedText, is_parsed, merged, parse_text, text_identity
from polysema.storage import MARKER
from polysema.training import bert2dm, context2dm, fasttext, glove, negative_sampling, slot_vectors
from polysema.training.job import DEVICES, MOST_THREADS, Job
from polysema.training.objectives import PAPER, MSWord2DMOptions, Word2DMOptions, Word2VecOptions

Taken = TypeVar("Taken")

_WORTH = 60.0  # seconds of reading after which a run that is refused keeps the text as it was read


@dataclass(frozen=True)
class TrainableModel:
    """A model that can be trained, and what it can do."""

    options: type[Options]  # its options, which also know its name
    train: Callable[[Any, Any], AnyLexicon]  # trains it
    summary: str  # what it is, in a line
    devices: tuple[str, ...] = ("cpu",)  # where it runs
    resumes: bool = True  # whether an interrupted run can resume from its state
    # options taken from the lexicon that training continues from; empty if it cannot continue from one
    inherits: tuple[str, ...] = ()
    epochs: bool = False  # whether ``on_epoch`` is called
    gpu_memory: bool = False  # whether the GPU memory it uses can be limited
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # named settings
    parsed: bool = False  # whether it learns from parsed text; plain text is parsed first
    spread: str = ""  # how one training is spread over a cluster: by ``replicas``, or by ``tasks``; "" where it is not

    @property
    def name(self) -> str:
        """As it is written everywhere."""
        return self.options.model

    def chosen(self, options: Mapping[str, Any], preset: str | None = None, start: AnyLexicon | None = None) -> Options:
        """The options: those given, else those of the lexicon to go on from, else the preset's, else the defaults."""
        settings = {} if preset is None else dict(choice(f"preset of {self.name}", preset, self.presets))
        if start is not None:
            if start.metadata.get("model") != self.name:
                found = start.metadata.get("model")
                raise InputError(f"the lexicon to go on from is of model {found!r}, not {self.name!r}")
            known = {item.name for item in dataclasses.fields(self.options)}
            before = start.metadata.get("options", {})
            settings |= {name: before[name] for name in self.inherits if name in known and before.get(name) is not None}
        return self.options.given(settings | {name: value for name, value in options.items() if value is not None})

    def spreads(self, options: Options) -> bool:
        """Whether a training with these options has tasks for a cluster."""
        return self.spread == "tasks" or (self.spread == "replicas" and getattr(options, "replicas", 1) > 1)

    @property
    def alone(self) -> str:
        """What to do instead of spreading one training."""
        more = "choose replicas (--replicas 4), or " if self.spread == "replicas" else ""
        return f"{more}start several trainings (docs/cluster.md)"

    def refuse(self, job: Job) -> None:
        """Raise InputError if the model cannot do what it is asked to."""
        name, preset, device = self.name, job.preset, job.device
        able = listed((model.name for model in MODELS.values() if model.gpu_memory), "and")
        for wrong, message in (
            (
                job.gpu_memory is not None and (device != "cuda" or not self.gpu_memory),
                f"GPU memory is for {able} on device cuda, not for {name} on {device}",
            ),
            (device not in self.devices, f"{name} runs on {listed(self.devices, 'and')}, not on {device}"),
            (preset is not None and not self.presets, f"{name} has no presets: leave out {preset!r}"),
            (job.start is not None and not self.inherits, f"{name} cannot go on from another lexicon: leave out start"),
            (job.state is not None and not self.resumes, f"{name} cannot go on after a stop: leave out state"),
            (job.on_epoch is not None and not self.epochs, f"{name} does not call on_epoch: leave it out"),
        ):
            if wrong:
                raise InputError(message)


_SAMPLED: dict[str, Any] = {
    "devices": DEVICES,
    "inherits": ("dim", "senses", "form", "select", "window", "negatives", "noise_power", "subsample", "seed"),
    "epochs": True,
    "gpu_memory": True,
    "presets": {"paper": PAPER},
    "spread": "replicas",
}

DESCRIBED = "ms-word2dm"  # the model whose columns are senses that context vectors tell apart

MODELS: dict[str, TrainableModel] = {
    model.name: model
    for model in (
        TrainableModel(MSWord2DMOptions, negative_sampling.train,
                       "multi-sense Word2DM: a density matrix of m senses a word", **_SAMPLED),
        TrainableModel(Word2DMOptions, negative_sampling.train,
                       "Word2DM: a density matrix B Bᵀ a word, words compare by tr(A_t A_c)", **_SAMPLED),
        TrainableModel(Word2VecOptions, negative_sampling.train,
                       "vectors: skip-gram with negative sampling", **_SAMPLED),
        TrainableModel(glove.GloveOptions, glove.train, "vectors: GloVe, from co-occurrence counts"),
        TrainableModel(fasttext.FastTextOptions, fasttext.train, "vectors: FastText, by gensim", resumes=False),
        TrainableModel(context2dm.Context2DMOptions, context2dm.train,
                       "density matrices of clustered contexts, on word vectors",
                       devices=DEVICES, presets={"paper": {"vector_preset": "paper"}}, spread="tasks"),
        TrainableModel(slot_vectors.SlotOptions, slot_vectors.train,
                       "density matrices of what fills the slots of words, from parsed text", parsed=True),
        TrainableModel(bert2dm.BERT2DMOptions, bert2dm.train, "density matrices of an encoder's vectors",
                       devices=DEVICES, spread="tasks"),
    )
}  # fmt: skip


def model_named(name: str) -> TrainableModel:
    """The model of that name; an unknown one is an error that lists the choices."""
    return choice("model", name, MODELS)


def train(
    corpus: Corpus | str | Path | Iterable[Any],
    model: str = "ms-word2dm",
    *,
    preset: str | None = None,
    keep: Iterable[str] = (),
    start: AnyLexicon | None = None,
    state: str | Path | None = None,
    threads: int | None = None,
    device: str = "cpu",
    gpu_memory: float | None = None,
    progress: Report | None = None,
    quiet: bool = False,
    on_epoch: Callable[[Any], None] | None = None,
    checkpoint_minutes: float = 10.0,
    engine: str | Engine = "local",
    address: str | None = None,
    describe: bool = False,
    **options: Any,
) -> AnyLexicon:
    """Learn a lexicon from a corpus. What a model cannot do is an error: see ``MODELS``.

    Args:
        corpus: an encoded corpus or its folder; or text, as :func:`polysema.build_corpus` takes it.
        model: a name in ``MODELS``.
        preset: named settings, such as ``paper``; options given here go before them.
        keep: words to train whatever their count, such as those of an evaluation.
        start: a lexicon to go on from, on new text: its words stay, new ones are added.
        state: a folder for the state of the run. If it holds the state of the same run, that run goes on, to the same
            bits as if it had never stopped. Delete it when the lexicon is saved.
        threads: how many at most, up to 64; by default one per core.
        device: ``cpu``, or ``cuda`` for a GPU.
        gpu_memory: gigabytes of the GPU to use at most; by default what is free. A corpus that does not fit beside
            the model streams through.
        progress: called several times a second with how far the run has come. By default a notebook shows a bar, an
            interactive session a live line, and a script logs a line a minute (logger ``polysema.progress``).
        quiet: show and log nothing.
        on_epoch: called after every epoch with the run.
        checkpoint_minutes: how often the state is written.
        engine: who does the work: ``local``, ``ray``, or an engine (``docs/cluster.md``).
        address: of a Ray cluster; without it Ray is started on this machine.
        describe: whether to describe the senses of the words at the end, see :func:`polysema.describe`.
        options: those of the model, ``MODELS[model].options``.

    >>> text = [["the", "cat", "sat"], ["the", "dog", "sat"]] * 20
    >>> train(text, dim=4, senses=2, min_count=1, epochs=2, subsample=0)
    Lexicon(4 words, n=4, m=2)
    """
    record = model_named(model)
    spread = engine != "local"
    job = Job(
        preset=preset,
        threads=threads if threads is not None else 1 if spread else min(processors(), MOST_THREADS),
        device=device,
        gpu_memory=gpu_memory,
        checkpoint_minutes=checkpoint_minutes,
        engine=engine if isinstance(engine, str) else "local",
        address=address,
        describe=describe,
        keep=tuple(keep),
        start=start,
        state=Path(state) if state is not None else None,
        on_epoch=on_epoch,
    )
    if describe and record.name != DESCRIBED:
        raise InputError(f"only senses of {DESCRIBED} are described from a corpus, not those of {record.name}")
    record.refuse(job)
    chosen = record.chosen(options, preset, start)
    if spread and not record.spreads(chosen):
        raise InputError(f"one training of {record.name} runs on one machine: {record.alone}")
    folder = job.state
    if folder is not None and not folder.parent.is_dir():
        raise InputError(f"{folder.parent} is not a folder: {folder.name} cannot be written there")
    with ExitStack() as stack:
        report = progress or stack.enter_context(library_report(quiet))
        text = _RunText(corpus, report)
        text.folder = folder or Path(stack.enter_context(TemporaryDirectory(prefix="polysema-")))
        if folder is not None:
            stack.enter_context(WorkingFolder(folder).held(text.worth_keeping))
        job = dataclasses.replace(
            job, progress=report, workers=stack.enter_context(engine_named(engine, address)), text=text.encoded,
            parsed=lambda: text.parsed(threads),
        )  # fmt: skip
        lexicon = record.train(job, chosen)
        if describe:
            from polysema.senses.describe import describe as described

            lexicon = described(with_matrices(lexicon, "a description"), job.corpus, progress=report)
        return lexicon


class _RunText:
    """The text of a run, encoded or parsed when first needed, and kept in the folder of the run.

    Attributes:
        corpus: the text as it was given.
        folder: where it is kept.
        seconds: how long it took to encode or to parse.
    """

    def __init__(self, corpus: Corpus | str | Path | Iterable[Any], report: Report) -> None:
        self.corpus, self.report = corpus, report
        self.folder = Path()
        self.seconds = 0.0
        self._encoded: Corpus | None = None

    def worth_keeping(self) -> bool:
        """Whether a refused run keeps the encoded text for the next one, with other options."""
        if self.seconds < _WORTH:
            return False
        self.report(Progress("reading", 0, note=f"note: {self.folder} keeps the text as it was read, for the next try"))
        return True

    def encoded(self) -> Corpus:
        """The encoded text."""
        if self._encoded is None:
            self._encoded = self._taken(self._encode)
        return self._encoded

    def parsed(self, workers: int | None) -> ParsedText:
        """The parsed text."""
        return self._taken(lambda: self._parse(workers))

    def _taken(self, make: Callable[[], Taken]) -> Taken:
        started = time.monotonic()
        made = make()
        self.seconds = time.monotonic() - started
        return made

    def _encode(self) -> Corpus:
        """Encode the text, or reuse what the folder holds.

        Unchanged files are not read again. Text without files is encoded again and must be the same; if nothing comes,
        as from standard input read a second time, the kept text is used. Kept text from which nothing was learnt yet is
        replaced by another.
        """
        corpus = self.corpus
        if isinstance(corpus, Corpus):
            return corpus
        if isinstance(corpus, str | Path) and is_corpus(corpus):
            return Corpus(corpus)
        where = self.folder / "corpus"
        if not is_corpus(where):
            return self._build(corpus)
        kept = Corpus(where)
        begun = any(item.name not in (MARKER, where.name) for item in self.folder.iterdir())
        if kept.config.get("sources"):
            try:
                return build_corpus(corpus, where)
            except InputError:
                if begun:
                    raise self._another() from None
                return self._build(corpus)
        with TemporaryDirectory(prefix="polysema-") as temporary:
            try:
                same = build_corpus(corpus, Path(temporary) / "corpus").digest == kept.digest
            except CorpusError:
                same = True  # nothing came
        if not same:
            raise self._another()
        return kept

    def _build(self, corpus: Any) -> Corpus:
        folder = WorkingFolder(self.folder).file("corpus")
        built = build_corpus(corpus, folder, overwrite=True, progress=self.report)
        if bad := built.config.get("read", {}).get("invalid_bytes"):
            note = f"note: {bad:,} bytes are no text in this encoding and were taken for separators"
            self.report(Progress("reading", 0, note=f"{note} (polysema corpus build has --encoding)"))
        return built

    def _another(self) -> InputError:
        return InputError(f"{self.folder} holds another run (another text): finish that one, or delete it")

    def _parse(self, workers: int | None) -> ParsedText:
        """Return parsed text as given, merge folders of it, or parse files."""
        corpus = self.corpus
        if isinstance(corpus, ParsedText):
            return corpus
        sources = [corpus] if isinstance(corpus, str | Path) else list(corpus)
        if all(isinstance(source, str | Path) and is_parsed(source) for source in sources):
            return merged(ParsedText.load(source) for source in sources)
        if not all(isinstance(source, str | Path) for source in sources):
            raise InputError("slots are learnt from files of text, or from what polysema corpus parse wrote")
        working = WorkingFolder(self.folder)
        name = f"parsed-{text_identity(sources)[:16]}"  # another text has another name
        if is_parsed(self.folder / name):
            return ParsedText.load(self.folder / name)
        working.file(f"{name}.parsing")
        return parse_text(
            sources, working.file(name), workers=workers or processors(),
            progress=self.report,
        )  # fmt: skip
