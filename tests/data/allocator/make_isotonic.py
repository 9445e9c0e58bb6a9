"""Writes isotonic.json: monotone regressions solved by SciPy, for tests/allocator/isotonic.c and tests/allocator/isotonic_grid.c.

    pip install numpy scipy;  python make_isotonic.py

With A f >= 0 for the order and W for the weights, the optimum is f = y + W^-1 A' k, where k >= 0 minimises
|W^1/2 y + W^-1/2 A' k|: non-negative least squares, solved by scipy.optimize.nnls (an active-set method). The script checks f against the
conditions of Karush, Kuhn and Tucker before it writes. Coordinates, observations and weights have few digits, so that the file is small and
both sides read the same numbers.
"""
import json
import os

import numpy
import scipy
from scipy.optimize import nnls

generator = numpy.random.default_rng(22)


def order_of(x):
    """Pairs (i, j) with x[i] <= x[j] in every coordinate and no other point between them."""
    below = (x[:, None, :] <= x[None, :, :]).all(axis=2)
    strictly = below & ~below.T
    pairs = []
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j and below[i, j] and not (strictly[i] & strictly[:, j]).any():
                pairs.append((i, j))
    return pairs


def solve(x, y, weight):
    pairs = order_of(x)
    if not pairs:
        return y.copy()
    rows = numpy.zeros((len(pairs), len(y)))
    for row, (i, j) in zip(rows, pairs):
        row[i], row[j] = -1, 1
    root = numpy.sqrt(weight)
    scaled = rows / root
    multipliers, _ = nnls(scaled.T, -root * y, maxiter=100000)
    fitted = y + rows.T @ multipliers / weight
    slack = rows @ fitted
    assert slack.min() > -1e-12 and numpy.abs(slack * multipliers).max() < 1e-11, (slack.min(), numpy.abs(slack * multipliers).max())
    return fitted


def observations(x, trend, noise):
    y = (x @ numpy.full(x.shape[1], trend) + noise * generator.standard_normal(len(x))).round(3)
    return y, generator.uniform(0.2, 3, len(x)).round(2)


def scattered(count, axes, values, trend, noise):
    x = generator.integers(0, values, (count, axes)).astype(float)
    y, weight = observations(x, trend, noise)
    return {"axes": axes, "x": x.ravel().astype(int).tolist(), "y": y.tolist(), "weight": weight.tolist(), "fitted": solve(x, y, weight).tolist()}


def grid(counts, falls, empty, trend, noise):
    """Coordinates rise by 1; what falls along an axis rises with the negated one."""
    x = numpy.stack(numpy.meshgrid(*[numpy.arange(n) for n in counts], indexing="ij"), axis=-1).reshape(-1, len(counts)).astype(float)
    x *= numpy.where(falls, -1, 1)
    y, weight = observations(x, trend, noise)
    weight[generator.permutation(len(x))[: round(empty * len(x))]] = 0
    seen = weight > 0
    fitted = numpy.zeros(len(x))  # of cells without an observation: not compared
    fitted[seen] = solve(x[seen], y[seen], weight[seen])
    return {"counts": counts, "falls": falls, "y": y.tolist(), "weight": weight.tolist(), "fitted": fitted.tolist()}


made = {
    "made_with": {"numpy": numpy.__version__, "scipy": scipy.__version__},
    "scattered": [scattered(n, axes, values, trend, 1) for n, axes, values, trend in
                  [(1, 1, 2, 0), (20, 1, 20, 0.1), (20, 1, 5, 0.3), (30, 2, 6, 0), (30, 2, 6, 0.3), (30, 3, 5, 0), (30, 3, 4, 0.5), (40, 5, 3, 0.3), (30, 2, 6, -0.5)]],
    "grids": [grid(counts, falls, empty, trend, 1) for counts, falls, empty, trend in
              [([12], [False], 0, 0.1), ([6, 7], [False, True], 0, 0), ([6, 7], [True, True], 0, 0.3), ([6, 7], [False, False], 0.4, 0.1),
               ([3, 4, 4], [False, True, False], 0, 0.1), ([4, 4, 4], [True, False, False], 0.6, 0.1), ([3, 3, 2, 3], [False, True, True, False], 0.2, 0)]],
}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "isotonic.json"), "w") as file:
    file.write("{\n" + ",\n".join(f'"{key}": ' + (json.dumps(value) if isinstance(value, dict) else
               "[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in value) + "\n]") for key, value in made.items()) + "\n}\n")
