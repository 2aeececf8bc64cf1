"""Ambiguity as information: the part of a word's entropy that its contexts resolve.

The Holevo quantity of a word w over its own contexts c,

    χ(w) = S(ρ̄) − E_c S(ρ_c) ,      ρ_c = Σ_k p(k|c) v_k v_kᵀ ,      ρ̄ = E_c ρ_c .

It is the most that contexts can tell about which of its meanings a word has (Holevo, 1973).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polysema.measures import mixture_entropies

Array = NDArray[np.float64]


def holevo(posteriors: Array, vectors: Array) -> float:
    """χ of a word, in nats.

    Args:
        posteriors: (contexts, k), p(k|c).
        vectors: (k, n), the unit vectors of the senses.

    >>> holevo(np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2)).__round__(3)
    0.693
    >>> holevo(np.array([[0.5, 0.5], [0.5, 0.5]]), np.eye(2))
    0.0
    """
    overlaps = vectors @ vectors.T
    mean = mixture_entropies(posteriors.mean(axis=0)[None], overlaps)[0]
    return max(float(mean - mixture_entropies(posteriors, overlaps).mean()), 0.0)
