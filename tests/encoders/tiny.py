"""A small BERT with random weights and a vocabulary of its own, made on the spot."""

from pathlib import Path

import numpy as np

from polysema.corpus.build import build_corpus
from polysema.corpus.corpus import Corpus

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,"]
PIECES += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
PIECES += [
    "the", "bank", "river", "money", "family", "run", "runs", "hotel", "flow", "##ing", "##ed", "small", "said", "is",
    "that", "it",
]  # fmt: skip


def make_encoder(folder: Path, *, depth: int = 3, width: int = 24, positions: int = 40) -> Path:
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    BertTokenizerFast(
        vocab=str(folder / "vocab.txt"), vocab_file=str(folder / "vocab.txt"), model_max_length=positions
    ).save_pretrained(folder)
    torch.set_num_threads(1)  # nothing here is large enough to share among cores
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(PIECES), hidden_size=width, num_hidden_layers=depth, num_attention_heads=4, intermediate_size=32,
        max_position_embeddings=positions + 2, initializer_range=0.3,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


def make_corpus(folder: Path, sentences: int = 120, seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    words = [
        "bank", "river", "money", "family", "run", "hotel", "flowing", "the", "of", "lend", "shore", "loan", "walk",
        "xyz",
    ]  # fmt: skip
    text = [[words[i] for i in rng.integers(0, len(words), rng.integers(2, 15))] for _ in range(sentences)]
    text[5] = ["money", "hapax", "bank"]
    text[9] = ["lend"] * 60 + ["river"]  # longer than the window
    return build_corpus(text, folder)
