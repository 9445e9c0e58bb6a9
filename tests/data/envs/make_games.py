#!/usr/bin/env python3
"""Writes random games of OpenSpiel, for tests/envs/recorded_games.h:  make_games.py 'connect_four()' connect_four_games.txt [GAMES]

Needs open_spiel from PyPI; its version, the game and its parameters are in the first line. Moves are uniform over the legal ones.
Then one line per game, three fields of characters of ALPHABET (base 64, least significant digit first) without spaces between:
  result   one character: 0 player 1 won, 1 a draw, 2 player 0 won
  check    four digits: the low 24 bits of FNV-1a over what was legal and played (64 bits; each number below is one "byte"):
           at every state the legal actions in ascending order, then the action played
  moves    one number, the rest of the line: the moves' ranks among the legal actions in ascending order, the first move least
           significant, in the mixed radix of how many actions were legal
"""
import os
import random
import sys
from importlib.metadata import version

import pyspiel

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"
OFFSET, PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def digits(number, count=0):
    """Base 64, least significant first; at least `count` digits."""
    out = ""
    while number or len(out) < count:
        out += ALPHABET[number & 63]
        number >>= 6
    return out


def play(game, generator):
    """One random game: its line."""
    state = game.new_initial_state()
    check, moves, place = OFFSET, 0, 1
    while not state.is_terminal():
        legal = state.legal_actions()
        rank = generator.randrange(len(legal))
        for number in [*legal, legal[rank]]:
            check = ((check ^ number) * PRIME) & MASK
        moves += rank * place
        place *= len(legal)
        state.apply_action(legal[rank])
    return ALPHABET[round(state.returns()[0]) + 1] + digits(check & 0xFFFFFF, 4) + digits(moves)


def main():
    game = pyspiel.load_game(sys.argv[1])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 10000
    generator = random.Random(1)
    lines = [f"# {game} open_spiel {version('open_spiel')}"]
    lines += [play(game, generator) for _ in range(count)]
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, sys.argv[2]), "w") as file:
        file.write("\n".join(lines) + "\n")


main()
