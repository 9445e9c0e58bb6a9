#!/usr/bin/env bash
# Makes a run in the checkpoint and pack format that the given program writes, tests/data/formats/FORMAT/run, with its digest after
# 12 rounds and, resumed, after 20. Run it with the last program before the number of a format, or of a section's version, is raised. In 1
# and 2 the average of the weights ends section 'optimizer'. usage: tests/data/formats/make.sh PROGRAM FORMAT
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
rm -rf "$2" && mkdir -p "$2"
MUZERO_ISA=plain "$program" train cartpole --run "$2/run" --history none --threads 1 --seed 4 --rounds 12 \
  --set games=4 --set moves=4 --set simulations=2 --set batch_size=16 --set shards=2 --set loop_count=2 --set replay.min_fill=16 \
  --set replay.capacity=400 --set train.phase_rounds=4 --set eval.games=2 --set network.width=8 --set checkpoint.keep=1 \
  --set network.value_bins=5 --set network.reward_bins=3 --set weight_average=0.9 >"$2/log"
"$program" inspect "$2/run" --digest >"$2/digest"
cp -r "$2/run" "$2/on"
MUZERO_ISA=plain "$program" resume "$2/on" --history none --threads 1 --rounds 20 >"$2/log"
"$program" inspect "$2/on" --digest >>"$2/digest"
rm -rf "$2/on"
rm -f "$2/run/lock" "$2/run/env.json" "$2/log"
