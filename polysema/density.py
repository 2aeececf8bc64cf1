"""One density matrix, kept as a factor.

A word is a mixture of its senses, ρ = Σᵢ pᵢ vᵢ vᵢᵀ (Meyer & Lewis 2020, eq. 1). Write the scaled senses
√pᵢ vᵢ as the columns of a factor B (n, m); then ρ = B Bᵀ is symmetric and positive whatever B holds, and
‖B‖_F = 1 gives it unit trace. Almost everything one asks of ρ costs n·m² on B instead of n³ on ρ.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polysema.errors import MatrixError, needing

Factor = NDArray[np.floating[Any]]
"""An array of shape (..., n, m): the factor of one matrix or, with leading axes, of a stack of them."""

EPS = float(np.finfo(np.float64).eps)


class DensityMatrix:
    """A density matrix ρ = B Bᵀ / tr, or a stack of them.

    Args:
        factor: B, of shape (n, m): its columns are the senses, each scaled by the root of its weight. It need
            not be normalised. Leading axes stack matrices: with (k, n, m) every measure returns k numbers.
        name: what to call it in messages (a word, a phrase).

    A *product* state ρ₁ ⊗ ρ₂ ⊗ … keeps one factor per part (``parts``), so that the n²×n² matrix of the
    Tensor composition is never built; see :meth:`product`.

    >>> bright = DensityMatrix.mixture([2, 1], [[1.0, 0.0], [0.6, 0.8]], name="bright")
    >>> bright
    DensityMatrix('bright', n=2, m=2)
    >>> bright.dense().round(2)
    array([[0.79, 0.16],
           [0.16, 0.21]])
    """

    __slots__ = ("name", "parts")

    parts: tuple[NDArray[np.float64], ...]
    name: str

    def __init__(self, factor: ArrayLike, name: str = "") -> None:
        with np.errstate(invalid="ignore"):  # a signalling NaN is an error below, not a warning here
            array = np.asarray(factor, dtype=np.float64)
        if array.ndim < 2 or 0 in array.shape[-2:]:
            raise MatrixError(f"{_called(name)}a factor has shape (n, m) or (..., n, m), not {array.shape}")
        self.parts = (unit_trace(array, name),)
        self.name = name

    @classmethod
    def product(cls, parts: Sequence[ArrayLike], name: str = "") -> DensityMatrix:
        """ρ₁ ⊗ ρ₂ ⊗ … from the factors of its parts."""
        if not parts:
            raise MatrixError(f"{_called(name)}a product needs at least one part")
        rho = cls(parts[0], name)
        rho.parts += tuple(cls(part, name).parts[0] for part in parts[1:])
        return rho

    @classmethod
    def of_unit_factors(cls, parts: Sequence[NDArray[np.float64]], name: str = "") -> DensityMatrix:
        """ρ₁ ⊗ ρ₂ ⊗ … from factors that are known to be finite and of unit norm: they are not checked again."""
        rho = cls.__new__(cls)
        rho.parts, rho.name = tuple(parts), name
        return rho

    @classmethod
    def mixture(cls, weights: ArrayLike, vectors: ArrayLike, name: str = "") -> DensityMatrix:
        """Σᵢ pᵢ vᵢ vᵢᵀ with pᵢ the weights (scaled to sum to one) and vᵢ the rows of ``vectors``, each made unit."""
        p = np.asarray(weights, dtype=np.float64)
        v = np.asarray(vectors, dtype=np.float64)
        if v.ndim != 2 or p.shape != v.shape[:1]:
            raise MatrixError(f"{_called(name)}{p.shape} weights do not fit {v.shape} vectors: give (m,) and (m, n)")
        if not (np.isfinite(p).all() and (p >= 0).all()):
            raise MatrixError(f"{_called(name)}weights must be finite and not negative: {p.tolist()}")
        length = np.linalg.norm(v, axis=1, keepdims=True)
        if not (np.isfinite(length).all() and (length > 0).all()):
            raise MatrixError(f"{_called(name)}every sense vector must be finite and not zero")
        return cls((v / length * np.sqrt(p)[:, None]).T, name)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, name: str = "", tolerance: float | None = None) -> DensityMatrix:
        """The density matrix with these dense entries, (n, n) or a stack of them.

        Args:
            tolerance: how far, relative to the largest eigenvalue, the entries may be from symmetric and positive
                before it is an error rather than rounding. By default what the array's own precision allows.
        """
        return cls(factorise(matrix, [name], tolerance), name)

    @property
    def n(self) -> int:
        """The dimension of the space: the product of the parts' dimensions."""
        return int(np.prod([part.shape[-2] for part in self.parts]))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the stack; () for a single matrix."""
        return np.broadcast_shapes(*(part.shape[:-2] for part in self.parts))

    @property
    def factor(self) -> NDArray[np.float64]:
        """B with ρ = B Bᵀ and ‖B‖_F = 1; for a product the Kronecker product of the parts' factors."""
        return reduce(_kron, self.parts)

    def dense(self) -> NDArray[np.float64]:
        """ρ itself, of shape (..., n, n)."""
        factor = self.factor
        return factor @ factor.mT

    def eigen(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The r = min(n, m) largest eigenvalues, falling, (..., r), and their eigenvectors as columns, (..., n, r)."""
        u, s, _ = np.linalg.svd(self.factor, full_matrices=False)
        return s**2, u

    def to_qutip(self) -> Any:
        """ρ as a ``Qobj`` of QuTiP; the parts of a product are its subsystems."""
        if self.shape:
            raise MatrixError(f"{_called(self.name)}a Qobj is one matrix, not a stack of {self.shape}: take one")
        with needing("a Qobj of QuTiP", command="pip install qutip"):
            from qutip import Qobj
        dims = [part.shape[-2] for part in self.parts]
        return Qobj(self.dense(), dims=[dims, dims])

    def __getitem__(self, index: Any) -> DensityMatrix:
        """Matrices of the stack."""
        if not self.shape:
            raise IndexError(f"{_called(self.name)}this is a single density matrix, not a stack")
        parts = [np.broadcast_to(part, self.shape + part.shape[-2:])[index] for part in self.parts]
        return DensityMatrix.of_unit_factors(parts, self.name)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{_called(self.name)}this is a single density matrix, not a stack")
        return self.shape[0]

    def __repr__(self) -> str:
        stack = f"stack={self.shape}, " if self.shape else ""
        name = f"{self.name!r}, " if self.name else ""
        n = "⊗".join(str(part.shape[-2]) for part in self.parts)
        m = "⊗".join(str(part.shape[-1]) for part in self.parts)
        return f"DensityMatrix({name}{stack}n={n}, m={m})"


def stack(matrices: Sequence[DensityMatrix]) -> DensityMatrix:
    """Many single density matrices of one space as a stack; narrow factors are padded with zero columns."""
    spaces = {tuple(part.shape[-2] for part in rho.parts) for rho in matrices}
    if len(spaces) != 1:
        raise MatrixError(f"matrices of different spaces do not stack: {sorted(spaces)}")
    parts = []
    for i in range(len(matrices[0].parts)):
        width = max(rho.parts[i].shape[-1] for rho in matrices)
        own = [rho.parts[i] for rho in matrices]
        parts.append(np.stack([np.pad(part, ((0, 0), (0, width - part.shape[-1]))) for part in own]))
    return DensityMatrix.product(parts)


def unit_trace(factor: Factor, name: str = "") -> NDArray[np.float64]:
    """B / ‖B‖_F, so that tr B Bᵀ = 1. A zero or non-finite factor is an error."""
    array = np.asarray(factor, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        square = (array * array).sum(axis=(-2, -1), keepdims=True)
    if ((square > 1e-200) & (square < 1e200)).all():  # neither overflowed, nor vanished, nor NaN
        return np.asarray(array / np.sqrt(square))
    largest = np.abs(array).max(axis=(-2, -1), keepdims=True)
    if not np.isfinite(largest).all():
        raise MatrixError(f"{_called(name)}its density matrix is not finite (NaN or infinity)")
    if not (largest > 0).all():
        raise MatrixError(f"{_called(name)}its density matrix has zero trace")
    scaled = array / largest  # so that squares neither overflow nor vanish
    return np.asarray(scaled / np.linalg.norm(scaled, axis=(-2, -1), keepdims=True))


def factorise(matrices: ArrayLike, names: Sequence[str], tolerance: float | None = None) -> NDArray[np.float64]:
    """Factors (..., n, m) of dense symmetric positive matrices (..., n, n), m the largest rank among them.

    Args:
        names: the name of each matrix, for messages.
        tolerance: see :meth:`DensityMatrix.from_matrix`.
    """
    array = np.asarray(matrices)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        raise MatrixError(f"{_called(names[0] if names else '')}a density matrix is n×n, not of shape {array.shape}")
    if tolerance is None:
        tolerance = ROUNDING.get(array.dtype.name, ROUNDING["float64"])
    array = array.astype(np.float64, copy=False)
    _check(~np.isfinite(array).all(axis=(-2, -1)), names, "its density matrix is not finite (NaN or infinity)")
    largest = np.abs(array).max(axis=(-2, -1), keepdims=True)
    _check(largest[..., 0, 0] == 0, names, "its density matrix has zero trace")
    array = array / largest
    skew = np.abs(array - array.mT).max(axis=(-2, -1))
    _check(skew > tolerance, names, "its density matrix is not symmetric")
    values, vectors = np.linalg.eigh((array + array.mT) / 2)
    top = values[..., -1]
    bad = (values[..., 0] < -tolerance * np.abs(top)) | (top <= 0)
    if bad.any():
        lowest = float(np.ravel(values[..., 0])[int(np.argmax(bad))])
        _check(bad, names, f"its density matrix has a negative eigenvalue ({lowest:.3g}, its largest entry being 1)")
    kept = values > EPS * array.shape[-1] * top[..., None]
    rank = int(kept.sum(axis=-1).max())
    scaled = vectors * np.sqrt(np.where(kept, values, 0))[..., None, :]
    return np.asarray(scaled[..., ::-1][..., :rank] * np.sqrt(largest))


ROUNDING = {"float16": 5e-3, "float32": 1e-5, "float64": 1e-8}
"""How far entries of a type may be from symmetric and positive, relative to the largest, and still be rounding."""


def _check(bad: NDArray[np.bool_], names: Sequence[str], problem: str) -> None:
    if bad.any():
        first = int(np.argmax(np.ravel(bad)))
        more = f" (and {int(bad.sum()) - 1} more)" if bad.sum() > 1 else ""
        raise MatrixError(f"{_called(names[first] if first < len(names) else '')}{problem}{more}")


def _kron(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Kronecker product of the last two axes."""
    product = a[..., :, None, :, None] * b[..., None, :, None, :]
    rows, columns = a.shape[-2] * b.shape[-2], a.shape[-1] * b.shape[-1]
    return product.reshape(*product.shape[:-4], rows, columns)


def _called(name: str) -> str:
    return f"{name!r}: " if name else ""
