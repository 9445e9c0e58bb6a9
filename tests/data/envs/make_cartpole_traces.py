#!/usr/bin/env python3
"""Writes cartpole_traces.txt: games of Gymnasium's CartPole-v1, for tests/envs/cartpole.c.

Needs gymnasium and numpy from PyPI; the versions are recorded in the first line. Lines, with doubles in hexadecimal:
  seed S                                          the next game is reset(seed=S), later ones are reset()
  reset x x_dot theta theta_dot
  step action x x_dot theta theta_dot reward terminated truncated
"""
import os

import gymnasium
import numpy

LIMIT = 500
env = gymnasium.make("CartPole-v1")
lines = [f"# CartPole-v1 gymnasium {gymnasium.__version__} numpy {numpy.__version__}"]


def numbers():
    return " ".join(float(value).hex() for value in env.unwrapped.state)


def balance(move, state):
    """Pushes towards the side to which the pole is about to fall, and drifts home."""
    return int(state[2] + 0.3 * state[3] + 0.02 * state[0] + 0.05 * state[1] > 0)


def play(policy, seed=None):
    """One game: its lines, its length and the flags of its end."""
    env.reset(seed=seed)
    game, move = ["reset " + numbers()], 0
    while True:
        action = policy(move, env.unwrapped.state)
        _, reward, terminated, truncated, _ = env.step(action)
        game.append(f"step {action} {numbers()} {reward:g} {terminated:d} {truncated:d}")
        move += 1
        if terminated or truncated:
            return game, move, terminated, truncated


def record(seed, policies):
    lines.append(f"seed {seed}")
    for i, policy in enumerate(policies):
        game, move, terminated, truncated = play(policy, seed if i == 0 else None)
        lines.extend(game)
        print(f"seed {seed} game {i}: {move} moves, terminated {terminated:d}, truncated {truncated:d}")


# Games of random play, three to a seed: the second and third reset go on with the first one's generator.
actions = numpy.random.default_rng(20240601)
for seed in [*range(20), 2**32 - 1, 2**32, 2**63 + 12345]:
    record(seed, [lambda move, state: int(actions.integers(2))] * 3)

# Games that last to the time limit, by a balancing policy.
for seed in [100, 101]:
    record(seed, [balance])

# Leaving by the side of the track: lean the pole to the right and follow it.
record(102, [lambda move, state: int(state[2] - 0.04 + 0.3 * state[3] > 0)])


# The pole falls on the very move that reaches the limit: let go late, at the first move where that comes out.
def let_go(start):
    return lambda move, state: balance(move, state) if move < start else 1


found = None
for seed in range(200, 300):
    for start in range(LIMIT - 20, LIMIT):
        _, move, terminated, truncated = play(let_go(start), seed)
        if terminated and truncated:
            found = (seed, start)
            break
    if found:
        break
record(found[0], [let_go(found[1])])

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cartpole_traces.txt"), "w") as file:
    file.write("\n".join(lines) + "\n")
