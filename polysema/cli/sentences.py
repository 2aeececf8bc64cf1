"""Commands about words in their sentences: which sense is meant, and a tour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from polysema.cli.output import Answered, Asked, Shared, answer, asked, command, heading, number, print_table
from polysema.composition.compose import Composition
from polysema.errors import Failed, MissingExtraError, PolysemaError
from polysema.lexicon.lexicon import Lexicon, load, with_matrices
from polysema.meanings.ambiguity import Ambiguity
from polysema.senses.answers import Disambiguation


@command(
    "path", "file", "pattern", "text", "brackets", "no_parser", "as_json", "as_lines",
    name="disambiguate", method="phaser", top=6,
)  # fmt: skip
@click.argument("word")
@click.argument("contexts", nargs=-1, metavar="SENTENCE …")
@click.option("--every", is_flag=True, help="Answer every occurrence of the word, not only the first.")
def disambiguate_command(given: Shared, word: str, contexts: tuple[str, ...], every: bool) -> int:
    """Which sense of WORD is meant in a sentence.

    Gives every sense its probability by context words (the context vector), by composition (the trace that each sense
    leaves), and by both; and the word's entropy before and after.

    \b
      polysema disambiguate bank "The bank raised its interest rate."
      polysema disambiguate bank "From the river bank he walked to the bank." --every
      polysema disambiguate bank "(river bank)" "(savings bank)"
      polysema disambiguate run "family run hotel" --pattern "subj verb obj"
      polysema disambiguate run --file sentences.txt --json
      polysema disambiguate - --file - --jsonl < questions.jsonl

    With --jsonl a line of the file may be {"word": …, "text": …}; the word - stands for that of each line.

    Plain text is parsed where spaCy is installed; without it only context words are used. A bracketed tree is taken for
    one where it cannot be mistaken, "(river bank)"; --brackets and --text say which it is. With -m contextual and a
    lexicon of --model bert2dm its encoder reads the sentence, and senses are clusters of the word's occurrences.
    """
    missing = f'no sentence for {word!r}: give one, such as "The bank raised its interest rate."'
    questions = asked(contexts, given, missing)
    model = with_matrices(load(given.path), "a choice of senses")
    nlp = False if given.no_parser else None
    options: dict[str, Any] = {"method": given.method, "pattern": given.pattern, "top": given.top, "nlp": nlp}

    def ask(part: list[Asked]) -> list[Answered]:
        results: list[Answered] = []
        first = model.disambiguate([(item.word(word), item.text) for item in part], **options)
        for sentence, found in zip(part, first, strict=True):
            if every and isinstance(found, Disambiguation) and found.occurrences > 1:
                several = model.disambiguate(sentence.word(word), sentence.text, **options, which="all")
                results += [(sentence, one) for one in several]
            else:
                results.append((sentence, found))
        return results

    def facts(one: Asked, item: Disambiguation | Failed) -> dict[str, Any]:
        return {"word": item.input[0], "context": str(item.input[1])} if isinstance(item, Failed) else item.to_dict()

    return answer(questions, given, ask, facts, lambda item: _print_senses(item, every))


def _print_senses(item: Disambiguation, every: bool) -> None:
    start, end = item.span
    several = f" at {start}–{end} ({item.occurrence + 1} of {item.occurrences})" if item.occurrences > 1 else ""
    heading(item.context)
    click.echo(f"  {item.word}{several}: entropy {number(item.entropy_before)} → {number(item.entropy_after)}")
    rows = [
        (
            f"  {sense.probability:.2f}",
            f"{sense.weight:.2f}",
            f"{sense.by_context:.2f}",
            "–" if sense.by_composition is None else f"{sense.by_composition:.2f}",
            str(sense.id),
            sense.part or "",
            sense.label,
        )
        for sense in item.senses
    ]
    _print_table(rows, ["  here", "before", "by words", "by tree", "id", "part", "sense"])
    if item.fits is False:
        click.echo("  (none of these: the context is unlike those that the word was seen in)")
    if item.no_tree:
        click.echo(f"  (by context words alone: {item.no_tree})")
    if several and not every:
        click.echo("  (--every answers all occurrences)")


def _print_table(rows: Sequence[Sequence[str]], headings: list[str]) -> None:
    """A table without columns that say nothing: parts of speech are not always known."""
    kept = [i for i in range(len(headings)) if not rows or any(row[i] for row in rows)]
    print_table([[row[i] for i in kept] for row in rows], [headings[i] for i in kept])


@command(
    "path", "file", "memory", "no_parser", "as_json", "as_lines", name="read", method="phaser", top=5
)  # fmt: skip
@click.argument("texts", nargs=-1, metavar="TEXT …")
@click.option(
    "--min-weight", default=0.1, show_default=True, help="A word is ambiguous if two of its senses weigh this much."
)
def read_command(given: Shared, texts: tuple[str, ...], min_weight: float) -> int:
    """Every ambiguous content word of a text with the sense that is meant.

    Each word is given with where it stands (first character, and the one after its last), the probability of the sense,
    its part of speech, and the words nearest to that sense.

    \b
      polysema read "The plant manager took a match from his case."
      polysema read "He rowed to the river bank. They sat on the bank." --memory
      polysema read --file sentences.txt --json
      polysema read --file - --jsonl < sentences.txt
    """
    given.text = True
    missing = 'nothing to read: give a text, such as "The plant manager took a match from his case."'
    questions = asked(texts, given, missing)
    model = with_matrices(load(given.path), "a choice of senses")
    options: dict[str, Any] = {"method": given.method, "top": given.top, "min_weight": min_weight}
    options |= {"memory": given.memory, "nlp": False if given.no_parser else None}

    def ask(part: list[Asked]) -> list[Answered]:
        return [(one, (one.text, model.read(one.text, **options))) for one in part]

    def facts(one: Asked, item: tuple[str, list[Disambiguation]]) -> dict[str, Any]:
        return {"text": item[0], "words": [word.to_dict() for word in item[1]]}

    def show(item: tuple[str, list[Disambiguation]]) -> None:
        heading(item[0])
        rows = [
            (
                f"  {word.span[0]}–{word.span[1]}",
                word.form,
                f"{word.sense.probability:.2f}",
                str(word.sense.id),
                word.sense.part or "",
                word.sense.label if word.fits is not False else f"none of these? {word.sense.label}",
            )
            for word in item[1]
        ]
        _print_table(rows, ["  where", "word", "here", "id", "part", "sense"])

    return answer(questions, given, ask, facts, show)


# ---------------------------------------------------------------------------------------------------------------- demo

WORDS = ("bank", "run")
SENTENCES = {
    "The bank raised its interest rate.": "(bank (raised (interest rate)))",
    "The boat drifted towards the river bank.": "(boat (drifted (river bank)~))",
}
"""Sentences of the demo, and their brackets for where there is no parser."""


@command("path")
def demo(given: Shared) -> None:
    """See it work, in a few seconds: ambiguous words, senses, and context that picks one.

    \b
      polysema demo
    """
    model = with_matrices(load(given.path), "the tour")
    heading(f"Words as mixtures of their senses: {len(model):,} words, {model.n}×{model.m} density matrices\n")
    heading("1. How ambiguous is a word?  Its von Neumann entropy says.")
    for title, words in _ambiguity(model).items():
        click.echo(f"  {title:<6} {'  '.join(words)}")
    heading("\n2. What are its senses?  The columns of its matrix, each named by the words nearest to it.")
    for word in (word for word in WORDS if word in model):
        click.echo(f"  {word}  (entropy {number(model.entropy(word))})")
        senses = model.senses(word, 7, min_weight=0.05)
        print_table([(f"    {s.weight:.2f}", " ".join(near.word for near in s.neighbours)) for s in senses])
    heading("\n3. Which one is meant?  Context tells, step by step.")
    word, missing = WORDS[0], ""
    for sentence, brackets in SENTENCES.items():
        click.echo(f"  {sentence}")
        try:
            composed, missing = _composed(model, sentence, brackets)
            told = model.disambiguate(word, composed, top=7)
        except PolysemaError as error:
            click.echo(f"    this lexicon cannot tell: {error}\n")
            continue
        print_table([(f"    {step.branch}", step.entropy) for step in composed.steps], ["    composed", "entropy"])
        best = told.senses[0]
        click.echo(
            f"    {word}: entropy {number(told.entropy_before)} → {number(told.entropy_after)}, "
            f"{best.probability:.0%} {' '.join(near.word for near in best.neighbours)}\n"
        )
    heading("What to type next")
    for what, line in NEXT.items():
        click.echo(f"  {what:<22} {line}")
    if missing:
        click.echo(f"  plain sentences        {missing}")


NEXT = {
    "a word in context": 'polysema disambiguate plant "The workers at the nuclear plant went home."',
    "a whole sentence": 'polysema read "The plant manager took a match from his case."',
    "entropy step by step": 'polysema compose "((local family) (runs (small hotel)))"',
    "more senses": "polysema senses plant light",
    "similarity": "polysema similarity bank river money",
    "your own text": "polysema train my-text.txt",
    "everything else": "polysema --help",
}


def _composed(model: Lexicon, sentence: str, brackets: str) -> tuple[Composition, str]:
    """A sentence composed; without a parser, by its brackets, with the command that installs what is missing."""
    try:
        return model.compose(sentence), ""
    except MissingExtraError as error:
        return model.compose(brackets), error.command


def _ambiguity(model: Lexicon) -> dict[str, list[str]]:
    """The most and the least ambiguous of frequent words; the 300 most frequent, mostly function words, left out."""
    order = np.argsort(-model.vocabulary.counts, kind="stable")[300:3000]
    if len(order) < 20:
        order = np.arange(len(model))
    found = model.ambiguity([model.vocabulary.words[i] for i in order])
    ranking = sorted((item for item in found if isinstance(item, Ambiguity)), key=lambda item: -item.entropy)
    listed = {"most": ranking[:8], "least": ranking[::-1][:8]}
    return {title: [f"{item.word} {item.entropy:.2f}" for item in items] for title, items in listed.items()}


COMMANDS = [disambiguate_command, read_command, demo]
