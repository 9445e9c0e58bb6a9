#!/usr/bin/env bash
# What training to the preset's score costs when loop_count is off at the start: staying with it, and with allocate.objective=goodput.
# Prints a row for each seed and arm: CPU seconds of the process, updates, moves, the score, and the last loop_count.
# usage: docs/results/goodput.sh ENV FIRST_SEED LAST_SEED ARM...      ARM: a loop_count, with `g` behind it for goodput: 48 48g
# MUZERO names the program.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
muzero=${MUZERO:-$root/build/bin/muzero}
if (($# < 4)); then
  echo 'usage: docs/results/goodput.sh ENV FIRST_SEED LAST_SEED ARM...' >&2
  exit 2
fi
env=$1 first=$2 last=$3
shift 3
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT

echo '| seed | start | CPU s | updates | moves | score | end |'
echo '|---|---|---|---|---|---|---|'
for ((seed = first; seed <= last; seed++)); do
  for arm in "$@"; do
    objective='time'
    [[ $arm != *g ]] || objective=goodput
    "$muzero" train "$env" --run "$runs/$arm-$seed" --seed "$seed" --threads 2 --history none --json --set allocate.share=off \
      --set train.target_evaluations=1 \
      --set loop_count="${arm%g}" --set allocate.objective="$objective" >"$runs/$arm-$seed.log"
    awk -v seed="$seed" -v arm="$arm" '
      function member(key,    at) {
        at = index($0, "\"" key "\":")
        return at ? substr($0, at + length(key) + 3) + 0 : ""
      }
      /"event":"phase"/ {
        cpu += member("cpu_s")
        updates = member("updates")
        moves = member("env_steps")
        score = member("score")
        loops = member("loop_count")
      }
      END { printf "| %d | %s | %.2f | %d | %d | %g | %d |\n", seed, arm, cpu, updates, moves, score, loops }' "$runs/$arm-$seed.log"
  done
done
