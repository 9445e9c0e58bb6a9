"""Environments of Python packages, played for muzero in a process of its own: Gymnasium's and OpenSpiel's.

muzero starts this script with a socket as descriptor 3 (envs/worker/process.h). A message of JSON says what to play, one comes back
that describes it, then shared memory arrives, and from then on each byte over the socket stands for a batch of rows in that memory
(envs/worker/mailbox.h): they are played, the answers are written beside the questions, and a byte goes back. The end of the socket is
the end of this process.
"""
import sys

# The script comes from memory, so that Python takes / for its folder and would import from there before all others.
if sys.path[:1] == ["/"]:
    del sys.path[0]
import array
import ast
import contextlib
import difflib
import importlib
import json
import math
import mmap
import operator
import os
import re
import select
import signal
import socket
import struct
import threading
import time
import traceback

# Workers share the cores: NumPy's threads would wait for one another there.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

VERSION = 3
PYTHON_MIN = (3, 9)
HEADER = struct.Struct("=8I")  # magic, version, rows, row bytes, serial, count, done, 0
ANSWERED, DONE = struct.Struct("=Q"), struct.Struct("=I")
ANSWERED_AT, DONE_AT, ROWS_AT, BODY_AT = 32, 24, 64, 64
QUESTION = struct.Struct("=iiQiI")  # instance, action, seed, length of the history, 0
ANSWER = struct.Struct("=fBBBBiiiB")  # reward, terminated, truncated, refused, 0, player, length of the history, moves, masked
ANSWER_AT = 24
RESET, LOOK, TEXT = -1, -2, -3
ACTIONS_MAX, NAMES_BYTES_MAX, BOUNDS_MAX, RULES_MAX = 1024, 40000, 256, 600
ERROR_MAX = 2000  # characters; escaped, they fit a message
CLOSING_S = 2  # that environments have to close
REWARD_MAX = 3.4028234e38  # as the program keeps them
# Options that are not the environment's.
OPTIONS = "workers timeout limit reward_min reward_max return_min return_max import wrap grey size frames".split()


class Refused(Exception):
    """A mistake of whoever named the environment: its text is the message."""


def value_of(text):
    """The value of an option: a number, true, false, none, a list; any other text is a text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def arguments_of(text):
    """The arguments of "a, key=b", as a call takes them."""
    call = ast.parse("f(" + text + ")", mode="eval").body
    return [ast.literal_eval(a) for a in call.args], {k.arg: ast.literal_eval(k.value) for k in call.keywords}


def import_named(module):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Refused(f"Python ({sys.executable}) cannot import {module}: {error}") from error


def import_package(module, package):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Refused(
            f"Python ({sys.executable}) has no package {package}: {error}; `{sys.executable} -m pip install {package}` "
            "installs it, MUZERO_PYTHON names another interpreter"
        ) from error


def floats_of(x):
    """The bytes of float32 entries; x is a NumPy array or any sequence of numbers."""
    return x.astype("f4").tobytes() if hasattr(x, "astype") else array.array("f", x).tobytes()


def names_are_too_long(names):
    """Whether a description with these names of actions may not fit a message."""
    return sum(len(json.dumps(name)) + 2 for name in names) > NAMES_BYTES_MAX
