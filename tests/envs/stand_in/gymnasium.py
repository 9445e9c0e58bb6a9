"""A stand-in for the package gymnasium, in plain Python: as much of its interface as workers use, a pole to balance, and a game with
faults to choose from (`gym:Odd-v0,fault=NAME`). With `count=FILE`, whose bytes count the times, what a fault does is done from the
`first` to the `last` time only, counted from 0."""
import math
import multiprocessing
import os
import random
import signal
import struct
import time


class error:
    class Error(Exception):
        pass

    class NamespaceNotFound(Error):
        pass

    class NameNotFound(Error):
        pass

    class VersionNotFound(Error):
        pass


class spaces:
    class Box:
        def __init__(self, low, high, shape, dtype="float32"):
            size = math.prod(shape)
            self.shape, self.dtype = shape, dtype
            self.low, self.high = (side if isinstance(side, list) else [side] * size for side in (low, high))

        def __repr__(self):
            return f"Box({self.shape}, {self.dtype})"

    class Discrete:
        def __init__(self, n, start=0):
            self.n, self.start = n, start

        def __repr__(self):
            return f"Discrete({self.n})"

    class Tuple:
        is_np_flattenable = True

        def __init__(self, parts):
            self.parts = parts

        def __repr__(self):
            return f"Tuple({self.parts})"

    class Sequence:
        is_np_flattenable = False

        def __repr__(self):
            return "Sequence()"

    class Own:
        is_np_flattenable = True

        def __repr__(self):
            return "Own()"

    @staticmethod
    def flatdim(space):
        if isinstance(space, spaces.Own):
            raise NotImplementedError
        if isinstance(space, spaces.Tuple):
            return sum(math.prod(part.shape) for part in space.parts)
        raise ValueError(f"{space} cannot be flattened")

    @staticmethod
    def flatten(space, x):
        return [v for part in x for v in part]


class Draws:
    """As much of NumPy's generator as games use here."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def integers(self, low, high=None):
        return self.draw.randrange(low) if high is None else self.draw.randrange(low, high)


class Env:
    spec = None

    @property
    def unwrapped(self):
        return self

    def reset(self, *, seed=None, options=None):
        self.np_random = Draws(seed)

    def close(self):
        pass


class Pole(Env):
    """A pole on a cart, to be kept upright."""

    observation_space = spaces.Box([-4.8, -math.inf, -0.42, -math.inf], [4.8, math.inf, 0.42, math.inf], (4,))
    action_space = spaces.Discrete(2)

    def reset(self, seed=None):
        draw = random.Random(seed)
        self.s = [draw.uniform(-0.05, 0.05) for _ in range(4)]
        self.moves = 0
        return self.s, {}

    def step(self, action):
        x, v, angle, speed = self.s
        push = (10.0 if action == 1 else -10.0) + 0.05 * speed**2 * math.sin(angle)
        turn = (9.8 * math.sin(angle) - math.cos(angle) * push / 1.1) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        drive = push / 1.1 - 0.05 * turn * math.cos(angle) / 1.1
        self.s = [x + 0.02 * v, v + 0.02 * drive, angle + 0.02 * speed, speed + 0.02 * turn]
        self.moves += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return self.s, 1.0, fell, self.moves >= self.spec.max_episode_steps, {}


def raise_it():
    raise ValueError("the cart is gone")


def tell():
    """The descriptor SLEEPERS is told who this is."""
    os.write(int(os.environ["SLEEPERS"]), struct.pack("i", os.getpid()))


def tell_and_sleep():
    tell()
    time.sleep(1000)


def sleep_with_a_child():
    os.fork()
    tell_and_sleep()


def start_a_child():
    """The descriptor SLEEPERS is told who it is."""
    child = os.fork()
    if child == 0:
        time.sleep(1000)
        os._exit(0)
    os.write(int(os.environ["SLEEPERS"]), struct.pack("i", child))


def raise_at_length():
    raise ValueError("gone " * 100000)


def spawn():
    child = multiprocessing.get_context("spawn").Process(target=time.time)
    child.start()
    child.join()
    if child.exitcode != 0:
        raise ValueError(f"the child ended with {child.exitcode}")


def die_with_a_child():
    """The child outlives it, and has what it had open."""
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(9)


class Odd(Env):
    """Three numbers between -1 and 1, ten moves, and a fault."""

    # fault: what happens in which method
    DEEDS = {
        "close_tells": ("close", tell),
        "close_sleeps": ("close", tell_and_sleep),
        "make_dies": ("make", lambda: os._exit(7)),
        "make_sleeps": ("make", lambda: time.sleep(1000)),
        "make_raises": ("make", raise_it),
        "make_raises_at_length": ("make", raise_at_length),
        "make_starts_a_child": ("make", start_a_child),
        "make_spawns": ("make", spawn),
        "reset_dies": ("reset", lambda: os._exit(8)),
        "reset_raises": ("reset", raise_it),
        "step_dies": ("step", lambda: os._exit(9)),
        "step_dies_with_a_child": ("step", die_with_a_child),
        "step_killed": ("step", lambda: os.kill(os.getpid(), signal.SIGKILL)),
        "step_raises": ("step", raise_it),
        "step_sleeps": ("step", lambda: time.sleep(1000)),
        "step_sleeps_with_a_child": ("step", sleep_with_a_child),
    }
    OBSERVATIONS = {
        "nan": [0.0, math.nan, 0.0],
        "infinite": [0.0, 0.0, math.inf],
        "outside": [0.5, 0.0, 1.5],
        "short": [0.0, 0.0],
        "missing": None,
    }
    REWARDS = {"reward_nan": math.nan, "reward_infinite": -math.inf, "reward_none": None, "reward_huge": 1e300}
    SPACES = {
        "own_space": spaces.Own(),
        "sequence": spaces.Sequence(),
        "tuple": spaces.Tuple([spaces.Box(-1, 1, (1,)), spaces.Box(-1, 1, (2,))]),
    }
    ACTIONS = {
        "continuous": spaces.Box(-1, 1, (2,)),
        "tuple_actions": spaces.Tuple([spaces.Discrete(2)]),
        "no_actions": spaces.Discrete(0),
    }

    def __init__(self, fault="", late=3, count=None, first=0, last=0):
        self.fault, self.late, self.moves = fault, late, 0
        self.count, self.times = count, range(first, last + 1)
        self.observation_space = self.SPACES.get(fault, spaces.Box(-1, 1, (3,)))
        self.action_space = self.ACTIONS.get(fault, spaces.Discrete(2))
        self.do("make")

    def do(self, where):
        place, deed = self.DEEDS.get(self.fault, (None, None))
        if place != where:
            return
        if self.count:
            with open(self.count, "a") as file:
                file.write(".")
            if os.path.getsize(self.count) - 1 not in self.times:
                return
        deed()

    def reset(self, seed=None):
        self.do("reset")
        self.moves = 0
        return ([[0.0], [0.0, 0.0]] if self.fault == "tuple" else [0.0, 0.0, 0.0]), {}

    def step(self, action):
        self.moves += 1
        is_late = self.moves >= self.late
        if is_late:
            self.do("step")
        observation = self.OBSERVATIONS.get(self.fault, [0.1 * self.moves, 0.0, 0.0]) if is_late else [0.0, 0.0, 0.0]
        if self.fault == "tuple":
            observation = [[0.5], [0.25, 0.0]]
        reward = self.REWARDS.get(self.fault, 1.0) if is_late else 0.0
        return observation, reward, self.moves >= 10, False, {}

    def close(self):
        self.do("close")


class Doors(Env):
    """A corridor of ten times three doors, of which one is open: `info` says which, or a mistake does. To take a closed one is an error."""

    observation_space = spaces.Box(0, 2, (1,))
    action_space = spaces.Discrete(3, start=5)
    MISTAKES = {"short": [1, 0], "empty": [0, 0, 0]}

    def __init__(self, mistake=""):
        self.mistake = mistake

    def mask(self):
        return self.MISTAKES.get(self.mistake, [door == self.open for door in range(3)])

    def look(self):
        self.open = self.draw.randrange(3)
        return [float(self.open)]

    def reset(self, seed=None):
        self.draw, self.moves = random.Random(seed), 0
        return self.look(), {"action_mask": self.mask()}

    def step(self, action):
        if action - 5 != self.open:
            raise ValueError(f"door {action} is closed")
        self.moves += 1
        return self.look(), 1.0, self.moves >= 10, False, {"action_mask": self.mask()}


class AskedDoors(Doors):
    """The same, whose method says which door is open; what info says is wrong."""

    def action_masks(self):
        return self.mask()

    def reset(self, seed=None):
        observation, _ = super().reset(seed)
        return observation, {"action_mask": [1, 1, 1]}


class Cells(Env):
    """A walk to the right over many numbered cells, from the second one on."""

    observation_space = spaces.Discrete(60000, start=3)
    action_space = spaces.Discrete(2)

    def reset(self, seed=None):
        self.at = 1
        return 3 + self.at, {}

    def step(self, action):
        self.at += 1
        return 3 + self.at, 1.0, False, False, {}


class Wrapper(Env):
    def __init__(self, env, size=3):
        if size != 3:
            raise ValueError(f"no size {size}")
        self.env, self.observation_space, self.action_space, self.spec = env, env.observation_space, env.action_space, env.spec

    def reset(self, seed=None):
        return self.env.reset(seed=seed)

    def step(self, action):
        return self.env.step(action)

    def close(self):
        self.env.close()


class TimeLimit(Wrapper):
    """Truncates a game, as make does with those that were registered."""

    @property
    def unwrapped(self):
        return self.env

    def reset(self, seed=None):
        self.moves = 0
        return self.env.reset(seed=seed)

    def step(self, action):
        self.moves += 1
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated or self.moves >= self.env.spec.max_episode_steps, info


class Spec:
    def __init__(self, limit):
        self.max_episode_steps = limit


registry = {
    "Pole-v0": (Pole, 100),
    "Odd-v0": (Odd, 10),
    "Cells-v0": (Cells, 10),
    "Doors-v0": (Doors, 20),
    "Doors-v1": (AskedDoors, 20),
    "Doors-v2": (Doors, None),
}
registered = set()


def register(name, entry_point, max_episode_steps):
    registry[name] = (entry_point, max_episode_steps)
    registered.add(name)


def make(name, disable_env_checker=False, max_episode_steps=None, **keywords):
    if "/" in name:
        raise error.NamespaceNotFound(f"Namespace {name.split('/')[0]} not found.")
    if name not in registry:
        raise error.NameNotFound(f"Environment `{name}` doesn't exist.")
    made, limit = registry[name]
    env = made(**keywords)
    env.spec = Spec(max_episode_steps or limit)
    return TimeLimit(env) if name in registered else env
