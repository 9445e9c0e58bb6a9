"""What single settings of Connect Four's preset are worth: every variant with the same seeds, the same number of updates and one thread
a run, as many runs at once as there are cores. Judged in decisive positions (`eval --positions`) at 200 simulations, next to
mcts:1000 in the same positions. Results depend on the numeric path, not on time; cpu_s does.

    python3 make_ablation.py build/bin/muzero WORK_FOLDER [UPDATES [SEED...]] > connect4_ablation.csv

A run that WORK_FOLDER holds already is not trained again, so that an interrupted table goes on.
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

BASE = ["loop_count=16", "selfplay.fork_share=0"]  # every position trained four times, no forks: the preset when the table was begun
VARIANTS = {
    "base": [],
    "8 simulations": ["simulations=8"],
    "32 simulations": ["simulations=32"],
    "PUCT": ["search.algorithm=puct"],
    "every position trained twice": ["loop_count=8"],
    "twice, half of the moves with 4 simulations": ["loop_count=8", "selfplay.full_share=0.5"],
    "twice, half of the games fork off": ["loop_count=8", "selfplay.fork_share=0.5"],
    "twice, nine of ten games fork off": ["loop_count=8", "selfplay.fork_share=0.9"],
    "twice, random openings of up to 14": ["loop_count=8", "selfplay.opening_plies=14"],
    "twice, a third of the noise": ["loop_count=8", "search.gumbel_scale=0.3"],
    "twice, lambda-returns, 0.9": ["loop_count=8", "td_lambda=0.9"],
    "twice, Q as it is": ["loop_count=8", "search.rescale_values=off", "search.value_scale=0.3"],
    "twice, unroll 5 of fewer rows": ["loop_count=8", "unroll=5", "batch_size=192", "shards=12"],
    "every position trained once": ["loop_count=4"],
    "once, 8 simulations": ["loop_count=4", "simulations=8"],
    "once, three of four moves with 4 simulations": ["loop_count=4", "selfplay.full_share=0.25"],
    "every position trained eight times": ["loop_count=32"],
    "half searched afresh": ["reanalyze_ratio=0.5"],
    "without symmetry": ["replay.symmetry=off"],
    "16 channels": ["network.channels=16"],
    "one block": ["network.blocks=1"],
    "without random openings": ["selfplay.opening_plies=0"],
    "64 channels": ["network.channels=64"],
    "consistency": ["loss.consistency_weight=2"],
    "lambda-returns, 0.9": ["td_lambda=0.9"],
    "no pooled block": ["network.pooled_blocks=0"],
    "unroll 5": ["unroll=5"],
    "latents min-max": ["network.scaling=minmax"],
    "learning rate 0.003": ["learning_rate=0.003"],
}
POSITIONS = 1000


def muzero(binary, *arguments):
    """Its JSON lines and the CPU seconds that it took."""
    done = subprocess.Popen([binary, *arguments, "--threads", "1", "--json"], stdout=subprocess.PIPE, text=True)
    out = done.stdout.read()
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise SystemExit(f"{binary} {' '.join(arguments)}: exit status {done.returncode}")
    return [json.loads(line) for line in out.splitlines()], usage.ru_utime + usage.ru_stime


def measure(binary, folder, updates, variant, seed):
    name = "-".join([variant.replace(" ", "_"), str(updates), str(seed)])
    run, kept = os.path.join(folder, name), os.path.join(folder, name + ".json")
    if not os.path.exists(kept):
        settings = [f"train.horizon={updates}", "eval.interval=1000000", "eval.games=1", "eval.opponent=random", *BASE, *VARIANTS[variant]]
        flags = [word for setting in settings for word in ("--set", setting)]
        lines, cpu_s = muzero(binary, "train", "connect4", "--run", run, "--seed", str(seed), "--updates", str(updates),
                              "--allocate", "fixed", "--history", "none", *flags)
        judged, _ = muzero(binary, "eval", run, "--sims", "200", "--positions", str(POSITIONS), "--opponent", "mcts:1000")
        with open(kept, "w") as file:
            json.dump({"moves": lines[-1]["env_steps"], "cpu_s": cpu_s, **judged[0]}, file)
    with open(kept) as file:
        return json.load(file)


def main():
    binary, folder = sys.argv[1], sys.argv[2]
    updates = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    seeds = [int(seed) for seed in sys.argv[4:]] or [1, 2, 3]
    os.makedirs(folder, exist_ok=True)
    jobs = [(variant, seed) for variant in VARIANTS for seed in seeds]
    print(f"# What single settings of Connect Four's preset are worth: {updates} updates, learning rate falling to the end, one thread a run.")
    print(f"# base: the preset with {' '.join(BASE)}; settings: changes to that.")
    print(f"# kept: share of {POSITIONS} decisive positions in which the move keeps the outcome, at 200 simulations (95 % of that sample,")
    print("# not of seeds); mcts_1000: that searcher's in the same positions. By make_ablation.py.")
    print("variant,settings,seed,updates,moves,cpu_s,kept,low,high,mcts_1000")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: measure(binary, folder, updates, *job), jobs)
        for (variant, seed), result in zip(jobs, results):
            low, high = result["kept_ci95"]
            print(f"\"{variant}\",{' '.join(VARIANTS[variant])},{seed},{updates},{result['moves']},{result['cpu_s']:.0f},"
                  f"{result['kept']:.3f},{low:.3f},{high:.3f},{result['opponent_kept']:.3f}", flush=True)


if __name__ == "__main__":
    main()
