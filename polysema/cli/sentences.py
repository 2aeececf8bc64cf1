"""Commands about words in their sentences: which sense is meant, and a tour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from polysema.cli.output import (
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
)
from polysema.errors import Failed, InputError, MissingExtraError, PolysemaError
from polysema.lexicon.lexicon import Lexicon, load, ranking, with_matrices
from polysema.meanings.ambiguity import Ambiguity
from polysema.senses.answers import Disambiguation


@command(
    "path", "file", "pattern", "method", "text", "brackets", "no_parser", "as_json", "as_lines",
    name="disambiguate", top=6,
)  # fmt: skip
@click.argument("word")
@click.argument("contexts", nargs=-1, metavar="SENTENCE …")
@click.option("--every", is_flag=True, help="Answer every occurrence of the word, not only the first.")
@click.option("--alike", is_flag=True, help="How alike its uses in two sentences are, 0 to 1, with the sense of each.")
@narrowing
def disambiguate_command(
    given: Shared, word: str, contexts: tuple[str, ...], every: bool, alike: bool, **narrowed: Any
) -> int:
    """Which sense of WORD is meant in a sentence, or in a text of any length.

    Gives the senses of the lexicon's dictionary with their probabilities here and before, keys and glosses, and the
    word's entropy before and after. A word with one known sense says so; "none of these" says that probably none fits.

    \b
      polysema disambiguate bank "The bank raised its interest rate."
      polysema disambiguate bank "The bank owns the land along the bank of the river." --every
      polysema disambiguate saw "He cut the board with a saw." --pos noun
      polysema disambiguate bank "We fished from the bank." "The bank is closed on Sundays." --alike
      polysema disambiguate run --file sentences.txt --json
      polysema disambiguate - --file - --jsonl < questions.jsonl

    With --jsonl a line of the file may be {"word": …, "text": …}; the word - stands for that of each line. Brackets and
    words for a pattern are read as their words in order.

    Words that the dictionary lacks, and lexicons without one, have senses found in text: chosen by context words (the
    context vector), by composition (the trace that each sense leaves), and by both. There plain text is parsed where
    spaCy is installed, and -m names a method; with -m contextual and a lexicon of --model bert2dm its encoder reads the
    sentence. A bracketed tree is taken for one where it cannot be mistaken, "(river bank)"; --brackets and --text say
    which it is.
    """
    missing = f'no sentence for {word!r}: give one, such as "The bank raised its interest rate."'
    model = with_matrices(load(given.path), "a choice of senses")
    if alike:
        _print_alike(model, given, word, contexts, narrowed)
        return 0
    questions = asked(contexts, given, missing)
    nlp = False if given.no_parser else None
    options: dict[str, Any] = {"method": given.method or "", "pattern": given.pattern, "top": given.top, "nlp": nlp}
    options |= narrowed

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

    def show(item: Disambiguation) -> None:
        _print_senses(item, every, model.dictionary is not None and not item.sense.key)

    return answer(questions, given, ask, facts, show)


def _print_senses(item: Disambiguation, every: bool, outside: bool) -> None:
    start, end = item.span
    several = f" at {start}–{end} ({item.occurrence + 1} of {item.occurrences})" if item.occurrences > 1 else ""
    heading(item.context)
    click.echo(f"  {item.word}{several}: entropy {number(item.entropy_before)} → {number(item.entropy_after)}")
    headings = ["  here", "before", "by words", "by tree", "id", "part", "key", "sense"]
    rows = [
        [
            "  only" if item.only_sense else f"  {sense.probability:.2f}",
            f"{sense.weight:.2f}",
            "" if sense.key else f"{sense.by_context:.2f}",
            "" if sense.key else "–" if sense.by_composition is None else f"{sense.by_composition:.2f}",
            str(sense.id),
            sense.part or "",
            sense.key,
            sense.caption,
        ]
        for sense in item.senses
    ]
    print_filled(rows, headings)
    if item.only_sense:
        click.echo("  (the only sense known)")
    if item.fits is False:
        click.echo("  (none of these: the word seems to mean something else here)")
    if outside:
        click.echo("  (not in the dictionary: senses found in text)")
    if item.no_tree:
        click.echo(f"  (by context words alone: {item.no_tree})")
    if several and not every:
        click.echo("  (--every answers all occurrences)")


def _print_alike(model: Lexicon, given: Shared, word: str, texts: Sequence[str], narrowed: dict[str, Any]) -> None:
    """How alike two uses of a word are, with the sense of each."""
    if len(texts) != 2 or given.file:
        raise InputError(f"--alike compares two sentences, not {len(texts)}: give them after the word")
    first, second = texts
    alike = model.same_use(word, first, second, pos=narrowed["pos"], lemma=narrowed["lemma"])
    uses = [model.disambiguate(word, text, **narrowed) for text in texts]
    if given.as_json:
        return print_json({"word": word, "similarity": alike, "uses": [use.to_dict() for use in uses]})
    click.echo(f"the two uses of {word} are alike by {number(alike)}, from 0 to 1")
    print_table([(f"  {use.context}", _probability(use), use.sense.key, use.sense.caption) for use in uses])


def _probability(item: Disambiguation) -> str:
    return "only" if item.only_sense else f"{item.sense.probability:.2f}"


@command("path", "file", "method", "no_parser", "as_json", "as_lines", name="read", top=5)
@click.argument("texts", nargs=-1, metavar="TEXT …")
@click.option("--every", is_flag=True, help="Words with one sense, too.")
@click.option("--fine", is_flag=True, help="All senses that the dictionary tells apart.")
@click.option("--steps", is_flag=True, help="Read word by word: print a word when its likeliest sense changes.")
@click.option("--min-weight", type=float, metavar="W", help="A word is ambiguous if two of its senses weigh this much.")
def read_command(given: Shared, texts: tuple[str, ...], steps: bool, **options: Any) -> int:
    """Every ambiguous content word of a text with the sense that is meant.

    Each word is given with where it stands (first character, and the one after its last), the probability of the sense,
    its number, part of speech, key and gloss; words that the dictionary lacks with the words nearest to the sense.

    \b
      polysema read "He took a match from his case and lit his pipe."
      polysema read "The bank by the river was steep." --steps
      polysema read --file sentences.txt --json
      polysema read --file - --jsonl < sentences.txt

    --method is for lexicons without a dictionary, whose senses were found in text; see polysema disambiguate --help.
    """
    given.text = True
    missing = 'nothing to read: give a text, such as "He took a match from his case and lit his pipe."'
    questions = asked(texts, given, missing)
    model = with_matrices(load(given.path), "a choice of senses")
    own: dict[str, Any] = {"every": options["every"], "fine": options["fine"]}
    options |= {"method": given.method or "", "top": given.top}
    options["nlp"] = False if given.no_parser else None

    def ask(part: list[Asked]) -> list[Answered]:
        if steps:
            return [(one, (one.text, model.read_steps(one.text, **own))) for one in part]
        found = model.read([one.text for one in part], **options)
        return [(one, (one.text, words)) for one, words in zip(part, found, strict=True)]

    def facts(one: Asked, item: tuple[str, list[Any]]) -> dict[str, Any]:
        if steps:
            return {"text": item[0], "steps": [[word.to_dict() for word in step] for step in item[1]]}
        return {"text": item[0], "words": [word.to_dict() for word in item[1]]}

    def show(item: tuple[str, list[Any]]) -> None:
        heading(item[0])
        words = _changes(item[1]) if steps else [("", word) for word in item[1]]
        rows = [
            [
                f"  {after}" if steps else f"  {word.span[0]}–{word.span[1]}",
                word.form,
                _probability(word),
                str(word.sense.id),
                word.sense.part or "",
                word.sense.key,
                word.sense.caption if word.fits is not False else f"none of these? {word.sense.caption}",
            ]
            for after, word in words
        ]
        print_filled(rows, ["  after" if steps else "  where", "word", "here", "id", "part", "key", "sense"])

    return answer(questions, given, ask, facts, show)


def _changes(steps: Sequence[Sequence[Disambiguation]]) -> list[tuple[str, Disambiguation]]:
    """Each word when it is first read, and whenever another sense is likeliest, with the word that was read then."""
    found, known = [], dict[int, tuple[str, int]]()
    for step in steps:
        for word in step:
            meant = (word.word, word.sense.id)
            if known.get(word.span[0]) != meant:
                known[word.span[0]] = meant
                found.append((word.context.split()[-1], word))
    return found


# ---------------------------------------------------------------------------------------------------------------- demo

WORDS = ("bank", "match")
SENTENCES = ("The bank raised its interest rate.", "They rowed to the river bank.")
PHRASE = "The boat drifted towards the river bank."
BRACKETS = "(boat (drifted (river bank)~))"
"""The phrase of the demo where there is no parser."""


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
    heading("\n2. What are its senses?")
    for word in (word for word in WORDS if model.knows(word)):
        click.echo(f"  {word}  (entropy {number(model.entropy(word))})")
        senses = model.senses(word, 7, min_weight=0.02)
        print_table([(f"    {s.weight:.2f}", s.part or "", s.caption) for s in senses])
    heading("\n3. Which one is meant?  Context tells.")
    for sentence in SENTENCES:
        try:
            told = model.disambiguate(WORDS[0], sentence, top=7)
        except PolysemaError as error:
            click.echo(f"    this lexicon cannot tell: {error}\n")
            continue
        click.echo(f"  {sentence}  (entropy {number(told.entropy_before)} → {number(told.entropy_after)})")
        print_table([(f"    {s.probability:.2f}", s.part or "", s.caption) for s in told.senses[:3]])
    heading("\n4. What does a phrase mean?  Words act on each other, step by step.")
    missing = ""
    try:
        try:
            composed = model.compose(PHRASE)
        except MissingExtraError as error:  # there is no parser
            composed, missing = model.compose(BRACKETS), error.command
        print_table([(f"    {step.branch}", step.entropy) for step in composed.steps], ["    composed", "entropy"])
    except PolysemaError as error:
        click.echo(f"    this lexicon cannot tell: {error}")
    heading("\nWhat to type next")
    for what, line in NEXT.items():
        click.echo(f"  {what:<22} {line}")
    if missing:
        click.echo(f"  plain sentences        {missing}")


NEXT = {
    "a word in context": 'polysema disambiguate plant "The workers at the nuclear plant went home."',
    "a whole sentence": 'polysema read "He took a match from his case and lit his pipe."',
    "two uses compared": 'polysema disambiguate cell "They locked him in a cell." "The cell divides." --alike',
    "entropy step by step": 'polysema compose "((local family) (runs (small hotel)))"',
    "word by word": 'polysema read "The bank by the river was steep." --steps',
    "more senses": "polysema senses plant light",
    "similarity": "polysema similarity bank river money",
    "in a browser": "polysema explore",
    "your own text": "polysema train my-text.txt",
    "everything else": "polysema --help",
}


def _ambiguity(model: Lexicon) -> dict[str, list[str]]:
    """The most and the least ambiguous of frequent words; the 300 most frequent, mostly function words, left out."""
    order = np.argsort(-model.vocabulary.counts, kind="stable")[300:3000]
    order = order[ranking(model).content[order]]
    if len(order) < 20:
        order = np.arange(len(model))
    found = model.ambiguity([model.vocabulary.words[i] for i in order])
    listed = sorted((item for item in found if isinstance(item, Ambiguity)), key=lambda item: -item.entropy)
    ends = {"most": listed[:8], "least": listed[::-1][:8]}
    return {title: [f"{item.word} {item.entropy:.2f}" for item in items] for title, items in ends.items()}


COMMANDS = [disambiguate_command, read_command, demo]
