"""Build an encoded corpus from text, or reuse one that was built from the same text with the same options."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polysema.corpus.corpus import FILES, FORMAT, VERSION, Corpus, is_corpus
from polysema.corpus.readers import CorpusOptions, Sources, describe, find_sources
from polysema.engine import Engine, engine_named
from polysema.errors import InputError
from polysema.progress import Report, silent
from polysema.storage import atomic_folder, check_output, holds, recover

_SUSPECT = 1e-4  # the share of invalid bytes above which a warning is logged
_LOG = logging.getLogger(__name__)


def build_corpus(
    sources: Sources,
    output: str | Path,
    *,
    engine: str | Engine = "local",
    overwrite: bool = False,
    progress: Report = silent,
    **options: Any,
) -> Corpus:
    """Count and encode text.

    Args:
        sources: a path, a glob, a folder, a URL, ``-`` for standard input, or a list of those; or any iterable of
            sentences, each a list of words. Files may be packed with gz, bz2, xz or zst.
        output: the folder to write. If it already holds a corpus of the same sources and options, that one is returned.
        engine: what reads and tokenises: ``local``, ``ray``, or an engine (``docs/cluster.md``). The result does not
            depend on it.
        overwrite: whether a folder with another corpus may be replaced; other folders never are.
        progress: called now and then.
        options: see :class:`CorpusOptions`, such as ``min_count=5``.
    """
    output, chosen = Path(output), CorpusOptions.given(options)
    if chosen.lemmatise is not None:
        from polysema.corpus.tokenising import lemmatiser

        lemmatiser(chosen.lemmatise)  # refuses an unknown language before anything is read
    given: Any = [sources] if isinstance(sources, str | Path) else sources
    files = described = None
    inputs: list[str | Path] = []
    if isinstance(given, Sequence) and all(isinstance(item, str | Path) for item in given):
        files = find_sources(given)
        inputs = [str(item) for item in (*given, *files) if str(item) != "-" and "://" not in str(item)]
        if all(str(source) != "-" for source in files):
            described = [describe(source) for source in files]
    owner = holds(FORMAT, VERSION, FILES)
    recover(output)
    if described is not None and is_corpus(output) and not overwrite:
        return _reused(Corpus(output), sources, described, chosen, progress, options)
    check_output(output, overwrite=overwrite, inputs=inputs, owner=owner)
    from polysema.corpus.encoding import Encoding, TextReader  # compiled kernels

    reader = TextReader(files, chosen)
    with engine_named(engine, None, chosen.workers) as workers, atomic_folder(output, overwrite, owner) as folder:
        workers.see(str(source) for source in files or () if str(source) != "-")
        Encoding(folder, reader, workers, progress).run(
            sources if files is None else None, {"sources": described, "options": chosen.identity()}
        )
    built = Corpus(output)
    _log_oddities(built.config["read"])
    return built


def encoded(text: Corpus | str | Path | Sources, folder: Path) -> Corpus:
    """Open a corpus, or encode other text in a folder."""
    if isinstance(text, Corpus):
        return text
    if isinstance(text, str | Path) and is_corpus(text):
        return Corpus(text)
    return build_corpus(text, folder)


def _reused(
    built: Corpus, sources: Sources, described: list[Any], chosen: CorpusOptions, progress: Report, options: Any
) -> Corpus:
    """An existing corpus, if it was built from the same text with the same options; otherwise an error.

    A file that was moved, linked or given other permissions has another name or time but the same content. So files of
    the same sizes are encoded again, and the digests are compared.
    """
    known = built.config.get("sources") or []
    if built.config["options"] == chosen.identity():
        if known == described:
            return built
        if [item.get("bytes") for item in known] == [item["bytes"] for item in described]:
            with TemporaryDirectory(prefix="polysema-") as folder:
                if build_corpus(sources, Path(folder) / "corpus", progress=progress, **options).digest == built.digest:
                    return built
    raise InputError(
        f"{built.path} holds a corpus of other text or options: choose another name, or overwrite it "
        "(--force; overwrite=True)"
    )


def _log_oddities(read: dict[str, int]) -> None:
    if invalid := read["invalid_bytes"]:
        share = invalid / max(read["bytes"], 1)
        _LOG.log(
            logging.WARNING if share > _SUSPECT else logging.INFO,
            f"{invalid:,} bytes that are no text in this encoding ({share:.2%}) were taken for separators: "
            "if the text is not UTF-8, name its encoding (--encoding)",
        )
    if read["overlong_runs"]:
        _LOG.info(f"{read['overlong_runs']:,} runs of more than 255 bytes were left out")
    if read["cut_sentences"]:
        _LOG.info(f"{read['cut_sentences']:,} sentences of more than 10,000 words were cut into pieces")
