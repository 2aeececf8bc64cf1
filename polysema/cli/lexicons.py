"""Commands that ask about a lexicon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import cleandoc
from math import isfinite
from pathlib import Path
from typing import Any

import click

from polysema import measures
from polysema.cli.output import (
    NATURAL,
    PATH,
    Answered,
    Asked,
    Shared,
    answer,
    asked,
    command,
    heading,
    narrowing,
    number,
    print_filled,
    print_json,
    print_table,
    say,
    shortened,
)
from polysema.composition.compose import Composition
from polysema.errors import Failed, InputError, check_choice
from polysema.lexicon.formats import left_behind, write, writing_lexicon
from polysema.lexicon.formats.arrays import to_arrays
from polysema.lexicon.formats.flat import with_senses
from polysema.lexicon.lexicon import COMPOSERS, AnyLexicon, Lexicon, VectorLexicon, as_lexicon, load, with_matrices
from polysema.meanings.ambiguity import MEASURES as AMBIGUITY_MEASURES
from polysema.meanings.ambiguity import Ambiguity
from polysema.meanings.descriptions import SenseDescription
from polysema.meanings.meanings import COMMON
from polysema.meanings.results import Neighbour
from polysema.senses.answers import Sense
from polysema.senses.negation import NEGATIONS
from polysema.slots.model import PhraseMatrix, phrase_plausibility, substitution


@command("path", "as_json")
@click.argument("lexicon", required=False)
def info(given: Shared, lexicon: str | None) -> None:
    """What a lexicon holds: words, sizes, how it was made.

    \b
      polysema info
      polysema info my-model
      polysema info glove.6B.50d.txt --json
    """
    lexicon = lexicon or given.path
    model = load(lexicon)
    facts: dict[str, Any] = {"words": len(model), "kind": model.kind, "tokens": int(model.vocabulary.counts.sum())}
    facts |= {"n": model.n, **({"m": model.m, "columns": model.parts.columns} if isinstance(model, Lexicon) else {})}
    facts |= {"dtype": str(model.array.dtype)}
    if isinstance(model, Lexicon) and (held := model.dictionary) is not None:
        facts["dictionary"] = {"words": len(held), "senses": len(held.file.synset_of)}
    if given.as_json:
        arrays = {name: list(array.shape) for name, array in to_arrays(model).items()}
        return print_json({**facts, "arrays": arrays, "metadata": model.metadata})
    heading(f"{lexicon or 'the default model'}: {len(model):,} words, {_described(model)}")
    shown = ("kind", "n", "m", "columns", "dtype", "tokens", "dictionary")
    print_table([(key, _shown(facts[key])) for key in shown if facts.get(key)])
    for title, content in model.metadata.items():
        heading(str(title).replace("_", " "))
        print_table([(f"  {key}", _shown(value)) for key, value in _items(content)])


@command("force", "as_json", dtype="float32")
@click.argument("lexicon")
@click.argument("out", type=PATH)
@click.option("--to", "format", default="", metavar="FORMAT", help="The format, if OUT's name does not tell.")
@click.option("--senses", is_flag=True, help="A key for every sense beside its word: bank, bank#0, bank#2 …")
@click.option("--words", default=None, type=NATURAL, help="With --senses, of this many frequent words only.")
@click.option(
    "--kind",
    default="auto",
    metavar="KIND",
    help="In plain text and binary files: matrices, vectors, or auto (matrices, if the numbers make symmetric ones).",
)
def convert(given: Shared, lexicon: str, out: Path, format: str, senses: bool, words: int | None, kind: str) -> None:
    """Write a lexicon in another format.

    The format follows from OUT's name:

    \b
      out.npz         NumPy arrays: words, factors (V, n, m), counts, and further parts
      out.txt         a word and its numbers a line (the paper's format, GloVe's)
      out.vec  .w2v   word2vec text
      out.bin         word2vec binary
      out             a folder: polysema's own format

    Matrices are written to plain-number formats at unit trace, row by row, so that gensim and others can read them as
    vectors of n² numbers whose cosine is the trace similarity. What a format cannot hold is listed before it is
    written: a plain-number format has no room for the senses of a word, which --senses keeps as keys of their own.
    """
    how: dict[str, Any] = {"dtype": given.dtype, "overwrite": given.force, "format": format}
    with writing_lexicon(out, inputs=[lexicon], **how):
        model = load(lexicon, kind)
        if senses:
            model = as_lexicon(with_senses(with_matrices(model, "--senses"), words))
        if lost := left_behind(model, out, format):
            say(f"note: {out} will not hold {', '.join(lost)}")
        write(model, out, **how)
    if given.as_json:
        print_json({"lexicon": str(out), "words": len(model), "kind": model.kind, "left_behind": lost})
    say(f"{out}: {len(model):,} words, {_described(model)}")


SUBSTITUTION = "substitution"


@command("path", "as_json")
@click.argument("queries", nargs=-1, required=True, metavar="WORD WORD …")
@click.option(
    "--measure",
    default="similarity",
    show_default=True,
    metavar="NAME",
    help=f"One of {', '.join((*measures.MEASURES, SUBSTITUTION))}.",
)
def similarity(given: Shared, queries: tuple[str, ...], measure: str) -> None:
    """How similar words or phrases are: tr(ρσ) / √(tr ρ² · tr σ²).

    Two give one number, more give the table of all pairs. A phrase is written in brackets.

    \b
      polysema similarity bank river -l MODEL
      polysema similarity bank "(river bank)" "(savings bank)" -l MODEL
      polysema similarity bank river --measure fidelity -l MODEL
      polysema similarity "(family (run hotel))" "(family (manage hotel))" --measure substitution

    Substitution says how well the first phrase is said by the second; it has a direction, and needs slots.
    """
    if len(queries) < 2:
        raise InputError("similarity compares two words or phrases, or more")
    table = _table(given.path, queries, measure)
    if given.as_json:
        value = {"value": table[0][1]} if len(queries) == 2 else {}
        print_json({"measure": measure, "queries": queries, **value, "table": table})
    elif len(queries) == 2:
        click.echo(number(table[0][1], 6))
    else:
        print_table([[query, *row] for query, row in zip(queries, table, strict=True)], ["", *queries])


def _table(path: str | None, queries: tuple[str, ...], measure: str) -> list[list[float]]:
    """A measure of all pairs."""
    check_choice("measure", measure, (*measures.MEASURES, SUBSTITUTION))
    model = load(path)
    if measure == SUBSTITUTION:
        found = [with_matrices(model, measure).compose(query, "slots") for query in queries]
        return [[substitution(model, a, b) for b in found] for a in found]
    if measure == "similarity":
        table: list[list[float]] = model.similarities(queries).tolist()
        if len(queries) == 2:
            table[0][1] = table[1][0] = model.similarity(*queries)
        return table
    states = with_matrices(model, measure).meanings(queries)
    return [[measures.MEASURES[measure](a, b) for b in states] for a in states]


@command("path", "as_json", top=10)
@click.argument("queries", nargs=-1, required=True, metavar="WORD …")
@click.option("--common", default=None, type=NATURAL, help="Look only among this many of the most frequent words.")
def neighbours(given: Shared, queries: tuple[str, ...], common: int | None) -> None:
    """The words most similar to a word, or to a phrase.

    \b
      polysema neighbours bank
      polysema neighbours "(river bank)" "(savings bank)" --top 5 -l MODEL
    """
    found = []
    for near in load(given.path).neighbours(list(queries), given.top, common):
        if isinstance(near, Failed):
            raise near.error
        found.append(near)
    if given.as_json:
        asked_and_near = zip(queries, found, strict=True)
        return print_json([{"query": q, "neighbours": [item.to_dict() for item in near]} for q, near in asked_and_near])
    for query, near in zip(queries, found, strict=True):
        heading(query)
        print_table([(f"  {item.word}", item.similarity) for item in near])


@command("path", "as_json", top=8)
@click.argument("words", nargs=-1, required=True, metavar="WORD …")
@narrowing
@click.option("--min-weight", type=float, metavar="W", help="Leave out senses that weigh less.")
@click.option("--examples", is_flag=True, help="Show each sense in use: examples of the dictionary, or of the corpus.")
def senses(given: Shared, words: tuple[str, ...], min_weight: float | None, examples: bool, **narrowed: Any) -> None:
    """List the senses of a word: weight, number, part of speech, key and gloss.

    Senses come from the lexicon's dictionary, at most eight of a word, as coarse as people think; --fine lists all
    that the dictionary tells apart. Words that it lacks, and lexicons without one, have senses found in text, which are
    named by --top words: those that tell a sense from the others (`polysema describe`), else those nearest to it.

    \b
      polysema senses bank run
      polysema senses run --pos noun --fine --examples
      polysema senses saw --lemma see
    """
    model = with_matrices(load(given.path), "a list of senses")
    found = [(word, model.entropy(word), model.senses(word, given.top, min_weight, **narrowed)) for word in words]
    if given.as_json:
        return print_json(
            [{"word": w, "entropy": s, "senses": [each.to_dict() for each in own]} for w, s, own in found]
        )
    for word, entropy, own in found:
        outside = "; not in the dictionary, senses found in text" if model.dictionary and own and not own[0].key else ""
        heading(f"{word}  (entropy {number(entropy)}{outside})")
        _print_senses(own, examples)
        if len(own) == 1 and not narrowed["pos"]:
            click.echo("  (the only sense known)")
        if own and own[0].key and not narrowed["fine"]:
            fine = model.senses(word, given.top, min_weight, **{**narrowed, "fine": True})
            if hidden := len({s.key for s in fine} - {key for s in own for key in s.keys}):
                click.echo(f"  {hidden} further senses: --fine lists all {len(fine)}")


def _print_senses(own: Iterable[Sense], examples: bool) -> None:
    rows = [(s, [f"  {s.weight:.2f}", str(s.id), _part(s), s.key, s.caption]) for s in own]
    if not examples:
        return print_filled([row for _, row in rows])
    for sense, row in rows:
        click.echo("  ".join(filter(None, row)))
        for example in sense.examples:
            click.echo(f"          {example}")
        if sense.description is not None:
            _print_description(sense.description, "          ")


def _part(sense: Sense) -> str:
    """The part of speech, with its share of the sense's occurrences."""
    if sense.part is None:
        return ""
    return sense.part if sense.part_share is None else f"{sense.part} {sense.part_share:.2f}"


def _print_description(description: SenseDescription, indent: str) -> None:
    """What a sense looks like in use, without the words that tell it from others."""
    if description.collocations:
        click.echo(f"{indent}{' · '.join(description.collocations)}")
    for example in description.examples:
        words = example.text.split(" ")
        if example.place < len(words):
            words[example.place] = click.style(words[example.place], bold=True)
        click.echo(f"{indent}{example.sentence:,}: {' '.join(words)}")


@command("path", "as_json", top=20)
@click.argument("words", nargs=-1, metavar="[WORD …]")
@click.option("--by", default="", metavar="MEASURE", help=f"One of {', '.join(AMBIGUITY_MEASURES)}.")
@click.option("--min-count", default=0, show_default=True, type=NATURAL, help="Leave out words seen less often.")
@click.option("--function-words", is_flag=True, help="List function words, too.")
def ambiguity(given: Shared, words: tuple[str, ...], by: str, min_count: int, function_words: bool) -> int:
    """Say how ambiguous words are: the information that contexts give about the sense, and the von Neumann entropy.

    Without words, list the most ambiguous of the vocabulary, by information where the lexicon has it (see `polysema
    describe`), otherwise by entropy. The percentile compares a word with words of similar frequency.

    \b
      polysema ambiguity bank piano -l MODEL
      polysema ambiguity --top 30 --min-count 1000 -l MODEL
      polysema ambiguity --by entropy --function-words
    """
    model = load(given.path)
    if isinstance(model, VectorLexicon):
        raise InputError("this lexicon holds vectors: entropy needs density matrices")
    listing: dict[str, Any] = {"top": given.top, "min_count": min_count, "function_words": function_words}
    found = model.ambiguity(words, by=by) if words else model.ambiguity(by=by, **listing)
    known = [item for item in found if isinstance(item, Ambiguity)]
    failed = [item for item in found if isinstance(item, Failed)]
    if failed and len(found) == 1:
        raise failed[0].error
    if given.as_json:
        print_json([item.to_dict() for item in found])
    else:
        columns = ("word", "information", "percentile", "entropy", "effective_senses", "count")
        headings = [name.removeprefix("effective_") for name in columns]
        print_table([[getattr(item, name) for name in columns] for item in known], headings)
        for item in failed:
            click.echo(shortened(item.error), err=True)
    return 2 if failed else 0


@command("path", "file", "pattern", "text", "brackets", "as_json", "as_lines", method="", top=5)
@click.argument("phrases", nargs=-1, metavar="PHRASE …")
@click.option("--negation", default="", metavar="NAME", help=f"What *not* does: {', '.join(NEGATIONS)}.")
@click.option("--readings", is_flag=True, help="Mix all parses of a sentence that has several.")
def compose(given: Shared, phrases: tuple[str, ...], negation: str, readings: bool) -> int:
    """Compose a phrase and watch its ambiguity resolve.

    Prints the entropy of each ambiguous word alone and in the phrase; then the tree with the von Neumann entropy of the
    composed matrix at every node, and the words nearest to the phrase. Composed by slots, these are words that could
    stand for its head, and it prints the plausibility, too: the mean ln Z of the verb's slots.

    \b
      polysema compose "The local family runs a small hotel."
      polysema compose "(family (run hotel))"
      polysema compose "(bob (likes (old cars)))" --method fuzz -l MODEL
      polysema compose "local family run small hotel" --pattern "adj subj verb adj obj"
      polysema compose "(not apple)" --negation logical
      polysema compose "(old~ (men & women)) | ((old men) & women)"
      polysema compose "He saw the man with a telescope." --readings
      polysema compose --file sentences.txt --json
      polysema compose --file - --jsonl < sentences.txt

    Plain text is parsed (extra parse); words that were left out are listed. A phrase is taken for
    brackets where it cannot be mistaken; --brackets and --text say which it is.

    Brackets need no parser. Those of more than two words are read as a sentence: the verb acts on its object, the verb
    phrase on the subject, an adjective on its noun. Mark another actor with * (takes an argument) or ~ (modifies):
    "(dogs (bark loudly~))"; & joins: "((dogs & cats) sleep)"; | stands between readings of the same words, |0.7 with
    the probability of the first; not, never and no negate what is right of them.

    Methods:
    """
    missing = 'nothing to compose: give a phrase, such as "The local family runs a small hotel."'
    questions = asked(phrases, given, missing)
    model = load(given.path)
    how: dict[str, Any] = {"negation": negation, "readings": readings}

    def ask(part: list[Asked]) -> list[Answered]:
        found = model.compose([item.text for item in part], given.method, given.pattern, **how)
        return list(zip(part, found, strict=True))

    def facts(one: Asked, item: Composition | Failed) -> dict[str, Any]:
        if isinstance(item, Failed):
            return {"asked": one.text}
        near = [neighbour.to_dict() for neighbour in _near(model, item, given.top)]
        words = [dict(zip(("word", "alone", "here"), row, strict=True)) for row in _words(model, item)]
        return {"asked": one.text, **item.to_dict(), "words": words, "neighbours": near, **_plausibility(model, item)}

    def show(item: Composition) -> None:
        if words := _words(model, item):
            print_table(words, ["entropy of each word", "alone", "here"])
            click.echo()
        print_table([(step.branch, step.entropy) for step in item.steps], [f"matrix by {item.method}", "entropy"])
        if item.left_out:
            click.echo(item.left_out_line)
        if near := _near(model, item, given.top):
            click.echo(f"near: {' '.join(word for word, _ in near)}")
        for name, value in _plausibility(model, item).items():
            click.echo(f"{name}: {number(value, 2)}")

    return answer(questions, given, ask, facts, show)


def _words(model: AnyLexicon, composed: Composition) -> list[tuple[str, float, float]]:
    """The ambiguous words of a phrase, each with the entropy of its senses alone and in the phrase."""
    if not isinstance(model, Lexicon) or model.parts.slots is not None:
        return []
    return [(one.form, one.entropy_before, one.entropy_after) for one in model.read(composed.source, nlp=False)]


def _near(model: AnyLexicon, composed: Composition, top: int) -> list[Neighbour]:
    """The words nearest to a phrase; none where it lives in another space than they do, as under Tensor."""
    by_slots = isinstance(composed.meaning, PhraseMatrix)
    return model.neighbours(composed, top, COMMON) if by_slots or composed.meaning.n == model.n else []


def _plausibility(model: AnyLexicon, composed: Composition) -> dict[str, float | None]:
    """How well the words of a phrase composed by slots go together: the mean ln Z of its verb's slots."""
    if not isinstance(model, Lexicon) or not isinstance(composed.meaning, PhraseMatrix):
        return {}
    value = phrase_plausibility(model.slots, composed.meaning.heads)
    return {"plausibility": value if isfinite(value) else None}


compose.help = f"{cleandoc(compose.help or '')}\n\n\b\n" + "\n".join(
    f"  {m.name:<12} {m.formula}" for m in COMPOSERS.values()
)


@command("path", "as_json")
@click.argument("narrow", metavar="A")
@click.argument("broad", metavar="B")
@click.option(
    "--smoothing", default=0.1, show_default=True, metavar="SHARE", help="ε of the last two; 0 does not smooth."
)
def entail(given: Shared, narrow: str, broad: str, smoothing: float) -> None:
    """How strongly A entails B (A is a kind of B), by the graded measures of the hyponymy literature.

    \b
      polysema entail dog animal -l MODEL
      polysema entail "(small dog)" dog -l MODEL

    \b
      k_BA   Σλ / Σ|λ| over the eigenvalues of B − A, in [−1, 1] (largest eigenvalue 1)
      k_E    1 − ‖E‖ / ‖A‖, E the least that makes B − A + E positive, in [0, 1] (largest eigenvalue 1)
      k_hyp  the largest k with B − kA ≥ 0, in [0, 1] (unit trace)
      relative entropy  tr A(ln A − ln B), 0 or more: the less, the more A entails B

    Read k_E first. The last two ask whether the support of A lies within that of B. Words are matrices of
    low rank, for which that is never true: k_hyp would be 0 and the relative entropy infinite for all words. So both
    are computed with B smoothed, (1 − ε)B + ε 1/n. All but k_BA tell related from unrelated words; none tells which
    of two related words is the broader (docs/lexicon.md).
    """
    model = with_matrices(load(given.path), "entailment").with_parts(phrases=None)  # phrases as large as words
    a, b = model.meaning(narrow), model.meaning(broad)
    named: dict[str, Callable[..., Any]] = {
        "k_ba": measures.k_ba,
        "k_e": measures.k_e,
        "k_hyp": partial(measures.k_hyp, smoothing=smoothing),
        "relative_entropy": partial(measures.relative_entropy, smoothing=smoothing),
    }
    forward = {name: measure(a, b) for name, measure in named.items()}
    backward = {name: measure(b, a) for name, measure in named.items()}
    if given.as_json:
        return print_json({"a": narrow, "b": broad, "smoothing": smoothing, **forward, "reversed": backward})
    rows = [(name, forward[name], backward[name]) for name in named]
    print_table(rows, ["", f"{narrow} ⊑ {broad}", f"{broad} ⊑ {narrow}"])


def _described(model: AnyLexicon) -> str:
    return f"{model.n}×{model.m} density matrices" if isinstance(model, Lexicon) else f"vectors of {model.n}"


def _items(content: Any) -> list[tuple[str, Any]]:
    if isinstance(content, dict):
        return [(str(key), value) for key, value in content.items()]
    if isinstance(content, list) and not all(isinstance(value, str) for value in content):
        return [(str(index + 1), value) for index, value in enumerate(content)]
    return [("", content)]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


COMMANDS = [info, convert, similarity, neighbours, senses, ambiguity, compose, entail]
