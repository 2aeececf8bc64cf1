"""Trains the encoder of the dictionary, and makes the dictionary.

    python tools/sense_dictionary.py train OUT --minilm FOLDER --semcor FOLDER [--glosses FOLDER] [--minutes 60]
    python tools/sense_dictionary.py build OUT --semcor FOLDER

``train`` writes ``encoder.safetensors`` and ``vocabulary.txt`` into OUT; it needs the extra ``encoders``. On a graphics
card, ``--device cuda --batches sentences --sentences 48 --rate 8e-5 --frozen-layers 0`` trains with every gloss of a
batch. ``heads`` keeps the layers of the encoder in OUT and trains its two heads with every sense in the softmax, which needs no
graphics card. ``build`` adds ``dictionary.safetensors`` and ``figures.json``.

WordNet 3.0 is read from ``--wordnet`` (by default ``/usr/share/wordnet``), SemCor in its original form, the WordNet
Gloss Corpus as the JSON lines of own-pt/glosstag (``data/ann``).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from polysema.encoders.gloss_encoder import GlossEncoder
from polysema.encoders.gloss_training import BATCHES, GlossTraining
from polysema.encoders.head_training import HeadTraining
from polysema.senses.making import (
    choose_blend,
    encode_glosses,
    make_dictionary,
    read_tagged_text,
    refit_heads,
    train_encoder,
)
from polysema.senses.wordnet_files import read_wordnet


def main() -> None:
    """Train or build."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["train", "heads", "build"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--semcor", type=Path, required=True)
    parser.add_argument("--glosses", type=Path)
    parser.add_argument("--minilm", type=Path)
    usual = GlossTraining()
    parser.add_argument("--minutes", type=float, default=usual.minutes)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rate", type=float, default=usual.rate)
    parser.add_argument("--batches", choices=BATCHES, default=usual.batches)
    parser.add_argument("--spellings", type=int, default=usual.spellings)
    parser.add_argument("--sentences", type=int, default=usual.sentences)
    parser.add_argument("--frozen-layers", type=int, default=usual.frozen_layers)
    parser.add_argument("--device", default=usual.device)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seed", type=int, default=usual.seed)
    o = parser.parse_args()
    if o.step == "train" and o.minilm is None:
        parser.error("train needs --minilm: the folder of all-MiniLM-L6-v2")
    wordnet = read_wordnet(o.wordnet)
    if o.step == "train":
        options = GlossTraining(
            minutes=o.minutes, steps=o.steps, rate=o.rate, batches=o.batches, spellings=o.spellings,
            sentences=o.sentences, frozen_layers=o.frozen_layers, device=o.device, threads=o.threads, seed=o.seed,
        )  # fmt: skip
        train_encoder(wordnet, read_tagged_text(wordnet, o.semcor, o.glosses), o.minilm, o.out, options, say)
        return
    encoder = GlossEncoder.load(o.out)
    if o.step == "heads":
        text = read_tagged_text(wordnet, o.semcor)
        refit_heads(wordnet, text, encoder, HeadTraining(seed=o.seed), say).save(o.out)
        return
    vectors = encode_glosses(wordnet, encoder, lambda done, total: say(f"{done} of {total} glosses"))
    text = read_tagged_text(wordnet, o.semcor)
    vectors, accuracies = choose_blend(wordnet, text, encoder, vectors)
    say(f"accuracy on the documents to choose on, by the weight of occurrences: {accuracies}")
    dictionary, figures = make_dictionary(wordnet, text, encoder, vectors)
    figures["blend"] = accuracies
    dictionary.file.save(o.out)
    (o.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    say(json.dumps(figures))


def say(line: str) -> None:
    """Print a line with the time of day."""
    print(time.strftime("%H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    main()
