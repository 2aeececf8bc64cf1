"""Sentences whose words carry WordNet sense keys: SemCor, the all-words sets, tagged glosses, WordNet's examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree
from zlib import crc32

from polysema.errors import DataError
from polysema.senses.forms import Forms
from polysema.senses.wordnet_files import SenseKey, WordNet


@dataclass(frozen=True, slots=True)
class Target:
    """A tagged word of a sentence.

    Attributes:
        start, end: its characters in the text.
        lemma: the spelling that its keys share, in lower case, with spaces.
        keys: the right sense keys: usually one.
        second: the id of the sense in a second dictionary; "" where there is none.
        id: its name in an evaluation set.
        pos: its part of speech there.
    """

    start: int
    end: int
    lemma: str
    keys: tuple[str, ...]
    second: str = ""
    id: str = ""
    pos: str = ""

    @property
    def part_of_speech(self) -> str:
        """``noun``, ``verb``, ``adj`` or ``adv``: as the set says, otherwise that of the right key."""
        digits = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
        return self.pos or digits[self.keys[0].partition("%")[2][0]]


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence and its tagged words.

    Attributes:
        source: ``semcor``, ``glosses``, ``examples`` or the name of an evaluation set.
        document: the file or text it comes from.
    """

    text: str
    targets: tuple[Target, ...]
    source: str
    document: str


def held_out_synset(synset: str) -> bool:
    """Whether a synset gives no example sentence to any training: one in five, by a hash of its id."""
    return crc32(synset.encode()) % 5 == 0


def with_neighbours(sentences: Sequence[TaggedSentence], count: int = 1) -> list[TaggedSentence]:
    """Each sentence with so many before and after it of the same document as its text; its targets stay its own."""
    found = []
    for i, sentence in enumerate(sentences):
        around = range(max(0, i - count), min(len(sentences), i + count + 1))
        texts = {j: sentences[j].text for j in around if sentences[j].document == sentence.document}
        shift = sum(len(text) + 1 for j, text in texts.items() if j < i)
        targets = tuple(replace(t, start=t.start + shift, end=t.end + shift) for t in sentence.targets)
        found.append(replace(sentence, text=" ".join(texts.values()), targets=targets))
    return found


class _Text:
    """Joins tokens to a text: no space before a closing mark or a clitic, none after an opening bracket."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, token: str) -> tuple[int, int]:
        token = {"``": '"', "''": '"', "`": "'", "-LRB-": "(", "-RRB-": ")"}.get(token, token)
        glued = token in _CLOSING or token.lower() in _CLITICS or self.text[-1:] in ("", "(", "[", "$")
        self.text += token if glued else " " + token
        return len(self.text) - len(token), len(self.text)


_CLOSING = set(".,;:!?)]%") | {"..."}
_CLITICS = {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "'"}


def read_semcor(folder: Path, keys: Iterable[SenseKey]) -> Iterator[TaggedSentence]:
    """SemCor 3.0 in its original form.

    Keys that WordNet 3.0 lacks are mended: ``(a)`` and ``(p)`` are dropped from a head word and *n't* becomes *not*.
    Those that are still unknown, and names tagged as *person*, *group* or *location*, carry no tag.

    Args:
        keys: the sense keys of WordNet.
    """
    files = sorted(path for path in folder.iterdir() if path.name.startswith("brown"))
    if not files:
        raise DataError(f"{folder} holds no SemCor files (brown1_br-a01 …): unpack semcor in its original form there")
    known = {key.key for key in keys}
    for path in files:
        for sentence in re.split(r"<s snum=", path.read_text(encoding="utf-8", errors="replace"))[1:]:
            text, targets = _Text(), []
            for found in _WORD.finditer(sentence.partition("</s>")[0]):
                start, end = text.add(unescape(found["word"]).replace("_", " "))
                attributes = dict(_ATTRIBUTE.findall(found["attributes"] or ""))
                if "lexsn" not in attributes or "pn" in attributes:
                    continue
                lemma = unescape(attributes["lemma"]).lower().replace("n't", "not")
                lemma = _MARKER.sub("", lemma)
                right = [f"{lemma}%{_MARKER.sub('', sense)}" for sense in attributes["lexsn"].split(";")]
                if any(key in known for key in right):
                    kept = tuple(key for key in right if key in known)
                    second = attributes.get("oed_id", "").rpartition("/")[2]
                    targets.append(Target(start, end, lemma.replace("_", " "), kept, second))
            if text.text:
                yield TaggedSentence(text.text, tuple(targets), "semcor", path.name)


_WORD = re.compile(r"<(?:wf(?P<attributes>[^>]*)|punc)>(?P<word>[^<]*)</")
_ATTRIBUTE = re.compile(r'(\w+)="?([^"\s>]+)"?')
_MARKER = re.compile(r"\((?:a|p|ip)\)")


def read_masc(folder: Path, known: Iterable[SenseKey]) -> Iterator[TaggedSentence]:
    """The Manually Annotated Sub-Corpus with the senses of a second dictionary, as the WordNet keys they stand for.

    One sense of that dictionary often stands for several keys: all are right. The articles of the Wall Street Journal
    are left out, since evaluation sets hold others like them.

    Args:
        folder: of google-research-datasets/word_sense_disambigation_corpora: ``masc`` and ``manual_map.txt``.
        known: the sense keys of WordNet.
    """
    mapping, of_key = folder / "manual_map.txt", {key.key for key in known}
    if not mapping.is_file():
        raise DataError(f"{folder} lacks manual_map.txt: give the folder of word_sense_disambigation_corpora")
    keys = {}
    for line in mapping.read_text(encoding="utf-8").splitlines():
        sense, _, listed = line.partition("\t")
        found = [key for key in listed.split(",") if key in of_key]
        own = tuple(key for key in found if key.partition("%")[0] == found[0].partition("%")[0])
        if own:
            keys[sense] = own
    for path in sorted((folder / "masc").rglob("*.xml")):
        if path.name.startswith("wsj"):
            continue
        text, targets, document = "", list[Target](), path.relative_to(folder).as_posix()
        for word in ElementTree.parse(path).getroot().iter("word"):  # noqa: S314  (a file of the user's own)
            gap = word.get("break_level", "SPACE_BREAK")
            if gap in ("SENTENCE_BREAK", "PARAGRAPH_BREAK") and text:
                if targets:
                    yield TaggedSentence(text, tuple(targets), "masc", document)
                text, targets = "", []
            text += " " if text and gap != "NO_BREAK" else ""
            start, right = len(text), keys.get(word.get("sense", ""), ())
            text += word.get("text", "")
            if right and len(text) > start:
                targets.append(Target(start, len(text), right[0].partition("%")[0].replace("_", " "), right))
        if targets:
            yield TaggedSentence(text, tuple(targets), "masc", document)


def read_all_words(folder: Path, name: str) -> Iterator[TaggedSentence]:
    """An all-words evaluation set in the format of Raganato, Camacho-Collados and Navigli (2017).

    Args:
        folder: holds a folder of each set.
        name: ``senseval2``, ``semeval2007`` …, or ``ALL``.
    """
    data, gold = folder / name / f"{name}.data.xml", folder / name / f"{name}.gold.key.txt"
    if not (data.is_file() and gold.is_file()):
        raise DataError(f"{folder / name} lacks {data.name} or {gold.name}: unpack the all-words evaluation sets there")
    right = {}
    for line in gold.read_text(encoding="utf-8").splitlines():
        instance, *keys = line.split()
        right[instance] = tuple(keys)
    for document in ElementTree.parse(data).getroot().iter("text"):  # noqa: S314  (a file of the user's own)
        for sentence in document.iter("sentence"):
            text, targets = _Text(), []
            for word in sentence:
                start, end = text.add((word.text or "").replace("_", " "))
                if word.tag == "instance":
                    instance, lemma = word.attrib["id"], word.attrib["lemma"].lower().replace("_", " ")
                    targets.append(
                        Target(start, end, lemma, right[instance], id=instance, pos=word.attrib["pos"].lower())
                    )
            yield TaggedSentence(text.text, tuple(targets), name, document.attrib["id"])


def read_tagged_glosses(folder: Path, wordnet: WordNet) -> Iterator[TaggedSentence]:
    """The Princeton WordNet Gloss Corpus as JSON lines (own-pt/glosstag, ``data/ann``): manual tags only.

    Examples of held-out synsets are left out; see :func:`held_out_synset`.
    """
    known = {key.key for key in wordnet.keys}
    for path in sorted(folder.glob("*.jl")):
        for line in path.read_bytes().splitlines():  # str.splitlines would also cut at separators inside a string
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # a few lines of the corpus are cut off
            synset = f"{entry['ofs']}-{entry['type'].replace('s', 'a')}"
            text, targets, skipped = _Text(), [], False
            spans: dict[str, tuple[int, int]] = {}
            waiting: list[tuple[str, list[str]]] = []
            for token in entry["tokens"]:
                kind = token["kind"][0]
                if kind == "ex":
                    skipped = token["action"] == "open" and held_out_synset(synset)
                senses = [key for key in token.get("senses", ()) if key in known] if token.get("tag") == "man" else []
                if kind == "glob":
                    waiting.append((token["kind"][1], senses))
                elif kind in ("wf", "cf") and not skipped:
                    start, end = text.add(token["form"].replace("_", " "))
                    for group in token["kind"][1:]:
                        spans[group] = (spans.get(group, (start, end))[0], end)
                    if senses:
                        targets.append((start, end, senses))
            targets += [(*spans[group], senses) for group, senses in waiting if senses and group in spans]
            if targets:
                made = tuple(
                    Target(start, end, senses[0].partition("%")[0].replace("_", " "), tuple(senses))
                    for start, end, senses in targets
                )
                yield TaggedSentence(text.text, made, "glosses", synset)


def wordnet_examples(wordnet: WordNet, forms: Forms) -> Iterator[TaggedSentence]:
    """WordNet's own examples that show one word of their synset; those of held-out synsets are left out."""
    of_synset: dict[str, dict[str, str]] = {}
    for key in wordnet.keys:
        of_synset.setdefault(key.synset, {})[key.lemma] = key.key
    for synset in wordnet.synsets.values():
        if held_out_synset(synset.id):
            continue
        keys = of_synset[synset.id]
        for example in synset.examples:
            found = find_lemmas(example, set(keys), forms, synset.id[-1])
            if len(found) == 1:
                start, end, lemma = found[0]
                target = Target(start, end, lemma, (keys[lemma],))
                yield TaggedSentence(example, (target,), "examples", synset.id)


def find_lemmas(text: str, lemmas: set[str], forms: Forms, pos: str) -> list[tuple[int, int, str]]:
    """Where some lemmas stand in a text, inflected or not: (first character, end, lemma)."""
    words = [(found.start(), found.end()) for found in re.finditer(r"[^\W_]+(?:['’.\-][^\W_]+)*\.?", text)]
    longest = max((lemma.count(" ") + 1 for lemma in lemmas), default=0)
    found: list[tuple[int, int, str]] = []
    for first in range(len(words)):
        for count in range(1, min(longest, len(words) - first) + 1):
            start, end = words[first][0], words[first + count - 1][1]
            for stop in (end, end - 1) if text[end - 1] == "." else (end,):
                form = " ".join(text[start:stop].lower().split())
                base = next((base for base, _ in forms.lemmas(form, pos) if base in lemmas), None)
                if base:
                    found.append((start, stop, base))
                    break
    return found
