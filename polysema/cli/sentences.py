"""Commands about words in their sentences: which sense is meant, and a tour."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from polysema.cli.lexicons import lexicon_option, pairs, top_option
from polysema.cli.output import heading, json_option, lines_of, number, print_json, print_table
from polysema.composition.compose import Composition
from polysema.errors import InputError, MissingExtraError, PolysemaError
from polysema.lexicon.disambiguation import Disambiguation, disambiguate, disambiguate_all
from polysema.lexicon.formats import load
from polysema.lexicon.lexicon import Lexicon

WITHOUT_A_TREE = "by its words alone: pip install 'polysema[parse]' or brackets, and composition tells as well"


@click.command("disambiguate")
@click.argument("word")
@click.argument("contexts", nargs=-1, metavar="SENTENCE …")
@click.option("-f", "--file", callback=lines_of, metavar="FILE", help="Sentences from a file, a line each; - reads on.")
@lexicon_option
@click.option("-m", "--method", default="phaser", show_default=True, metavar="NAME", help="How to compose.")
@click.option("-p", "--pattern", default=None, metavar="ROLES", help='Roles of plain words: "subj verb obj".')
@top_option(6, "neighbours to name each sense by")
@json_option
def disambiguate_command(
    word: str,
    contexts: tuple[str, ...],
    file: list[str] | None,
    path: str | None,
    method: str,
    pattern: str | None,
    top: int,
    as_json: bool,
) -> int:
    """Which sense of WORD is meant in a sentence.

    Gives every sense its probability, by the words around (the context vector), by composition (the trace that each
    sense leaves), and by both; and the word's entropy before and after.

    \b
      polysema disambiguate bank "The bank raised its interest rate."
      polysema disambiguate bank "(river bank)" "(savings bank)"
      polysema disambiguate run "family run hotel" --pattern "subj verb obj"
      polysema disambiguate run --file sentences.txt --json

    A plain sentence is parsed where spaCy is installed; without it the words around tell alone. With -m contextual and
    a lexicon of --model bert2dm its encoder reads the sentence, and senses are clusters of the word's occurrences.
    """
    lines = [line.strip() for line in file if line.strip()] if file is not None else []
    asked = [*contexts, *lines]
    if not asked:
        raise InputError(f'no sentence for {word!r}: give one, such as "The bank raised its interest rate."')
    model = load(path)
    asked_of = [(word, context) for context in asked]
    results = disambiguate_all(asked_of, model, method=method, pattern=pattern, top=top)
    if len(results) == 1 and isinstance(results[0], PolysemaError):
        raise results[0]
    if as_json:
        print_json([_facts(context, item) for context, item in zip(asked, results, strict=True)])
    else:
        for context, item in zip(asked, results, strict=True):
            if isinstance(item, PolysemaError):
                click.echo(f"{context}\n  not told: {item}", err=True)
            else:
                heading(context)
                _print_senses(item)
    return 2 if any(isinstance(item, PolysemaError) for item in results) else 0


def _facts(context: str, item: Disambiguation | PolysemaError) -> dict[str, Any]:
    if isinstance(item, PolysemaError):
        return {"context": context, "error": str(item)}
    return {
        "word": item.word,
        "context": item.context,
        "tree": None if item.tree is None else str(item.tree),
        "entropy_before": item.entropy_before,
        "entropy_after": item.entropy_after,
        "senses": [{**sense._asdict(), "neighbours": pairs(sense.neighbours)} for sense in item.senses],
    }


def _print_senses(item: Disambiguation) -> None:
    click.echo(f"  {item.word}: entropy {number(item.entropy_before)} → {number(item.entropy_after)}")
    rows = [
        (
            f"  {sense.probability:.2f}",
            f"{sense.weight:.2f}",
            f"{sense.by_context:.2f}",
            "–" if sense.by_composition is None else f"{sense.by_composition:.2f}",
            " ".join(near.word for near in sense.neighbours),
        )
        for sense in item.senses
    ]
    print_table(rows, ["  here", "before", "by words", "by tree", "sense"])
    if item.tree is None:
        click.echo(f"  ({WITHOUT_A_TREE})")


# ---------------------------------------------------------------------------------------------------------------- demo

WORDS = ("bank", "run")
SENTENCES = {
    "The bank raised its interest rate.": "(bank (raised (interest rate)))",
    "The boat drifted towards the river bank.": "(boat (drifted (river bank)~))",
}
"""Sentences of the demo, and their brackets for where there is no parser."""


@click.command()
@lexicon_option
def demo(path: str | None) -> None:
    """See it work, in a few seconds: ambiguous words, senses, and context that picks one.

    \b
      polysema demo
    """
    model = load(path)
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
    word, parsed = WORDS[0], True
    for sentence, brackets in SENTENCES.items():
        click.echo(f"  {sentence}")
        try:
            composed, parsed = _composed(model, sentence, brackets)
            told = disambiguate(word, composed, model, top=7)
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
    for what, command in NEXT.items():
        click.echo(f"  {what:<22} {command}")
    if not parsed:
        click.echo("  plain sentences        pip install 'polysema[parse]' && python -m spacy download en_core_web_sm")


NEXT = {
    "a word in context": 'polysema disambiguate plant "The workers at the nuclear plant went home."',
    "entropy step by step": 'polysema compose "((local family) (runs (small hotel)))"',
    "more senses": "polysema senses plant light",
    "similarity": "polysema similarity bank river money",
    "your own text": "polysema train my-text.txt",
    "everything else": "polysema --help",
}


def _composed(model: Lexicon, sentence: str, brackets: str) -> tuple[Composition, bool]:
    """A sentence composed, and whether it was parsed; without a parser, by its brackets."""
    try:
        return model.compose(sentence), True
    except MissingExtraError:
        return model.compose(brackets), False


def _ambiguity(model: Lexicon) -> dict[str, list[str]]:
    """The most and the least ambiguous of frequent words; the 300 most frequent, mostly function words, left out."""
    order = np.argsort(-model.vocabulary.counts, kind="stable")[300:3000]
    if len(order) < 20:
        order = np.arange(len(model))
    ranking = model.ambiguity([model.vocabulary.words[i] for i in order])
    listed = {"most": ranking[:8], "least": ranking[::-1][:8]}
    return {title: [f"{item.word} {item.entropy:.2f}" for item in items] for title, items in listed.items()}


COMMANDS = [disambiguate_command, demo]
