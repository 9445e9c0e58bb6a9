# ---- OpenSpiel ----


class Draws:
    """Uniform numbers from a seed (SplitMix64), the same for every version of Python."""

    def __init__(self, seed):
        self.seed = seed

    def next(self):
        self.seed = (self.seed + 0x9E3779B97F4A7C15) % 2**64
        z = self.seed
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53


class Spiel:
    """A state is its history, of moves and of outcomes of chance; states at hand are kept by it."""

    KEPT = 4096

    def __init__(self, start):
        self.pyspiel = pyspiel = import_package("pyspiel", "open_spiel")
        self.id = start["id"]
        if start["options"]:
            raise Refused(f"option '{start['options'][0]}': parameters stand in brackets, as in spiel:breakthrough(rows=6,columns=6)")
        try:
            self.game = pyspiel.load_game(self.id)
        except Exception as error:
            name, names = self.id.partition("(")[0], [game.short_name for game in pyspiel.registered_games()]
            if name in names:
                raise Refused(f"cannot be loaded: {' '.join(str(error).split())[:300]}") from error
            nearest = difflib.get_close_matches(name, names, 1, 0.4)
            raise Refused("unknown to OpenSpiel" + (f"; did you mean {nearest[0]}?" if nearest else "")) from error
        kind = self.game.get_type()
        self.players = self.game.num_players()
        if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
            raise Refused("players move at once; takes games in which they move in turn")
        if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
            raise Refused("players do not see everything; takes games of perfect information")
        if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
            raise Refused("draws its chance by itself; takes games that tell the outcomes and how likely they are")
        if self.players > 2 or (self.players == 2 and kind.utility != pyspiel.GameType.Utility.ZERO_SUM):
            raise Refused(f"{self.players} players, {kind.utility}; takes one player, or two of which one wins what the other loses")
        if not kind.provides_observation_tensor:
            raise Refused("has no observation tensor")
        self.kept = {}
        self.chance = kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
        self.actions = self.game.num_distinct_actions()
        shape = [int(n) for n in self.game.observation_tensor_shape()]
        self.order = None
        if len(shape) == 3:  # channels come first there, and last here
            c, h, w = shape
            self.shape = [h, w, c]
            if h * w * c > 1:
                self.order = operator.itemgetter(*[k * h * w + i * w + j for i in range(h) for j in range(w) for k in range(c)])
        elif len(shape) == 2:
            self.shape = shape + [1]
        else:
            self.shape = [1, 1, self.game.observation_tensor_size()]
        self.alternates = self.players == 2 and self.sees_turns_alternate()

    def sees_turns_alternate(self):
        """Random games: whether nobody moves twice in a row."""
        draws, alternates = Draws(1), True
        for _ in range(20):
            state, last = self.game.new_initial_state(), None
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(self.drawn(state, draws))
                    continue
                alternates = alternates and state.current_player() != last
                last = state.current_player()
                legal = state.legal_actions()
                if not legal:
                    raise Refused("no action is legal in a position that is not the end; takes games with a move, or a pass, in each")
                state.apply_action(legal[int(draws.next() * len(legal))])
        return alternates

    def names_of_actions(self):
        """None where an action has no name, or not one of its own. A child asks for them: some games, as chess, end their process when
        they are asked for the name of an action that is illegal."""
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                state = self.game.new_initial_state()
                names = [state.action_to_string(0, a) for a in range(self.actions)]
                with os.fdopen(write_end, "w") as out:
                    json.dump(names, out)
            finally:
                os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as answer:
            text = answer.read()
        os.waitpid(child, 0)
        names = json.loads(text) if text else None
        return None if names is None or len(set(names)) < len(names) or names_are_too_long(names) else names

    def close(self):
        pass  # games hold nothing

    def describe(self):
        game = self.game
        kind = game.get_type()
        low, high = float(game.min_utility()), float(game.max_utility())
        return {
            "title": f"{kind.long_name} of OpenSpiel",
            "rules": f"The game {self.id} of OpenSpiel.",
            "observation": f"observation_tensor of shape {game.observation_tensor_shape()}",
            "obs_kind": "f32",
            "shape": self.shape,
            "actions": self.actions,
            "names": self.names_of_actions(),
            "max_moves": 0,
            "players": self.players,
            "alternates": self.alternates,
            "history": game.max_game_length() + (game.max_chance_nodes_in_history() if self.chance else 0),
            "history_entry_max": max(self.actions, game.max_chance_outcomes() if self.chance else 0),
            "chance": self.chance,
            "reward_min": min(low, 0.0),
            "reward_max": max(high, 0.0),
            "return_min": low,
            "return_max": high,
        }

    def attach(self, memory, start):
        self.memory = memory
        self.size = start["obs_bytes"]
        self.mask_at, self.history_at, self.text_at = start["mask_at"], start["history_at"], start["text_at"]
        self.text_bytes, self.history_max = start["text_bytes"], start["history"]

    def drawn(self, state, draws):
        left = draws.next()
        outcomes = state.chance_outcomes()
        for outcome, probability in outcomes:
            left -= probability
            if left < 0:
                return outcome
        return outcomes[-1][0]

    def rebuilt(self, history):
        """The state of a history and its number of moves; None where it is no history of this game."""
        state, moves = self.game.new_initial_state(), 0
        for entry in history:
            if state.is_terminal():
                return None, 0
            if state.is_chance_node():
                allowed = [outcome for outcome, _ in state.chance_outcomes()]
            else:
                allowed = state.legal_actions()
                moves += 1
            if entry not in allowed:
                return None, 0
            state.apply_action(entry)
        return state, moves

    def find(self, key):
        kept = self.kept.get(key)
        return kept if kept else self.rebuilt(array.array("H", key))

    def keep(self, key, state, moves):
        if len(self.kept) >= self.KEPT:
            for old in list(self.kept)[: self.KEPT // 2]:
                del self.kept[old]
        self.kept[key] = (state, moves)

    def play(self, at):
        memory = self.memory
        _, action, seed, length, _ = QUESTION.unpack_from(memory, at)
        from_ = at + self.history_at
        key = b"" if action == RESET else memory[from_ : from_ + 2 * length]
        state, moves = (self.game.new_initial_state(), 0) if action == RESET else self.find(key)
        if state is None or (action == LOOK and state.is_chance_node()):  # no player moves there
            ANSWER.pack_into(memory, at + ANSWER_AT, 0.0, 0, 0, 1, 0, 0, 0, 0, 0)
            return
        if action == TEXT:
            self.write_text(at, state)
            return
        reward = 0.0
        if action != LOOK:
            added = array.array("H")
            mover = max(state.current_player(), 0)
            before = state.returns()[mover]
            state = state.clone()
            if action >= 0:
                state.apply_action(action)
                added.append(action)
                moves += 1
            draws = Draws(seed)
            while state.is_chance_node():
                outcome = self.drawn(state, draws)
                state.apply_action(outcome)
                added.append(outcome)
            reward = state.returns()[mover] - before
            if length + len(added) > self.history_max:
                raise ValueError(f"a game of more than {self.history_max} moves and outcomes, OpenSpiel's own bound")
            memory[from_ + 2 * length : from_ + 2 * (length + len(added))] = added.tobytes()
            length += len(added)
            key += added.tobytes()
        over = state.is_terminal()
        if not over:
            self.keep(key, state, moves)
        player = 0 if over else state.current_player()
        ANSWER.pack_into(memory, at + ANSWER_AT, reward, over, 0, 0, 0, player, length, moves, 0)
        tensor = state.observation_tensor(player)
        if 4 * len(tensor) != self.size:
            raise ValueError(f"an observation tensor of {len(tensor)} entries; the game says {self.size // 4}")
        memory[at + BODY_AT : at + BODY_AT + self.size] = array.array("f", self.order(tensor) if self.order else tensor).tobytes()
        mask = bytearray(self.actions)
        for a in [] if over else state.legal_actions():
            if not 0 <= a < self.actions:
                raise ValueError(f"legal action {a}; the game says that there are {self.actions}")
            mask[a] = 1
        memory[at + self.mask_at : at + self.mask_at + self.actions] = bytes(mask)

    def write_text(self, at, state):
        text = str(state).encode()[: self.text_bytes - 1]
        memory = self.memory
        memory[at + self.text_at : at + self.text_at + len(text) + 1] = text + b"\0"
        ANSWER.pack_into(memory, at + ANSWER_AT, 0.0, 0, 0, 0, 0, 0, 0, 0, 0)
