"""A stand-in for OpenSpiel's module, in plain Python: as much of its interface as workers use, and a walk for one or two players with
faults to choose from (`spiel:walk(players=2,fault=NAME)`)."""
import copy
import enum
import math
import os

LENGTH, ACTIONS = 8, 3


class GameType:
    class Dynamics(enum.Enum):
        SEQUENTIAL, SIMULTANEOUS = range(2)

    class Information(enum.Enum):
        PERFECT_INFORMATION, IMPERFECT_INFORMATION = range(2)

    class Utility(enum.Enum):
        ZERO_SUM, GENERAL_SUM = range(2)

    class ChanceMode(enum.Enum):
        DETERMINISTIC, EXPLICIT_STOCHASTIC, SAMPLED_STOCHASTIC = range(3)

    def __init__(self, name, **changed):
        self.short_name = self.long_name = name
        self.dynamics = self.Dynamics.SEQUENTIAL
        self.information = self.Information.PERFECT_INFORMATION
        self.utility = self.Utility.ZERO_SUM
        self.chance_mode = self.ChanceMode.DETERMINISTIC
        self.provides_observation_tensor = True
        self.__dict__.update(changed)


class State:
    def __init__(self, game):
        self.game, self.moves, self.place = game, 0, 0

    def is_late(self):
        return self.moves >= 3

    def is_terminal(self):
        return self.moves >= LENGTH

    def is_chance_node(self):
        return False

    def current_player(self):
        if self.is_terminal():
            return -4
        return self.moves // (2 if self.game.fault == "pairs" else 1) % self.game.players

    def legal_actions(self):
        if self.is_late() and self.game.fault == "no_legal":
            return []
        return list(range(ACTIONS)) + ([99] if self.is_late() and self.game.fault == "beyond" else [])

    def apply_action(self, action):
        self.moves += 1
        self.place += action - 1
        if self.is_late() and self.game.fault == "raises":
            raise ValueError("the walker is gone")
        if self.is_late() and self.game.fault == "dies":
            os._exit(9)

    def returns(self):
        if self.is_late() and self.game.fault == "reward_nan":
            return [math.nan] * self.game.players
        won = float((self.place > 0) - (self.place < 0)) if self.is_terminal() else 0.0
        return [won, -won][: self.game.players]

    def observation_tensor(self, player):
        if self.is_late() and self.game.fault == "short":
            return [0.0, 0.0]
        odd = math.nan if self.is_late() and self.game.fault == "nan" else 0.0
        return [float(player), self.place / LENGTH, self.moves / LENGTH, odd]

    def action_to_string(self, player, action):
        if self.game.fault == "name_dies":
            os._exit(9)
        return "left stay right".split()[action]

    def clone(self):
        return copy.copy(self)

    def __str__(self):
        return f"{self.moves}: {self.place}"


class Game:
    CHANGED = {
        "at_once": {"dynamics": GameType.Dynamics.SIMULTANEOUS},
        "hidden": {"information": GameType.Information.IMPERFECT_INFORMATION},
        "general": {"utility": GameType.Utility.GENERAL_SUM},
        "sampled": {"chance_mode": GameType.ChanceMode.SAMPLED_STOCHASTIC},
        "no_tensor": {"provides_observation_tensor": False},
    }

    def __init__(self, players="1", fault=""):
        self.players, self.fault = int(players), fault

    def get_type(self):
        return GameType("walk", **self.CHANGED.get(self.fault, {}))

    def num_players(self):
        return self.players

    def num_distinct_actions(self):
        return ACTIONS

    def observation_tensor_shape(self):
        return [4]

    def observation_tensor_size(self):
        return 4

    def new_initial_state(self):
        return State(self)

    def min_utility(self):
        return -1.0

    def max_utility(self):
        return 1.0

    def max_game_length(self):
        return 4 if self.fault == "long" else LENGTH

    def max_chance_nodes_in_history(self):
        return 0

    def max_chance_outcomes(self):
        return 0


def registered_games():
    return [GameType("walk")]


def load_game(text):
    name, _, rest = text.partition("(")
    if name != "walk":
        raise RuntimeError(f"Unknown game '{name}'.")
    return Game(**dict(item.split("=") for item in rest[:-1].split(",") if item))
