"""Trains the encoder of the dictionary, and makes the dictionary.

    python tools/sense_dictionary.py train OUT --minilm FOLDER --semcor FOLDER [--glosses FOLDER] [--masc FOLDER]
        [--mpnet FOLDER --text FILE …]
    python tools/sense_dictionary.py build OUT --minilm FOLDER --semcor FOLDER [--glosses FOLDER] [--masc FOLDER]
        [--sets FOLDER]
    polysema tag TEXT … -l OUT -o TAGGED
    python tools/sense_dictionary.py count OUT --tagged TAGGED

``train`` writes ``encoder.safetensors`` and ``pieces.txt`` into OUT, ``build`` adds ``dictionary.safetensors`` and
``figures.json``; both need the extra ``encoders``. ``count`` adds how often each sense stands in text that was tagged.
With ``--mpnet`` a large encoder is trained first, for ``--teacher-minutes``, and teaches the small one on running text;
``train`` then also writes ``glosses.npz``, where the teacher puts each gloss, and ``build`` takes these. This needs
``--device cuda``, a graphics card.

WordNet 3.0 is read from ``--wordnet`` (by default ``/usr/share/wordnet``), SemCor in its original form, the WordNet
Gloss Corpus as the JSON lines of own-pt/glosstag (``data/ann``), MASC as in
google-research-datasets/word_sense_disambigation_corpora, all-MiniLM-L6-v2 and all-mpnet-base-v2 as in Hugging Face's
files. FILE is text, one paragraph a line. With ``--sets``, the all-words evaluation sets, ``build`` also calibrates on
SemEval-2007, their development set.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

import numpy as np

from polysema.encoders.distillation import Distillation, form_table, plain_text
from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.encoders.gloss_training import GlossTraining
from polysema.encoders.torch_encoder import MPNET, FastEncoder, TorchEncoder, read_minilm, read_mpnet
from polysema.encoders.wordpiece import WordPiece
from polysema.senses.dictionary import Dictionary
from polysema.senses.dictionary_files import DictionaryFile
from polysema.senses.making import (
    TaggedText,
    choose_blend,
    distil,
    encode_glosses,
    lemmas_of,
    make_dictionary,
    pieces_of,
    plain_vectors,
    read_tagged_text,
    train_encoder,
)
from polysema.senses.wordnet_files import WordNet, read_wordnet
from polysema.use.frequencies import shares
from polysema.use.tagged import opened

TAUGHT = "glosses.npz"


def main() -> None:
    """Train, build or count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["train", "build", "count"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--semcor", type=Path)
    parser.add_argument("--glosses", type=Path)
    parser.add_argument("--masc", type=Path)
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--mpnet", type=Path)
    parser.add_argument("--text", type=Path, nargs="+", default=[])
    parser.add_argument("--teacher-minutes", type=float, default=2.5)
    parser.add_argument("--tagged", type=Path)
    usual = GlossTraining()
    parser.add_argument("--minutes", type=float, default=usual.minutes)
    parser.add_argument("--rate", type=float, default=usual.rate)
    for name in ("steps", "sentences", "seed", "threads"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name))
    parser.add_argument("--device", default=usual.device)
    o = parser.parse_args()
    if o.step == "count":
        if o.tagged is None:
            parser.error("count needs --tagged: a folder that polysema tag wrote")
        with_counts(Dictionary.load(o.out), o.tagged).save(o.out)
        return
    if o.semcor is None or o.minilm is None:
        parser.error(f"{o.step} needs --semcor and --minilm")
    wordnet = read_wordnet(o.wordnet)
    text = read_tagged_text(wordnet, o.semcor, o.glosses, o.masc, o.sets)
    if o.step == "train":
        train(o, wordnet, text)
        return
    encoder = GlossEncoder.load(o.out)
    fast = FastEncoder(encoder, o.device)
    if (o.out / TAUGHT).is_file():
        glosses = np.load(o.out / TAUGHT)["glosses"].astype(np.float32)
    else:
        glosses = encode_glosses(wordnet, fast, lambda done, total: say(f"{done} of {total} glosses"))
    vectors, chosen, tried = choose_blend(wordnet, text, fast, glosses)
    say(f"chosen: {chosen}")
    dictionary, figures = make_dictionary(
        wordnet, text, encoder, vectors, chosen.ratio, plain_vectors(wordnet, o.minilm)
    )
    figures["blend"] = {"chosen": chosen._asdict(), "tried": [found._asdict() for found in tried]}
    dictionary.file.save(o.out)
    (o.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    say(json.dumps(figures))


def train(o: argparse.Namespace, wordnet: WordNet, text: TaggedText) -> None:
    """Train the small encoder by tagged text alone, or by a teacher as well."""
    reader = WordPiece.load(o.minilm / "vocab.txt")
    run = {"minutes": o.minutes, "steps": o.steps, "device": o.device, "threads": o.threads, "seed": o.seed}
    small = TorchEncoder(read_minilm(o.minilm), reader, device=o.device)
    if o.mpnet is None:
        options = GlossTraining(rate=o.rate, sentences=o.sentences, **run)
        train_encoder(pieces_of(wordnet, text, reader, options), small, options, o.out, say)
        return
    large = TorchEncoder(read_mpnet(o.mpnet, reader), reader, MPNET, dropout=0.1, device=o.device)
    options = GlossTraining(**{**run, "minutes": o.teacher_minutes}, rate=5e-5, sentences=128, read_again=640,
                            longest=80, joined=0.3, prefixes=0.05)  # fmt: skip
    pieces = pieces_of(wordnet, text, reader, options)
    teacher = train_encoder(pieces, large, options, report=say)
    paragraphs = [line for path in o.text for line in path.read_text(encoding="utf-8").splitlines()]
    plain = plain_text(paragraphs, reader, 62)
    words = {word for line in paragraphs for word in re.findall(r"[^\W\d_]+", line.lower())}
    forms = form_table(sorted(words), lemmas_of(wordnet), pieces.table, reader)
    lesson = Distillation(rate=3e-4, sentences=96, glosses=192, **run)
    glosses = distil(pieces, teacher, small, plain, forms, lesson, o.out, say)
    np.savez(o.out / TAUGHT, glosses=glosses.astype(np.float16))


def with_counts(dictionary: Dictionary, tagged: Path) -> DictionaryFile:
    """A dictionary that also knows how often a tagged text has each sense, corrected for the frequencies there."""
    file, corpus = dictionary.file, opened(tagged, [], dictionary)
    corpus.index()
    counts = np.zeros(len(file.synset_of), np.uint16)
    for word in corpus.counts:
        uses = corpus.uses(word)
        counts[uses.rows] = np.minimum(np.rint(shares(uses) * len(uses)), 65535).astype(np.uint16)
    return DictionaryFile({**file.tensors, f"count.{tagged.stem}": counts}, file.options)


def say(line: str) -> None:
    """Print a line with the time of day."""
    print(time.strftime("%H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    main()
