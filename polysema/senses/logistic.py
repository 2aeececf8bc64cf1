"""Ridge logistic regression by Newton's method: P(true | x) = σ(w·x + b)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def logistic_regression(
    x: Floats, truth: NDArray[np.bool_], weight: Floats | None = None, ridge: float = 1.0
) -> Floats:
    """(w, b) of the largest likelihood: (features + 1,).

    Args:
        x: (N, features).
        weight: (N,) how much each row counts; by default 1.
        ridge: the price of ½‖w‖²; b is free.
    """
    ones = np.ones(len(x))
    x, weight = np.column_stack([x, ones]), ones if weight is None else weight
    penalty = ridge * np.diag([*np.ones(x.shape[1] - 1), 0.0])
    theta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ theta))
        gradient = x.T @ (weight * (p - truth)) + penalty @ theta
        curvature = (x * (weight * p * (1 - p))[:, None]).T @ x + penalty + 1e-12 * np.eye(x.shape[1])
        step = np.linalg.solve(curvature, gradient)
        theta -= step
        if np.abs(step).max() < 1e-8:
            break
    return theta
