"""What the sentences of a text tell of a word, carried on to the sentences after them.

A word starts as its density matrix. With p_k the weights of its senses and e_k(s) the evidence of sentence s,

    p(k | s₁ … s_t) ∝ p(k | s₁ … s_{t−1}) · e_k(s_t) ,        ρ_t = Σ_k p(k | s₁ … s_{t−1}) v_k v_kᵀ

so that the *bank* of the second sentence is what the first has made of it: the posterior of one sentence is the prior
of the next. The evidence is that of the words around in the sentence (:mod:`polysema.senses.disambiguation`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polysema.composition.compose import Composer, Method
from polysema.composition.occurrences import sentences
from polysema.composition.phrases import Read
from polysema.density import DensityMatrix
from polysema.errors import InputError
from polysema.lexicon.lexicon import AnyLexicon, with_matrices
from polysema.senses.disambiguation import Evidence, Place, ReadContext


def recalled(lexicon: AnyLexicon, read: Read, composer: Composer) -> Read:
    """A text as read, with what earlier sentences told of its words; brackets and trees are one sentence."""
    model = with_matrices(lexicon, "memory")
    if not isinstance(composer, Method):
        raise InputError(f"memory goes with methods that compose word by word, not with {composer.name}")
    if not read.is_text:
        return read
    evidence = Evidence(model, composer.name, 1)
    leaf_at = {token.span: leaf for token, leaf in zip(read.tokens, read.leaf_of, strict=True) if leaf is not None}
    told: dict[str, NDArray[np.float64]] = {}
    found: dict[int, DensityMatrix] = {}
    for part in sentences(read):
        known = dict(told)
        for token in part.tokens:
            leaf = leaf_at.get(token.span)
            if leaf is None or len(evidence.senses_of(leaf.word).ids) < 2:
                continue
            if leaf.word in known:
                found[leaf.position] = evidence.meaning(leaf.word, known[leaf.word])
            item = evidence.answer(Place(leaf.word, ReadContext(part), token.span, 0, 1, told.get(leaf.word)))
            told[leaf.word] = evidence.told_by(item)
    return replace(read, recalled=found)
