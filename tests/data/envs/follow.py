"""A dot moves over a picture; a paddle below it gives 1 for each step at which it is under the dot. Registered as Follow-v0."""
import gymnasium
import numpy


class Follow(gymnasium.Env):
    """Follow the dot."""

    def __init__(self, side=84, colour=True):
        self.side, self.colour = side, colour
        self.observation_space = gymnasium.spaces.Box(0, 255, (side, side, 3) if colour else (side, side), numpy.uint8)
        self.action_space = gymnasium.spaces.Discrete(3)

    def picture(self):
        x = numpy.zeros((self.side, self.side), numpy.uint8)
        row, column = self.side // 3, int(self.dot)
        x[row - 3 : row + 4, column - 3 : column + 4] = 255
        x[-6:-2, self.paddle - 6 : self.paddle + 7] = 160
        return numpy.repeat(x[:, :, None], 3, axis=2) if self.colour else x

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.dot = self.np_random.uniform(5, self.side - 6)
        self.speed = self.np_random.choice([-2.0, -1.0, 1.0, 2.0])
        self.paddle, self.moves = self.side // 2, 0
        return self.picture(), {}

    def step(self, action):
        self.dot += self.speed
        if not 4 <= self.dot <= self.side - 5:
            self.speed = -self.speed
            self.dot += 2 * self.speed
        self.paddle = min(max(self.paddle + 4 * (int(action) - 1), 6), self.side - 7)
        self.moves += 1
        return self.picture(), float(abs(self.paddle - self.dot) <= 6), False, self.moves >= 60, {}


gymnasium.register("Follow-v0", entry_point=Follow)
