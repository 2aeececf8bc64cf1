"""Plain vectors, the baselines' meanings: kept as a tuple of parts, a₁ ⊗ a₂ ⊗ …, as density matrices are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polysema.errors import MatrixError


class Vector:
    """A vector of shape (..., n), or a product of such; leading axes stack.

    Lengths are kept as they come: an unnormalised sum weighs longer vectors more, as it does in every vector model.
    """

    __slots__ = ("name", "parts")

    parts: tuple[NDArray[np.float64], ...]
    name: str

    def __init__(self, array: ArrayLike, name: str = "") -> None:
        self.parts = (_checked(array, name),)
        self.name = name

    @classmethod
    def product(cls, parts: Sequence[ArrayLike], name: str = "") -> Vector:
        """a₁ ⊗ a₂ ⊗ … from its parts."""
        vector = cls(parts[0], name)
        vector.parts += tuple(_checked(part, name) for part in parts[1:])
        return vector

    @property
    def n(self) -> int:
        """The dimension of the space: the product of the parts' dimensions."""
        return int(np.prod([part.shape[-1] for part in self.parts]))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the stack; () for a single vector."""
        return np.broadcast_shapes(*(part.shape[:-1] for part in self.parts))

    def dense(self) -> NDArray[np.float64]:
        """The vector itself, of shape (..., n)."""
        array = self.parts[0]
        for part in self.parts[1:]:
            array = (array[..., :, None] * part[..., None, :]).reshape(*self.shape, -1)
        return array

    def __repr__(self) -> str:
        stack = f"stack={self.shape}, " if self.shape else ""
        name = f"{self.name!r}, " if self.name else ""
        return f"Vector({name}{stack}n={'⊗'.join(str(part.shape[-1]) for part in self.parts)})"


def units(vectors: NDArray[Any], axis: int = -1) -> NDArray[Any]:
    """Vectors made of length one along an axis; those of zeros stay zero."""
    length = np.linalg.norm(vectors, axis=axis, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0))


def cosine(a: Vector, b: Vector) -> Any:
    """⟨a, b⟩ / (‖a‖ ‖b‖), over a product the product of the parts' cosines; a float, or an array for stacks."""
    if [part.shape[-1] for part in a.parts] != [part.shape[-1] for part in b.parts]:
        raise MatrixError(f"{a!r} and {b!r} live in different spaces: they cannot be compared")
    product = np.ones(np.broadcast_shapes(a.shape, b.shape))
    for x, y in zip(a.parts, b.parts, strict=True):
        product = product * (x * y).sum(axis=-1) / (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1))
    product = np.clip(product, -1.0, 1.0)
    return float(product) if product.ndim == 0 else product


def _checked(array: ArrayLike, name: str) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # a signalling NaN is an error below, not a warning here
        vector = np.asarray(array, dtype=np.float64)
    called = f"{name!r}: " if name else ""
    if vector.ndim < 1 or vector.shape[-1] == 0:
        raise MatrixError(f"{called}a vector has shape (n,) or (..., n), not {vector.shape}")
    if not np.isfinite(vector).all():
        raise MatrixError(f"{called}its vector is not finite (NaN or infinity)")
    if not vector.any(axis=-1).all():
        raise MatrixError(f"{called}its vector is zero")
    return vector
