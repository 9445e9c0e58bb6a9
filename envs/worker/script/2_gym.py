# ---- Gymnasium ----


def wrapper_of(text):
    """wrap=module:Class(arguments) as a function of an environment."""
    name, bracket, rest = text.partition("(")
    module, colon, cls = name.partition(":")
    if not colon or (bracket and not rest.endswith(")")):
        raise Refused(f"wrap={text}: takes module:Class or module:Class(arguments)")
    try:
        positional, named = arguments_of(rest[:-1] if bracket else "")
    except (ValueError, SyntaxError) as error:
        raise Refused(f"wrap={text}: arguments are numbers, texts in quotes, lists and None") from error
    try:
        made = getattr(importlib.import_module(module), cls)
    except (ImportError, AttributeError) as error:
        raise Refused(f"wrap={text}: {error}") from error
    return lambda env: made(env, *positional, **named)


def high_of(space):
    """The largest number that an observation of bytes holds."""
    return int(space.high.max()) if hasattr(space, "high") else 255


def one_hot(index, count):
    """The bytes of `count` floats, all 0 but one."""
    if not 0 <= index < count:
        raise ValueError(f"an observation that is number {index} of its space, which has {count}")
    row = array.array("f", bytes(4 * count))
    row[index] = 1.0
    return row.tobytes()


def observer_of(space, spaces):
    """(kind, shape of height, width and channels, function that gives the bytes of an observation)"""
    if isinstance(space, spaces.Box):
        shape = tuple(int(n) for n in space.shape)
        size = 1
        for n in shape:
            size *= n
        if str(space.dtype) == "uint8" and len(shape) in (2, 3):
            return "u8", list(shape) + [1] * (3 - len(shape)), lambda x: x.tobytes()
        if str(space.dtype) == "uint8":
            return "f32", [1, 1, size], lambda x: (x.astype("f4") / 255).tobytes()
        return "f32", [1, 1, size], floats_of
    if isinstance(space, spaces.Discrete):
        count, start = int(space.n), int(space.start)
        return "f32", [1, 1, count], lambda x: one_hot(int(x) - start, count)
    try:
        size = int(spaces.flatdim(space))
        if not space.is_np_flattenable:
            raise ValueError("its size varies")
    except (ValueError, NotImplementedError, AttributeError) as error:
        why = str(error) or "Gymnasium does not flatten them"
        raise Refused(
            f"observations {space} are not supported ({why}); takes Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of them"
        ) from error
    return "f32", [1, 1, size], lambda x: floats_of(spaces.flatten(space, x))


def bounds_of(space, spaces):
    """(lowest, highest) values of a Box as lists, None where there is no bound; one for all entries where there are many; else ([], [])"""
    if not isinstance(space, spaces.Box) or str(space.dtype) == "uint8":
        return [], []
    low, high = ([float(v) for v in getattr(side, "flat", side)] for side in (space.low, space.high))
    if len(low) > BOUNDS_MAX:
        low, high = [min(low)], [max(high)]
    return tuple([v if math.isfinite(v) else None for v in side] for side in (low, high))


def product_of(counts, starts):
    rows = [[]]
    for count, start in zip(counts, starts):
        rows = [row + [start + i] for row in rows for i in range(count)]
        if len(rows) > ACTIONS_MAX:
            raise Refused(f"actions: more than {ACTIONS_MAX} combinations of {list(counts)}; a wrapper can offer fewer")
    return rows


def actions_of(space, spaces):
    """(the actions by number, their names or None)"""
    if isinstance(space, spaces.Discrete):
        return [int(space.start) + i for i in range(int(space.n))], None
    for name in ("MultiDiscrete", "MultiBinary"):
        if hasattr(spaces, name) and isinstance(space, getattr(spaces, name)):
            numpy = import_package("numpy", "numpy")
            counts = numpy.asarray(space.nvec).ravel() if name == "MultiDiscrete" else [2] * int(numpy.prod(space.shape))
            starts = numpy.asarray(getattr(space, "start", numpy.zeros(len(counts)))).ravel()
            rows = product_of([int(n) for n in counts], [int(n) for n in starts])
            made = [numpy.asarray(row, dtype=space.dtype).reshape(space.shape) for row in rows]
            return made, ["/".join(str(i) for i in row) for row in rows]
    raise Refused(f"actions {space} are not supported; takes Discrete, MultiDiscrete and MultiBinary (no continuous actions)")


def rules_of(doc):
    """A docstring without its headings and marks, as many whole sentences as RULES_MAX characters hold."""
    lines = [line for line in map(str.strip, doc.splitlines()) if not line.startswith("#")]
    text = re.sub("<[^<>]*>", "", " ".join(" ".join(lines).split()))
    return text if len(text) <= RULES_MAX else text[: text.rfind(". ", 0, RULES_MAX) + 1] or text[:RULES_MAX]


def method_of(env, name):
    """A method of an environment or of one of its wrappers, the outermost first; None where none has it."""
    while env is not None:
        if callable(getattr(type(env), name, None)):
            return getattr(env, name)
        env = getattr(env, "env", None)
    return None


class Gym:
    def __init__(self, start):
        self.gymnasium = import_package("gymnasium", "gymnasium")
        self.id, self.limit = start["id"], int(start["limit"])
        self.keywords, self.wrappers, self.environments, pictures = {}, [], {}, {}
        for option in start["options"]:
            key, equals, value = option.partition("=")
            if not equals or not key:
                raise Refused(f"option '{option}': takes key=value")
            if key == "import":
                import_named(value)
            elif key == "wrap":
                self.wrappers.append(wrapper_of(value))
            elif key in Pictures.OPTIONS:
                pictures[key] = value_of(value)
            else:
                self.keywords[key] = value_of(value)
        env = self.make()
        self.environments[0] = env
        self.kind, self.shape, self.observe = observer_of(env.observation_space, self.gymnasium.spaces)
        self.pictures = Pictures(env.observation_space, pictures) if pictures else None
        if self.pictures:
            self.shape = self.pictures.shape
        self.actions, self.names = actions_of(env.action_space, self.gymnasium.spaces)
        self.maskable = isinstance(env.action_space, self.gymnasium.spaces.Discrete)
        self.maskers = {}  # by instance: its method action_masks, None where it has none

    def make(self):
        gymnasium = self.gymnasium
        keywords = dict(self.keywords)
        if self.limit > 0:
            keywords["max_episode_steps"] = self.limit
        try:
            env = gymnasium.make(self.id, disable_env_checker=True, **keywords)
        except gymnasium.error.NamespaceNotFound as error:
            raise Refused(f"unknown to Gymnasium: {error} A package is imported by import=, as in import=ale_py") from error
        except (gymnasium.error.NameNotFound, gymnasium.error.VersionNotFound) as error:
            nearest = difflib.get_close_matches(self.id, list(gymnasium.registry), 1, 0.4)
            raise Refused(f"unknown to Gymnasium: {error}" + (f"; nearest: {nearest[0]}" if nearest else "")) from error
        except Exception as error:  # whatever an environment finds wrong: a keyword, a missing ROM, a package of its own
            meant = [(near, self.keywords[key]) for key in self.keywords for near in difflib.get_close_matches(key, OPTIONS, 1, 0.7)]
            hint = "".join(f"; did you mean {near}={value}?" for near, value in meant)
            raise Refused(f"cannot be made: {type(error).__name__}: {error}{hint}") from error
        for wrap in self.wrappers:
            try:
                env = wrap(env)
            except Exception as error:
                raise Refused(f"cannot be wrapped: {type(error).__name__}: {error}") from error
        return env

    def describe(self):
        env = self.environments[0]
        spec = getattr(env, "spec", None)
        low, high = bounds_of(env.observation_space, self.gymnasium.spaces)
        return {
            "title": f"{self.id} of Gymnasium",
            "rules": rules_of(type(env.unwrapped).__doc__ or ""),
            "observation": str(env.observation_space)[:300] + (self.pictures.text() if self.pictures else ""),
            "obs_kind": self.kind,
            "shape": self.shape,
            "low": low,
            "high": high,
            "frames": self.pictures.frames if self.pictures else 1,
            "obs_high": high_of(env.observation_space) if self.kind == "u8" else 0,
            "actions": len(self.actions),
            "names": None if self.names and names_are_too_long(self.names) else self.names,
            "max_moves": int(getattr(spec, "max_episode_steps", None) or 0),
            "players": 1,
        }

    def measure(self, steps, episodes):
        """Rewards and returns of random play: their extremes, and the means of what is above and below 0; moves of its longest game; {}
        where a reward is not finite."""
        env = self.environments[0]
        rewards, returns, longest, draw = [], [], 0, 1
        for episode in range(episodes):
            _, info = env.reset(seed=episode)
            total, over, before = 0.0, False, len(rewards)
            while not over and len(rewards) < steps:
                draw = (draw * 6364136223846793005 + 1442695040888963407) % 2**64
                mask = self.mask_of(0, info)
                legal = range(len(self.actions)) if mask is None else [a for a, is_legal in enumerate(mask) if is_legal]
                if not legal:
                    raise ValueError(f"no action is legal after {len(rewards)} random moves, and the game has not ended")
                _, reward, terminated, truncated, info = env.step(self.action_of(legal[(draw >> 33) % len(legal)]))
                rewards.append(float(reward))
                total += float(reward)
                over = terminated or truncated
            returns.append(total)
            longest = max(longest, len(rewards) - before)
            if len(rewards) >= steps:
                break
        if not all(abs(reward) <= REWARD_MAX for reward in rewards):
            return {}
        count = len(rewards)
        return {
            "reward_min": min(rewards),
            "reward_max": max(rewards),
            "return_min": min(returns),
            "return_max": max(returns),
            "gain": sum(r for r in rewards if r > 0) / count,
            "loss": sum(r for r in rewards if r < 0) / count,
            "longest": longest,
        }

    def attach(self, memory, start):
        self.memory = memory
        self.size, self.mask_at = start["obs_bytes"], start["mask_at"]

    def close(self):
        for env in self.environments.values():
            with contextlib.suppress(Exception):  # nobody reads any more what it finds wrong
                env.close()

    def mask_of(self, instance, info):
        """A byte for each action, 1 where it is legal: what the environment's action_masks() says, as for MaskablePPO, or else info's
        action_mask, as Taxi's. None where neither is there: all are legal."""
        if not self.maskable:
            return None
        if instance not in self.maskers:
            self.maskers[instance] = method_of(self.environments[instance], "action_masks")
        ask = self.maskers[instance]
        mask = ask() if ask else (info or {}).get("action_mask")
        if mask is None:
            return None
        if len(mask) != len(self.actions):
            raise ValueError(f"an action mask of {len(mask)} entries; there are {len(self.actions)} actions")
        return bytes(map(bool, mask))

    def action_of(self, number):
        """One of its own for the environment, which may write to it."""
        action = self.actions[number]
        return action.copy() if hasattr(action, "copy") else action

    def play(self, at):
        instance, action, seed, _, _ = QUESTION.unpack_from(self.memory, at)
        if action == RESET:
            env = self.environments.get(instance)
            if env is None:
                env = self.environments[instance] = self.make()
            observation, info = env.reset(seed=seed)
            reward = terminated = truncated = 0
        else:
            observation, reward, terminated, truncated, info = self.environments[instance].step(self.action_of(action))
        mask = None if terminated or truncated else self.mask_of(instance, info)
        facts = bool(terminated), bool(truncated), 0, 0, 0, 0, 0, mask is not None
        try:
            ANSWER.pack_into(self.memory, at + ANSWER_AT, reward, *facts)
        except OverflowError:  # no float32: the program says what is wrong
            ANSWER.pack_into(self.memory, at + ANSWER_AT, math.copysign(math.inf, reward), *facts)
        if mask is not None:
            self.memory[at + self.mask_at : at + self.mask_at + len(mask)] = mask
        data = self.pictures.observe(instance, observation, action == RESET) if self.pictures else self.observe(observation)
        if len(data) != self.size:
            raise ValueError(f"an observation of {len(data)} bytes; its space, {self.environments[0].observation_space}, says {self.size}")
        self.memory[at + BODY_AT : at + BODY_AT + self.size] = data
