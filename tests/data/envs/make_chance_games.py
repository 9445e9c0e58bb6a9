#!/usr/bin/env python3
"""Writes games of OpenSpiel in which chance has a say, for tests/envs/chance_games.c:  make_chance_games.py [FOLDER [SEED]]

Needs open_spiel from PyPI; its version, the game and its parameters are in the first line of each file. Then one line per game:
  catch_games.txt  ball's column, a digit of 0 1 2 for each move, and w or l for won or lost
  2048_games.txt   a hash, the return, and the moves: characters of ALPHABET. The first two stand for the tiles at the start, the
                   others for a move and the tile that then appears: 16 * action + n, where n cells before the tile's are empty; !
                   before one: that tile is a 4.
                   The hash is FNV-1a (64 bits, each number below one "byte", low 24 bits in hexadecimal) over: for every move its
                   action, its reward, and after chance the 16 tiles. Legal actions are left out: version 2.0.2 takes tiles for
                   merged that the move before has merged, and so lists too few, and ends some games too early.
  pig_games.txt    a hash, who has won (0 or 1; - for nobody), and the moves: s for stop, for a roll what the die shows (A: 10), or r where
                   it is not thrown: the last move before the horizon
                   The hash is as above, over: for every decision the player, both scores, the turn's total, and 1 for roll, 2 for stop
                   or 3 for both that are legal. pig_short_games.txt is a variant.
Moves of Catch are random. Every other game of 2048 is played at random, the others into a corner, which makes larger tiles.
"""
import os
import random
import sys
from importlib.metadata import version

import pyspiel

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"
OFFSET, PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
GAMES = 1000
INTO_CORNER = [2, 3, 1, 0]  # down, left, right, up


def draw(state, generator):
    """Lets chance draw; returns the outcome."""
    outcomes, shares = zip(*state.chance_outcomes())
    outcome = generator.choices(outcomes, shares)[0]
    state.apply_action(outcome)
    return outcome


def catch(game, generator):
    state = game.new_initial_state()
    line = str(draw(state, generator))
    while not state.is_terminal():
        action = generator.choice(state.legal_actions())
        line += str(action)
        state.apply_action(action)
    return line + ("w" if state.returns()[0] > 0 else "l")


def tiles(state):
    return [int(word) for word in str(state).split()]


def game_2048(game, generator, into_corner):
    state, hash_ = game.new_initial_state(), OFFSET
    moves = ""

    def mix(numbers):
        nonlocal hash_
        for number in numbers:
            hash_ = ((hash_ ^ number) * PRIME) & MASK

    def tile(action):
        before = tiles(state)
        draw(state, generator)
        cell = next(c for c in range(16) if tiles(state)[c] != before[c])
        return ("!" if tiles(state)[cell] == 4 else "") + ALPHABET[16 * action + before[:cell].count(0)]

    moves += tile(0)
    moves += tile(0)
    while not state.is_terminal():
        legal = state.legal_actions()
        if into_corner:
            action = next(a for a in INTO_CORNER if a in legal)
        else:
            action = generator.choice(legal)
        before = state.returns()[0]
        state.apply_action(action)
        mix([action, round(state.returns()[0] - before)])
        if state.is_chance_node():
            moves += tile(action)
        mix(tiles(state))
    return f"{hash_ & 0xFFFFFF:06x} {round(state.returns()[0])} {moves}"



def pig(game, generator):
    state, hash_ = game.new_initial_state(), OFFSET
    holds = [generator.randint(2, 30) for _ in range(2)]  # totals at which the players stop, but for a few random moves
    moves = ""
    while not state.is_terminal():
        player, legal = state.current_player(), state.legal_actions()
        scores, total = str(state).split("\n")[0].split(",")
        numbers = [player, *(int(word) for word in scores.split()[1:]), int(total.split()[-1])]
        for number in [*numbers, sum(1 << action for action in legal)]:
            hash_ = ((hash_ ^ number) * PRIME) & MASK
        action = generator.choice(legal) if generator.random() < 0.05 else int(numbers[3] >= holds[player])
        action = action if action in legal else legal[0]
        state.apply_action(action)
        if action == 1:
            moves += "s"
        else:
            moves += ALPHABET[draw(state, generator) + 1] if state.is_chance_node() else "r"
    won = state.returns()
    return f"{hash_ & 0xFFFFFF:06x} {'0' if won[0] > 0 else '1' if won[1] > 0 else '-'} {moves}"


def write(folder, name, game, lines):
    with open(os.path.join(folder, name), "w") as file:
        file.write("\n".join([f"# {game} open_spiel {version('open_spiel')}", *lines]) + "\n")


def main():
    generator = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    os.makedirs(folder, exist_ok=True)
    game = pyspiel.load_game("catch")
    write(folder, "catch_games.txt", game, [catch(game, generator) for _ in range(GAMES)])
    game = pyspiel.load_game("2048(max_tile=131072)")
    write(folder, "2048_games.txt", game, [game_2048(game, generator, i % 2 == 1) for i in range(GAMES)])
    game = pyspiel.load_game("pig")
    write(folder, "pig_games.txt", game, [pig(game, generator) for _ in range(GAMES)])
    game = pyspiel.load_game("pig(diceoutcomes=10,horizon=30,winscore=50)")
    write(folder, "pig_short_games.txt", game, [pig(game, generator) for _ in range(GAMES // 5)])


main()
