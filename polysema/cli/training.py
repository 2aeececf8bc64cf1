"""The command that trains."""

from __future__ import annotations

import dataclasses
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from polysema.cli.corpora import read_words
from polysema.cli.output import json_option, print_json
from polysema.cli.parsing import train_parsed
from polysema.cli.progress import progress_line
from polysema.contexts.choices import STORES, WEIGHTS
from polysema.contexts.progress import Progress as ContextProgress
from polysema.encoders.moments import REDUCTIONS
from polysema.errors import InputError, UnknownChoiceError
from polysema.files.working import WorkingFolder
from polysema.lexicon.formats import load, writing_lexicon
from polysema.lexicon.lexicon import single
from polysema.slots.parsed import is_parsed
from polysema.training.models import DEVICES, MODELS, train
from polysema.training.options import FORMS, INITS, OPTIMISERS, PARALLEL, PRESETS, SELECTIONS, Options

_HELP = {
    "form": "; ".join(f"{model}: {' or '.join(forms)}" for model, forms in FORMS.items()),
    "dim": "n, the dimension.",
    "senses": "m, senses a word.",
    "select": f"How the sense that is meant is chosen: {' or '.join(SELECTIONS)}.",
    "window": "The largest distance of a context word.",
    "negatives": "Noise words a sample.",
    "noise_power": "Noise words are drawn by their counts to this power.",
    "subsample": "Threshold of subsampling; 0 keeps all.  [default: by the size of the corpus]",
    "min_count": "Leave out words seen less often.  [default: by the size of the corpus]",
    "max_size": "Train so many of the most frequent words at most.",
    "epochs": "How often to go through the corpus.  [default: by the size of the corpus]",
    "optimiser": " or ".join(OPTIMISERS) + ".  [default: adam for word2dm, else sgd]",
    "rate": "The learning rate.  [default: "
    + ", ".join(f"{rate} for {name}" for name, rate in OPTIMISERS.items())
    + "; 0.035 for the window form of ms-word2dm by sgd, 0.1 for cbow]",
    "batch": "Sentences a step of Adam.",
    "round": "Targets a round of sgd.  [default: by the vocabulary]",
    "init": " or ".join(INITS) + ".",
    "seed": "Of all randomness.",
    "parallel": "; ".join(f"{name}: {what}" for name, what in PARALLEL.items()) + ".",
    "held_out": "The share of sentences kept for the loss.  [default: about 2000 sentences]",
}


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for every field of :class:`Options`."""
    for field in reversed(dataclasses.fields(Options)):
        if field.name == "model":
            continue
        kinds = {"int": int, "float": float}
        kind = kinds.get(str(field.type).removesuffix(" | None"), str)
        default = f"  [default: {field.default}]" if field.default is not None else ""
        name = "--" + field.name.replace("_", "-")
        metavar = "NAME" if kind is str else None
        command = click.option(name, default=None, type=kind, metavar=metavar, help=_HELP[field.name] + default)(
            command
        )
    return command


_CONTEXT_HELP = {
    "vectors": (str, "context2dm: a lexicon of vectors, else word2vec is trained first."),
    "inverse_frequency": (float, "context2dm: a word of share p around another counts a/(a+p).  [default: all alike]"),
    "encoder": (str, "bert2dm: the encoder, a folder or a name on the hub."),
    "layers": (str, "bert2dm: last, all, a number, 3-11 or 1,2,6: their mean is taken.  [default: last]"),
    "precision": (str, "bert2dm: float32, float16 or bfloat16.  [default: float16 on a GPU]"),
    "batch_size": (int, "bert2dm: sentences in a batch.  [default: 32, 512 on a GPU]"),
    "reduction": (str, f"bert2dm: {' or '.join(REDUCTIONS)}.  [default: svd]"),
    "cluster": (bool, "bert2dm: cluster a word's vectors first."),
    "rank": (int, "bert2dm: columns of a factor to keep.  [default: dim]"),
    "store": (str, f"bert2dm: where vectors are between two passes: {', '.join(STORES)}.  [default: auto]"),
    "occurrences": (int, "context2dm, bert2dm: how many of a word's are clustered at most.  [default: 200, 100]"),
    "weights": (str, f"context2dm, bert2dm: what a cluster counts: {' or '.join(WEIGHTS)}.  [default: even]"),
    "words": (int, "context2dm, bert2dm: read about so many words of the text.  [default: all]"),
    "stop_words": (bool, "context2dm, bert2dm: matrices for function words too."),
}


def _context_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of context2dm and bert2dm that the others do not have."""
    for name, (kind, text) in reversed(_CONTEXT_HELP.items()):
        flag = "--" + name.replace("_", "-")
        shape: dict[str, Any] = {"is_flag": True} if kind is bool else {"type": kind}
        if kind is str:
            shape["metavar"] = "NAME"
        command = click.option(flag, default=None, help=text, **shape)(command)
    return command


@click.command("train")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS …")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="LEXICON", help="The folder to write.")
@click.option(
    "--model", default=None, metavar="NAME", help="; ".join(f"{m.name}: {m.summary}" for m in MODELS.values())
)
@click.option("--preset", default=None, metavar="NAME", help=f"Named settings: {', '.join(PRESETS)}.")
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Options from a TOML file, by the names below."
)
@click.option("--keep", type=click.Path(path_type=Path), metavar="FILE", help="Words to train whatever their count.")
@click.option("--start", default=None, metavar="LEXICON", help="Go on from a trained lexicon, on new text.")
@_options
@_context_options
@click.option("--threads", default=None, type=click.IntRange(min=1), help="By default one per core.")
@click.option("--device", default=None, metavar="NAME", help=f"{' or '.join(DEVICES)}.  [default: cpu]")
@click.option(
    "--card-memory",
    default=None,
    type=float,
    metavar="GB",
    help="Of a card, use so much at most: a corpus that does not fit streams through.  [default: what is free]",
)
@click.option("--checkpoint-minutes", default=10.0, show_default=True, help="How often the state is written.")
@click.option("--dtype", default="float32", show_default=True, help="Of the saved numbers: float32 or float16.")
@click.option("--force", is_flag=True, help="Replace a lexicon that is there.")
@json_option
def train_command(
    corpus: tuple[str, ...],
    output: Path | None,
    config: Path | None,
    keep: Path | None,
    start: str | None,
    checkpoint_minutes: float,
    dtype: str,
    force: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Learn a lexicon from CORPUS: text (files, folders, globs, packed or not), or a folder of `polysema corpus build`.

    \b
      polysema train wiki.txt.xz
      polysema train wiki.corpus -o wiki --dim 17 --senses 5 --min-count 50 --subsample 1e-5 --epochs 4
      polysema train wiki.corpus -o paper --preset paper --select cosine --seed 2
      polysema train news.txt -o wiki+news --start wiki
      polysema train wiki.corpus -o contexts --model context2dm
      polysema train wiki.parsed -o slots --model slots
      polysema train wiki.corpus -o bert --model bert2dm --encoder bert-base-uncased --words 10000000 --device cuda

    Multi-sense Word2DM is learnt unless --model names another. Ctrl-C stops: the same command goes on from there, to
    the same result, as it does after a crash. A seed gives the same numbers whatever the number of threads.
    """
    settings = {**_config(config), **{name: value for name, value in chosen.items() if value is not None}}
    output = output or Path(Path(corpus[0]).name.split(".")[0] or "lexicon")
    if is_parsed(corpus[0]):
        train_parsed(corpus, output, force, dtype, as_json, settings)
        return
    model = settings.pop("model", "ms-word2dm")
    if model not in MODELS:
        raise UnknownChoiceError("model", model, MODELS)
    inputs: list[str | Path] = [*corpus, *(item for item in (start, config, keep) if item is not None)]
    started = time.perf_counter()
    with (
        writing_lexicon(output, inputs=inputs, dtype=dtype, overwrite=force),
        progress_line("epoch", "speed", "loss", "rate") as update,
    ):
        state = WorkingFolder(output.with_name(output.name + ".training"))
        update("preparing (the first run compiles its kernels)", 0, None)

        def show(at: Any) -> None:
            if isinstance(at, ContextProgress):
                if at.note:
                    click.echo(at.note, err=True)
                update(at.stage, at.done, at.total, speed=f"{at.speed:,.0f} words/s" if at.speed else "")
                return
            update(
                "training",
                at.words,
                at.total,
                epoch=f"epoch {at.epoch} of {at.epochs}",
                speed=f"{at.words_per_second / 1e6:.2f} M words/s",
                loss=f"loss {at.loss:.3f}"
                if at.held_out is None
                else f"loss {at.loss:.3f}, held out {at.held_out:.4f}",
                rate=f"rate {at.rate:.4f}",
            )

        try:
            lexicon = train(
                list(corpus) if len(corpus) > 1 else corpus[0],
                model,
                keep=read_words(keep),
                start=single(load(start), "--start") if start is not None else None,
                state=state.path,
                progress=show,
                checkpoint_minutes=checkpoint_minutes,
                **settings,
            )
        except KeyboardInterrupt:
            click.echo(f"stopped; the same command goes on from here ({state.path} holds the state)", err=True)
            raise
        lexicon.save(output, dtype=dtype, overwrite=force)
        state.remove()
    facts = {"lexicon": str(output), "words": len(lexicon), "seconds": round(time.perf_counter() - started, 2)}
    if as_json:
        print_json({**facts, **lexicon.metadata})
        return
    click.echo(f"{output}: {lexicon!r}, in {facts['seconds']} s")
    for row in lexicon.metadata.get("curve", [])[-1:]:
        if row.get("held_out_loss") is not None:
            click.echo(f"held-out loss {row['held_out_loss']:.4f} after {row['epoch']} epochs")
    word = lexicon.vocabulary.words[min(len(lexicon) // 10, len(lexicon) - 1)]
    click.echo(f"\nnext:  polysema senses {word} -l {output}\n       polysema ambiguity --top 20 -l {output}")


def _config(path: Path | None) -> dict[str, Any]:
    """The options of a TOML file; a table [train] or the top level."""
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not a readable TOML file: {error}") from None
    table = content.get("train", content)
    known = {field.name for field in dataclasses.fields(Options)} | {
        "preset",
        "threads",
        "device",
        "card_memory",
        *_CONTEXT_HELP,
    }
    for name in table:
        if name.replace("-", "_") not in known:
            raise UnknownChoiceError(f"option in {path}", name, sorted(known))
    return {name.replace("-", "_"): value for name, value in table.items()}


COMMANDS = [train_command]
