#!/usr/bin/env bash
# How fast workers play an environment of Gymnasium, beside Gymnasium's own AsyncVectorEnv: 32 games, random actions, observations and
# resets included, on the cores that this process may use. The two take turns; prints a row for each turn, and the median ratio. Atari's
# games (ALE/Pong-v5) go through Gymnasium's AtariPreprocessing to 84 × 84, four frames together, in both.
# usage: docs/results/gym.sh [ID] [TURNS]      ID: CartPole-v1, TURNS: 5
# MUZERO_PYTHON names the Python that has Gymnasium (python3), MUZERO the program, SECONDS_OF is the time of one measurement (3).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
muzero=${MUZERO:-$root/build/bin/muzero}
id=${1:-CartPole-v1}
turns=${2:-5}
seconds=${SECONDS_OF:-3}
ours_of=gym:$id
[[ $id != ALE/* ]] || ours_of="gym:$id,import=ale_py,frameskip=1,wrap=gymnasium.wrappers:AtariPreprocessing(screen_size=84),frames=4"
[[ -x $muzero ]] || { echo "gym.sh: $muzero: no such program; ./bootstrap builds it" >&2; exit 5; }

vector_env() {
  "${MUZERO_PYTHON:-python3}" - "$id" "$seconds" <<'PYTHON'
import sys, time, warnings

warnings.simplefilter("ignore")
import gymnasium

id, seconds = sys.argv[1], float(sys.argv[2])


def make():
    if not id.startswith("ALE/"):
        return gymnasium.make(id)
    import ale_py

    gymnasium.register_envs(ale_py)
    wrapped = gymnasium.wrappers.AtariPreprocessing(gymnasium.make(id, frameskip=1), screen_size=84)
    return gymnasium.wrappers.FrameStackObservation(wrapped, 4)


if __name__ == "__main__":
    games = gymnasium.vector.AsyncVectorEnv([make] * 32)
    games.reset(seed=1)
    actions = [games.action_space.sample() for _ in range(1000)]
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        games.step(actions[steps % 1000])
        steps += 1
    print(32 * steps / (time.perf_counter() - start))
    games.close()
PYTHON
}

ratios=()
printf '| muzero steps/s | AsyncVectorEnv steps/s | ratio |\n|---|---|---|\n'
for ((turn = 0; turn < turns; turn++)); do
  ours=$("$muzero" bench gym --env "$ours_of" --time "${seconds}s" --json | jq .gym.steps_per_s)
  theirs=$(vector_env)
  ratios+=("$(awk -v ours="$ours" -v theirs="$theirs" 'BEGIN { printf "%.2f", ours / theirs }')")
  printf '| %.0f | %.0f | %s |\n' "$ours" "$theirs" "${ratios[-1]}"
done
printf '\nmedian ratio %s\n' "$(printf '%s\n' "${ratios[@]}" | sort -n | awk '{ r[NR] = $1 } END { print (r[int((NR + 1) / 2)] + r[int(NR / 2) + 1]) / 2 }')"
