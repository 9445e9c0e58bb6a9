#!/usr/bin/env python3
"""Writes random_state.txt: draws of numpy.random.RandomState, for tests/envs/numpy_random_state.c.

Needs numpy from PyPI; its version is recorded in the first line. Lines, each continuing where the one before it ended:
  seed S            RandomState(S) from here on
  words W …         randint(0, 2**32, dtype=uint32)
  rand D …          rand(), in hexadecimal
  randint N R …     randint(N)
  choice N R …      choice(list(range(N)))
  skip N            N words are drawn
"""
import os

import numpy

COUNT = 12
lines = [f"# numpy {numpy.__version__}"]
for seed in (0, 1, 5489, 2**31, 2**32 - 1):
    state = numpy.random.RandomState(seed)
    lines.append(f"seed {seed}")
    for _ in range(2):
        words = [state.randint(0, 2**32, dtype=numpy.uint32) for _ in range(COUNT)]
        lines.append("words " + " ".join(str(word) for word in words))
        lines.append("rand " + " ".join(state.rand().hex() for _ in range(COUNT)))
        for below in (1, 2, 3, 5, 8, 100, 2**31 + 1):
            lines.append(f"randint {below} " + " ".join(str(state.randint(below)) for _ in range(COUNT)))
        for below in (2, 7):
            lines.append(f"choice {below} " + " ".join(str(state.choice(list(range(below)))) for _ in range(COUNT)))
        for _ in range(5000):
            state.randint(0, 2**32, dtype=numpy.uint32)
        lines.append("skip 5000")

folder = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(folder, "random_state.txt"), "w") as out:
    out.write("\n".join(lines) + "\n")
