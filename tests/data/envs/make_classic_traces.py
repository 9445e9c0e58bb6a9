#!/usr/bin/env python3
"""Writes mountaincar_traces.txt and acrobot_traces.txt: 200 games each of Gymnasium, for tests/envs/classic.c.

Needs gymnasium and numpy from PyPI; the versions are recorded in the first line. make_classic_traces.py [FOLDER [SEED]]: `ctest -L
live` compares other games than the committed ones so. Lines, with doubles in hexadecimal:
  seed S                       the next game is reset(seed=S), later ones are reset()
  reset NUMBERS                the state a game begins in
  game MOVES TERMINATED TRUNCATED ACTIONS
                               all of its moves: three actions a character of ALPHABET, the first least significant, base 3
  at MOVE NUMBERS NUMBERS      the states before and after that move of the game, 0 the first: every STRIDEth, and the last two
Every other game is played at random; the others swing up.
"""
import os
import sys

import gymnasium
import numpy

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQ"
GAMES, GAMES_OF_A_SEED = 200, 4


def push_along(state):
    """Drives a car the way it rolls."""
    return 2 if state[1] > 0 else 0


def swing(state):
    """Turns the second link against the swing of the first."""
    return 0 if state[2] > 0 else 2


def numbers(env):
    return " ".join(float(value).hex() for value in env.unwrapped.state)


def pack(actions):
    out = ""
    for at in range(0, len(actions), 3):
        digits = actions[at : at + 3] + [0, 0]
        out += ALPHABET[digits[0] + 3 * digits[1] + 9 * digits[2]]
    return out


def play(env, choose, stride):
    """A game from where the environment was reset to: its lines."""
    states, actions = [numbers(env)], []
    terminated = truncated = False
    while not terminated and not truncated:
        action = int(choose(env.unwrapped.state))
        _, reward, terminated, truncated, _ = env.step(action)
        assert reward == (0.0 if terminated and env.spec.id == "Acrobot-v1" else -1.0)
        actions.append(action)
        states.append(numbers(env))
    lines = ["reset " + states[0], f"game {len(actions)} {terminated:d} {truncated:d} {pack(actions)}"]
    for move in range(len(actions)):
        if move % stride == stride - 1 or move >= len(actions) - 2:
            lines.append(f"at {move} {states[move]} {states[move + 1]}")
    return lines


def write(name, identity, policy, stride, first_seed):
    env = gymnasium.make(identity)
    random = numpy.random.default_rng(first_seed)
    lines = [f"# {identity} gymnasium {gymnasium.__version__} numpy {numpy.__version__}"]
    for game in range(GAMES):
        if game % GAMES_OF_A_SEED == 0:
            seed = first_seed + game
            lines.append(f"seed {seed}")
            env.reset(seed=seed)
        else:
            env.reset()
        noise = random.random() / 2
        if game % 2:
            lines += play(env, lambda state: random.integers(3), stride)
        else:
            lines += play(env, lambda state: random.integers(3) if random.random() < noise else policy(state), stride)
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    first_seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    write("mountaincar_traces.txt", "MountainCar-v0", push_along, 24, first_seed)
    write("acrobot_traces.txt", "Acrobot-v1", swing, 64, first_seed)


main()
