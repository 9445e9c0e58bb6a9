#!/usr/bin/env python3
"""Draws the pictures of README.md and docs/: overview.svg from measured data, rooms.svg and round.svg from what is listed here.

usage: docs/images/make.py            writes the pictures beside itself
       docs/images/make.py --check    fails where a picture differs from what the data give
"""
import csv
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CURVES = os.path.join(HERE, "../../tests/data/learning/curves.csv")
BLUE, ORANGE, GREEN, RED, GREY, PALE, INK = "#2b6cb0", "#dd7c1e", "#2f855a", "#b83280", "#8a94a0", "#edf2f7", "#1f2933"


class Picture:
    def __init__(self, width, height, title):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{INK}" role="img" aria-label="{title}">',
            f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
        ]

    def text(self, x, y, text, anchor="start", size=13, colour=INK, bold=False):
        weight = ' font-weight="bold"' if bold else ""
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{weight}>{text}</text>')

    def line(self, x1, y1, x2, y2, colour=GREY, width=1.0, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{dashes}/>')

    def box(self, x, y, width, height, fill, stroke="none", radius=3):
        self.lines.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" fill="{fill}" stroke="{stroke}"/>')

    def path(self, points, colour, width=2.0):
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.lines.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>')

    def arrow(self, x1, y1, x2, y2, colour=INK):
        self.line(x1, y1, x2, y2, colour, 1.3)
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        corners = [(x2, y2), (x2 - 8 * dx - 4 * dy, y2 - 8 * dy + 4 * dx), (x2 - 8 * dx + 4 * dy, y2 - 8 * dy - 4 * dx)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self.lines.append(f'<polygon points="{joined}" fill="{colour}"/>')

    def labelled(self, x, y, width, height, title, lines, fill=PALE, stroke=GREY):
        self.box(x, y, width, height, fill, stroke, 5)
        self.text(x + width / 2, y + 20, title, "middle", 14, INK, True)
        for i, line in enumerate(lines):
            self.text(x + width / 2, y + 38 + 15 * i, line, "middle", 11.5)

    def end(self):
        return "\n".join(self.lines + ["</svg>", ""])


def draw_learning(p, x, y, width, height):
    """Points of Connect Four's preset against the opponent, three seeds, over minutes."""
    rows = csv.DictReader(line for line in open(CURVES, encoding="utf-8") if not line.startswith("#"))
    seeds = {}
    for row in rows:
        if row["game"] == "connect4":
            seeds.setdefault(row["seed"], []).append((float(row["wall_s"]) / 60, 100 * float(row["points"])))
    p.text(x, y - 30, "Connect Four learned from nothing", bold=True, size=15)
    p.text(x, y - 12, "% of points against mcts:1000; three seeds, two cores", size=12, colour=GREY)
    minutes = 15
    for percent in (0, 25, 50, 75, 100):
        level = y + height * (1 - percent / 100)
        p.line(x, level, x + width, level, "#d6dde5")
        p.text(x - 6, level + 4, str(percent), "end", 11, GREY)
    for minute in range(0, minutes + 1, 5):
        p.text(x + width * minute / minutes, y + height + 16, f"{minute} min", "middle", 11, GREY)
    for seed, colour in zip(sorted(seeds), (BLUE, ORANGE, GREEN)):
        p.path([(x + width * t / minutes, y + height * (1 - v / 100)) for t, v in seeds[seed]], colour)


def draw_timeline(p, x, y, width):
    """The mean round of one measured phase: how long each part is at work."""
    data = json.load(open(os.path.join(HERE, "round.json"), encoding="utf-8"))
    rounds, stages = data["rounds"], data["stages"]
    elapsed = {name: 1000 * values[5] / rounds for name, values in stages.items()}
    whole = 1000 * data["wall_s"] / rounds
    scale = width / whole
    p.text(x, y - 30, "One round of training", bold=True, size=15)
    p.text(x, y - 12, f"mean of {rounds} rounds of tic-tac-toe, two cores", size=12, colour=GREY)
    lanes = (("self-play", "actor", BLUE), ("batches", "batch", GREEN), ("updates", "learner", ORANGE))
    for i, (label, name, colour) in enumerate(lanes):
        top = y + 6 + 44 * i
        p.box(x, top, width, 28, PALE)
        p.box(x, top, elapsed[name] * scale, 28, colour)
        inside = elapsed[name] * scale > 150
        at = x + 8 if inside else x + elapsed[name] * scale + 8
        p.text(at, top + 19, f"{label}: {elapsed[name]:.0f} ms", colour="#ffffff" if inside else INK)
    end = x + max(elapsed[name] for _, name, _ in lanes) * scale
    p.line(end, y - 2, end, y + 140, RED, 1.5, "4 3")
    p.text(x + width, y + 158, f"then {elapsed['fold']:.1f} ms: what they made becomes the next state", "end", 12, RED)


def overview():
    p = Picture(840, 260, "Left: points of Connect Four's agent over minutes of training. Right: what happens at once in a round.")
    draw_learning(p, 50, 56, 330, 170)
    draw_timeline(p, 450, 56, 350)
    return p.end()


def rooms():
    """Who may include whom; tests/layering checks it."""
    p = Picture(840, 400, "The rooms of the source and who may include whom")
    p.labelled(330, 12, 180, 50, "cli", ["commands, help, screen"])
    p.labelled(270, 98, 300, 66, "muzero", ["runs, rounds, learner, checkpoints,", "comparisons, reports, the library"])
    p.labelled(60, 214, 180, 66, "selfplay", ["search, games in play,", "players, evaluation"])
    p.labelled(640, 214, 160, 66, "allocator", ["telemetry, model,", "strategies, ledger"])
    p.labelled(60, 322, 140, 50, "envs", ["games and their rules"])
    p.labelled(220, 322, 190, 50, "replay", ["segments, targets, batches"])
    p.labelled(430, 322, 170, 50, "networks", ["tape, kernels, models"])
    p.labelled(640, 322, 160, 50, "base", ["errors, files, threads"], "#e2e8f0")
    p.arrow(420, 62, 420, 96)
    p.arrow(300, 164, 190, 212)
    p.arrow(540, 164, 690, 212)
    p.arrow(420, 164, 330, 320)
    p.arrow(120, 280, 120, 320)
    p.arrow(180, 280, 260, 320)
    p.text(166, 306, "segment.h only", "middle", 10.5, GREY)
    p.arrow(240, 262, 460, 320)
    p.arrow(690, 280, 570, 320)
    p.text(420, 394, "An arrow points to what may be included. muzero and cli may include every room below them, and every room may include base.", "middle", 11.5, GREY)
    return p.end()


def round_flow():
    """How data flow through a round."""
    p = Picture(840, 400, "How data flow through a round")
    p.labelled(20, 20, 800, 62, "state r", ["weights θ · target weights · optimizer · replay (segments, priorities) · games in play · counters"], "#e2e8f0")
    p.labelled(20, 140, 240, 96, "A  self-play", ["every game advances by M moves,", "each chosen by a tree search", "with the weights θ(r)"], "#dbeafe", BLUE)
    p.labelled(300, 140, 240, 96, "B  batches", ["L batches are drawn from the replay", "as it was, some rows searched afresh", "with the target weights"], "#dcfce7", GREEN)
    p.labelled(580, 140, 240, 96, "C  updates", ["the learner consumes the batches", "in order: unroll K steps, sum the", "gradients of shards, step"], "#ffedd5", ORANGE)
    for x in (140, 420, 700):
        p.arrow(x, 82, x, 138)
    p.arrow(540, 188, 578, 188)
    p.text(559, 178, "queue", "middle", 11, GREY)
    p.text(140, 262, "segments", "middle", 12)
    p.text(700, 262, "weights, priorities", "middle", 12)
    p.arrow(140, 268, 140, 298)
    p.arrow(700, 268, 700, 298)
    p.labelled(20, 300, 800, 44, "fold, always in this order", ["priorities → target weights when due → segments in order of games → eviction → counters → θ(r+1) published"],
               "#fce7f3", RED)
    p.text(420, 376, "The result is state r+1. A, B and C overlap on different threads; the end of the round is the only barrier.", "middle", 12, GREY)
    return p.end()


def main():
    check, status = sys.argv[1:] == ["--check"], 0
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    for name, draw in (("overview.svg", overview), ("rooms.svg", rooms), ("round.svg", round_flow)):
        path, wanted = os.path.join(HERE, name), draw()
        if not check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != wanted:
            print(f"{path}: is not what the data give; docs/images/make.py rewrites it", file=sys.stderr)
            status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
