#!/usr/bin/env python3
"""Courses of training runs in plain Python, to check the environment `allocation`; needs nothing but Python.

  make_allocation_traces.py                        writes allocation_course.json and allocation_traces.txt, for tests/envs/allocation.c
  muzero envs allocation:course=COURSE --trace | make_allocation_traces.py COURSE SPREAD
                                                   checks a trace, line by line

The formulas are those of base/course/course.h. Random numbers are Philox4x32-10 with the key and counter of base/maths/rng.h.
Lines of allocation_traces.txt, numbers in decimal with 17 digits:
  seed S                                           an episode begins
  legal a b c …                                    plans that the mask allows
  step PLAN reward seconds cost score slope noise_scale pace yield ended
"""
import json
import math
import os
import sys

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1
PURPOSE = 21
STAGE_TIME, PLAN_TIME, GROWTH, NOISE, PACE, BURST = range(6)
RESOURCES = ["cores", "gpus", "memory_gib"]
PRICES = ["core_hour", "gpu_hour", "gib_hour"]


# ---- random numbers ----

def splitmix(seed):
    z = (seed + 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK64
    return z ^ z >> 31


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        low, high = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [high >> 32 ^ c[1] ^ k[0], high & MASK32, low >> 32 ^ c[3] ^ k[1], low & MASK32]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return c


def doubles(seed, ordinal, use, count):
    """The first doubles of a stream, each of 53 bits of two words."""
    key = splitmix(seed)
    words = []
    for block in range((count + 1) // 2):
        words += philox([block, ordinal, use & MASK32, PURPOSE << 24 | use >> 32], [key & MASK32, key >> 32])
    return [((words[2 * i + 1] << 32 | words[2 * i]) >> 11) * 2.0**-53 for i in range(count)]


# ---- courses ----

class Course:
    def __init__(self, data, spread):
        self.data, self.spread = data, spread
        self.plans, self.stages = data["plans"], data["stages"]
        self.rate = [sum(p[r] * data["prices"][c] for r, c in zip(RESOURCES, PRICES)) / 3600 for p in self.plans]
        self.deadline, self.budget, self.target = (data["limits"][k] for k in ["deadline_s", "budget", "score"])
        self.start, self.ceiling = data["score"]["start"], data["score"]["ceiling"]
        self.slower, self.faster, self.bursts, self.ends_at_score = *data["pace"].values(), data["ends_at_score"]
        self.resize_penalty = data["resize_penalty"]

    def u(self, seed, use, ordinal):
        return self.spread * (2 * doubles(seed, ordinal, use, 1)[0] - 1) if self.spread else 0.0

    def noise_scale(self, seed, s):
        return self.stages[s]["noise_scale"] * (1 + self.u(seed, NOISE, s))

    def seconds(self, seed, s, p):
        return self.stages[s]["seconds"][p] * (1 + (self.u(seed, STAGE_TIME, s) + self.u(seed, PLAN_TIME, p)) / 2)

    def stretch(self, seed):
        if not self.spread:
            return 1.0
        z = sum(doubles(seed, 0, PACE, 12)) - 6
        return min(8.0, max(0.125, math.exp((self.slower if z > 0 else self.faster) * z)))

    def advance(self, seed, s):
        """How far a stage goes along the mean's curve."""
        burst = -math.log(1 - doubles(seed, s, BURST, 1)[0])
        return (1 - self.bursts + self.bursts * burst) * (1 + self.u(seed, GROWTH, s)) / self.stretch(seed)

    def closed(self, seed, s, p):
        """Logarithm of the distance that the mean closes in the part of its curve that the stage stands for."""
        low = sum(self.advance(seed, t) for t in range(s))
        high, closes = low + self.advance(seed, s), 0.0
        for t, stage in enumerate(self.stages):
            closes -= max(0.0, min(high, t + 1) - max(low, t)) * math.log1p(-stage["growth"][p])
        return closes

    def over(self, run):
        return run["stage"] == len(self.stages) or (self.ends_at_score and run["score"] >= self.target)

    def growth(self, seed, s, p):
        batch = self.plans[p]["batch_size"]
        gain = (1 + batch / self.stages[s]["noise_scale"]) / (1 + batch / self.noise_scale(seed, s))
        if self.spread and (self.slower or self.faster or self.bursts):
            return -math.expm1(-self.closed(seed, s, p) * gain)
        return min(1.0, self.stages[s]["growth"][p] * (1 + self.u(seed, GROWTH, s)) * gain)

    def legal(self, run):
        def least(s, worth):
            return min(worth(s, p) for p in range(len(self.plans)))

        def time(s, p):
            return (1 - self.spread) * self.stages[s]["seconds"][p]

        def cost(s, p):
            return time(s, p) * self.rate[p]

        after = [] if self.ends_at_score else range(run["stage"] + 1, len(self.stages))
        rest_time, rest_cost = sum(least(s, time) for s in after), sum(least(s, cost) for s in after)
        broken = [(run["seconds"] + time(run["stage"], p) + rest_time > self.deadline * (1 + 1e-9)) +
                  (run["cost"] + cost(run["stage"], p) + rest_cost > self.budget * (1 + 1e-9)) for p in range(len(self.plans))]
        return [p for p, count in enumerate(broken) if count == min(broken)]

    def begin(self, seed):
        return dict(seed=seed, stage=0, plan=-1, seconds=0.0, cost=0.0, score=self.start, slope=0.0,
                    noise_scale=self.noise_scale(seed, 0), pace=1.0, **{"yield": 1.0}, use=[0.0] * 3, stall=[0.0] * 3)

    def step(self, run, p):
        """The state after the stage, its reward and whether the run has ended."""
        seed, s = run["seed"], run["stage"]
        stage, seconds, share = self.stages[s], self.seconds(seed, s, p), self.growth(seed, s, p)
        gained, cost = share * (self.ceiling - run["score"]), seconds * self.rate[p]
        after = dict(seed=seed, stage=s + 1, plan=p, seconds=run["seconds"] + seconds, cost=run["cost"] + cost,
                     score=run["score"] + gained, slope=gained / seconds, pace=seconds / stage["seconds"][p],
                     use=[stage["use"][r][p] for r in RESOURCES], stall=[stage["stall"][r][p] for r in RESOURCES])
        after["yield"] = min(4.0, share / stage["growth"][p]) if stage["growth"][p] > 0 else 1.0
        ended = self.over(after)
        after["noise_scale"] = run["noise_scale"] if s + 1 == len(self.stages) else self.noise_scale(seed, s + 1)
        reward = -cost / self.budget - (self.resize_penalty if run["plan"] not in (-1, p) else 0)
        if ended:
            reward -= 5 * ((after["seconds"] > self.deadline) + (after["cost"] > self.budget) + (after["score"] < self.target))
        return after, reward, ended

    def to_target(self, p, score):
        """Stages of the mean under a plan from this score to the target, or to the end of its curve."""
        def closed(x):
            return -math.log1p(-(x - self.start) / (self.ceiling - self.start))

        stages, place = 0.0, 0.0
        for stage in self.stages:
            closes = -math.log1p(-stage["growth"][p])
            stages += max(0.0, min(closes, closed(self.target) - place) - max(0.0, closed(score) - place)) / closes
            place += closes
        return stages

    def margins(self, run, plan):
        """Margins of time, cost and score under one plan."""
        left = len(self.stages) - run["stage"]
        rest = self.to_target(plan, run["score"]) if self.ends_at_score else left
        seconds, gap = 0.0, self.ceiling - run["score"]
        for k in range(math.ceil(rest)):
            stage = self.stages[min(run["stage"] + k, len(self.stages) - 1)]
            seconds += min(1.0, rest - k) * stage["seconds"][plan]
            gap *= 1 - stage["growth"][plan]
        score = (self.ceiling - gap - self.target) / (self.target - self.start)
        return [1 - (run["seconds"] + seconds) / self.deadline, 1 - (run["cost"] + seconds * self.rate[plan]) / self.budget,
                (left - rest) / len(self.stages) if self.ends_at_score else score]

    def observation(self, run):
        asked = self.target - self.start
        left = [1 - run["seconds"] / self.deadline, 1 - run["cost"] / self.budget]
        rest = range(run["stage"], len(self.stages))
        seconds = sum(min(self.stages[s]["seconds"]) for s in rest)
        cost = sum(min(t * r for t, r in zip(self.stages[s]["seconds"], self.rate)) for s in rest)
        numbers = [run["stage"] / len(self.stages), (run["score"] - self.start) / asked, run["slope"] * self.deadline / asked,
                   math.log2(run["noise_scale"]) / 16, *run["use"], *run["stall"], *left, left[0] - seconds / self.deadline,
                   left[1] - cost / self.budget, run["pace"] - 1, run["yield"] - 1]
        every = [self.margins(run, p) for p in range(len(self.plans))]
        gap = (self.ceiling - run["score"]) * math.prod(1 - max(self.stages[s]["growth"]) for s in rest)
        best = [left[0] - seconds / self.deadline, left[1] - cost / self.budget, (self.ceiling - gap - self.target) / asked]
        if self.ends_at_score:
            best = [max(m) for m in zip(*every)]
        margins = best + (every[run["plan"]] if run["plan"] >= 0 else [])
        margins = [m * len(self.stages) * fine for m in margins for fine in (1, 8)]
        stage, plan = [0.0] * 16, [0.0] * 24
        if run["stage"] < len(self.stages):
            stage[run["stage"]] = 1.0
        if run["plan"] >= 0:
            plan[run["plan"]] = 1.0
        def bounded(values):
            return [max(-4.0, min(4.0, x)) for x in values]

        return bounded(numbers) + stage + plan + bounded(margins) + [0.0] * (12 - len(margins))


# ---- checking a trace ----

def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def check(course, lines):
    names = ["plan", "seconds", "cost", "score", "slope", "noise_scale"]
    run = None
    for number, line in enumerate(lines, 1):
        entry = json.loads(line)
        state = entry["state"]
        seed = int(state[0]) << 32 | int(state[1])
        if entry["t"] == 0:
            run = course.begin(seed)
        expected = [run[n] for n in names] + run["use"] + run["stall"] + [run["pace"], run["yield"], run["stage"]]
        assert seed == run["seed"] and all(near(a, b, 1e-12) for a, b in zip(state[2:], expected)), (number, state, expected)
        seen = course.observation(run)
        assert len(seen) == len(entry["observation"]), number
        assert all(near(a, b, 1e-6) for a, b in zip(entry["observation"], seen)), (number, entry["observation"], seen)
        assert entry["legal"] == course.legal(run), (number, entry["legal"], course.legal(run))
        run, reward, ended = course.step(run, entry["action"])
        assert near(entry["reward"], reward, 1e-6) and entry["terminated"] == ended, (number, entry["reward"], reward)
    print(f"{len(lines)} lines agree")


# ---- the recorded episodes ----

def small_course():
    """Four stages and five plans, one of which is late and one dear."""
    plans = [(1, 0, 2, 32), (4, 0, 4, 64), (8, 0, 8, 256), (4, 1, 16, 512), (8, 2, 32, 2048)]
    stages = []
    for s in range(4):
        noise = 50 * 4.0**s
        seconds = [round(3000 / (c**0.7 + 20 * g) * (1 + 0.1 * s), 3) for c, g, _, _ in plans]
        growth = [round(0.6 / (1 + b / noise), 6) for _, _, _, b in plans]
        use = {r: [round(0.3 + 0.1 * i, 3) for i in range(5)] for r in RESOURCES}
        stall = {r: [round(0.05 * i + 0.02 * s, 3) for i in range(5)] for r in RESOURCES}
        stages.append(dict(noise_scale=noise, seconds=seconds, growth=growth, use=use, stall=stall))
    return {"format": "muzero course", "version": 2, "prices": {"core_hour": 1, "gpu_hour": 20, "gib_hour": 0.1},
            "limits": {"deadline_s": 4000, "budget": 6, "score": 0.8}, "score": {"start": 0.05, "ceiling": 0.98},
            "pace": {"slower": 0.4, "faster": 0.3, "bursts": 0.5}, "ends_at_score": True, "resize_penalty": 0.07,
            "plans": [dict(zip([*RESOURCES, "batch_size"], p)) for p in plans], "stages": stages}


def record(course, seed, lines):
    run, ended, random = course.begin(seed), False, seed
    lines.append(f"seed {seed}")
    while not ended:
        legal = course.legal(run)
        lines.append("legal " + " ".join(map(str, legal)))
        random = splitmix(random)
        plan = legal[random % len(legal)]
        run, reward, ended = course.step(run, plan)
        numbers = [reward] + [run[n] for n in ["seconds", "cost", "score", "slope", "noise_scale", "pace", "yield"]]
        lines.append(f"step {plan} " + " ".join(f"{x:.17g}" for x in numbers) + f" {ended:d}")


def main():
    if len(sys.argv) == 3:
        with open(sys.argv[1], encoding="utf-8") as file:
            check(Course(json.load(file), float(sys.argv[2])), sys.stdin.read().splitlines())
        return
    folder = os.path.dirname(os.path.abspath(__file__))
    data = small_course()
    with open(os.path.join(folder, "allocation_course.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(data, indent=1).replace("\n    ", " ").replace("\n   ]", "]") + "\n")
    lines = ["# episodes of allocation_course.json with spread 0.2"]
    for seed in [*range(60), 2**32 - 1, 2**32, 2**64 - 1]:
        record(Course(data, 0.2), seed, lines)
    with open(os.path.join(folder, "allocation_traces.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
