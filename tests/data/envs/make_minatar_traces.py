#!/usr/bin/env python3
"""Writes minatar_traces.txt: what the games of the package MinAtar do, for tests/envs/minatar.c.

Needs minatar, numpy and xxhash from PyPI; the versions are recorded in the first line. A record is one environment, seeded once,
that is played for some steps; after a game's end, or `limit` steps, the next one is reset. Its lines:
  play ENVIRONMENT seed S steps N actions random A    action indices are RandomState(A).randint(actions), one a step
  play ENVIRONMENT seed S steps N actions recorded    they follow, one digit a step
  actions DIGITS
  digests HEX                                         eight digits for every 50 steps
  total games G rewards R
ENVIRONMENT is the name of the variant that must do the same. The digest of 50 steps is the low half of XXH64, seed 0, of these
bytes: the observation after each reset; after each step the reward, 1 or 0 for terminal, and the observation, one byte an entry
(row, column, channel). Rewards are integers from -1 up, and stand there as bytes modulo 256.

One thing differs from the package as it is: it lets its last action outlive a reset, so that a sticky first step may repeat the
action of the game before. Here a game begins as if nothing had been done.

  make_minatar_traces.py [FILE [FIRST_SEED [RANDOM_STEPS [GUIDED_STEPS]]]]
"""
import copy
import importlib.metadata
import os
import sys

import minatar
import numpy
import xxhash

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
RAMPING = ("asterix", "seaquest", "space_invaders")
ENDLESS = ("asterix", "breakout", "seaquest", "space_invaders")
NOOP, LEFT, UP, RIGHT, DOWN, FIRE = range(6)
BLOCK, LINE = 50, 100

# --- Policies that get further than random ones: from the game's own numbers to one of the six actions. ---


def towards(here, there, less, more):
    return less if there < here else more if there > here else NOOP


def guide_breakout(game):
    """Keeps the paddle where the ball will be."""
    step = 1 if game.ball_dir in (1, 2) else -1
    return towards(game.pos, min(9, max(0, game.ball_x + step)), LEFT, RIGHT)


def guide_freeway(game):
    """Goes up where the cell above stays free for a while."""
    for x, y, timer, speed in game.cars:
        if y == game.pos - 1 and (abs(x - 4) <= 1 or (x - 4) * speed < 0 and abs(x - 4) == 2):
            return NOOP
    return UP


def guide_asterix(game):
    """Fetches the nearest gold by free rows, and leaves rows in which an enemy comes."""

    def danger(x, y):
        entity = game.entities[y - 1] if 1 <= y <= 8 else None
        return entity is not None and not entity[3] and abs(entity[0] - x) <= 2

    x, y = game.player_x, game.player_y
    golds = [(abs(e[0] - x) + abs(e[1] - y), e) for e in game.entities if e is not None and e[3]]
    wish = NOOP
    if golds:
        gold = min(golds, key=lambda g: g[0])[1]
        wish = towards(y, gold[1], UP, DOWN) or towards(x, gold[0], LEFT, RIGHT)
    places = {NOOP: (x, y), LEFT: (x - 1, y), UP: (x, y - 1), RIGHT: (x + 1, y), DOWN: (x, y + 1)}
    for action in (wish, UP, DOWN, LEFT, RIGHT):
        if not danger(*places[action]):
            return action
    return wish


def guide_seaquest(game):
    """Rescues divers, shoots what is in its row, and surfaces in time."""
    x, y = game.sub_x, game.sub_y
    if game.diver_count > 0 and (game.oxygen < 60 or game.diver_count >= 6) or game.surface is False and game.oxygen < 15:
        return UP
    for enemy in game.e_fish + game.e_subs:
        ahead = enemy[0] > x if game.sub_or else enemy[0] < x
        if enemy[1] == y and abs(enemy[0] - x) <= 5:
            return FIRE if ahead else (RIGHT if enemy[0] > x else LEFT)
    divers = [d for d in game.divers]
    if divers:
        diver = min(divers, key=lambda d: abs(d[0] - x) + abs(d[1] - y))
        return towards(y, diver[1], UP, DOWN) or towards(x, diver[0], LEFT, RIGHT)
    return DOWN if y < 4 else FIRE


def guide_space_invaders(game):
    """Shoots from under the nearest aliens, and steps out of a bullet's way."""
    pos = game.pos
    if game.e_bullet_map[6:, pos].any():
        return LEFT if pos > 0 and not game.e_bullet_map[6:, pos - 1].any() else RIGHT
    columns = numpy.flatnonzero(game.alien_map.any(axis=0))
    nearest = columns[numpy.abs(columns + game.alien_dir - pos).argmin()]
    return FIRE if abs(nearest - pos) <= 1 and game.shot_timer == 0 else towards(pos, nearest, LEFT, RIGHT)


GUIDES = {
    "asterix": guide_asterix,
    "breakout": guide_breakout,
    "freeway": guide_freeway,
    "seaquest": guide_seaquest,
    "space_invaders": guide_space_invaders,
}



def survives(env, action, policy, steps):
    """Whether a copy of the environment, its generator included, lives on for some steps after the action."""
    ahead = copy.deepcopy(env)
    for _ in range(steps):
        if ahead.act(action)[1]:
            return False
        action = policy(ahead.env)
    return True


def guide(env, name, choices, actions):
    """The policy's action, or one that survives; now and then any."""
    if choices.rand() < 0.02:
        return actions[choices.randint(len(actions))]
    policy = GUIDES[name]
    wish = policy(env.env)
    for action in [wish] + [int(other) for other in choices.permutation(actions)]:
        if survives(env, action, policy, 12):
            return action
    return wish


# --- Records. ---


def play(out, name, sticky, ramping, minimal, limit, seed, steps, guided):
    env = minatar.Environment(name, sticky_action_prob=sticky, difficulty_ramping=ramping)
    actions = env.minimal_action_set() if minimal else list(range(6))
    env.seed(seed)
    choices = numpy.random.RandomState(seed + 1000)

    options = [f"sticky={sticky}", f"actions={'minimal' if minimal else 'all'}"]
    if name in RAMPING:
        options.append(f"ramping={'on' if ramping else 'off'}")
    if name in ENDLESS:
        options.append(f"limit={limit}")
    chosen, digests, block = [], [], bytearray()
    games, rewards, moves = 0, 0, 0
    for step in range(steps):
        if moves == 0:
            env.reset()
            env.last_action = NOOP
            block += env.state().tobytes()
            games += 1
        if guided:
            index = actions.index(guide(env, name, choices, actions))
        else:
            index = choices.randint(len(actions))
        chosen.append(index)
        reward, terminal = env.act(actions[index])
        assert reward == int(reward)
        block += bytes([int(reward) % 256, int(terminal)]) + env.state().tobytes()
        rewards += int(reward)
        moves = 0 if terminal or moves + 1 == limit and name in ENDLESS else moves + 1
        if (step + 1) % BLOCK == 0:
            digests.append(f"{xxhash.xxh64_intdigest(bytes(block)) & 0xFFFFFFFF:08x}")
            block.clear()

    source = "recorded" if guided else f"random {seed + 1000}"
    out.write(f"play {name}:{','.join(options)} seed {seed} steps {steps} actions {source}\n")
    for at in range(0, steps if guided else 0, LINE):
        out.write("actions " + "".join(str(index) for index in chosen[at : at + LINE]) + "\n")
    for at in range(0, len(digests), 12):
        out.write("digests " + "".join(digests[at : at + 12]) + "\n")
    out.write(f"total games {games} rewards {rewards}\n")
    print(name, options, "guided" if guided else "random", games, "games", rewards, "rewards", file=sys.stderr)


def main():
    given = dict(enumerate(sys.argv[1:]))
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "minatar_traces.txt")
    seed, random_steps, guided_steps = (int(given.get(i, n)) for i, n in ((1, 1), (2, 50000), (3, 10000)))
    with open(given.get(0, default), "w") as out:
        versions = [f"{package} {importlib.metadata.version(package)}" for package in ("minatar", "numpy")]
        out.write("# " + " ".join(versions) + "\n")
        for name in GAMES:
            for ramping in (True, False) if name in RAMPING else (True,):
                for sticky in (0.1, 0.0):
                    for minimal in (True, False):
                        play(out, name, sticky, ramping, minimal, 100000, seed, random_steps, False)
                        seed += 1
            play(out, name, 0.1, True, True, 100000, seed, guided_steps, True)
            play(out, name, 0.0, False, True, 1000, seed + 1, guided_steps // 2, True)
            seed += 2


main()
