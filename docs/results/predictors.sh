#!/usr/bin/env bash
# How well predictors foretell plans: measures plans of several pipelines into a history, and holds the contests on it and on simulated
# situations drawn from it.
# usage: docs/results/predictors.sh HISTORY [pipelines|plans|contests]…
#   pipelines: two plans of each of ten pipelines, with their probes (what `muzero pretrain` draws situations from)
#   plans: thirty plans of each of four pipelines, three passes
#   contests: prints the tables
# MUZERO names the program.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
muzero=${MUZERO:-$root/build/bin/muzero}
[[ $# -ge 1 ]] || { echo "usage: predictors.sh HISTORY [pipelines|plans|contests]…" >&2; exit 2; }
history=$1
shift
parts=("$@")
[[ $# -gt 0 ]] || parts=(pipelines plans contests)
export XDG_RUNTIME_DIR=/dev/null # no run of somebody else's shares the cores

# Small rounds, so that a measurement has many.
short=(--set moves_per_round=2 --set loop_count=2 --set num_games=64 --set batch_size=64 --set shards=4 --set replay.min_fill=300)
conv=(--set network.kind=conv --set network.channels=32 --set network.blocks=1)
profile() { "$muzero" profile "$@" --history "$history" --again 0 --set eval.interval=1000000 >/dev/null; }
few=(--plans 2 --passes 1)
many=(--plans 28 --passes 3)

for part in "${parts[@]}"; do
  case $part in
    pipelines)
      profile cartpole "${few[@]}"
      profile cartpole "${few[@]}" --set simulations=200
      profile cartpole "${few[@]}" --set network.width=256
      profile tictactoe "${few[@]}"
      profile tictactoe "${few[@]}" "${short[@]}" "${conv[@]}"
      profile tictactoe "${few[@]}" --set num_games=16
      profile connect4 "${few[@]}" "${short[@]}"
      profile gomoku:size=9 "${few[@]}" "${short[@]}"
      profile othello6 "${few[@]}" "${short[@]}"
      profile go:size=5 "${few[@]}" "${short[@]}"
      ;;
    plans)
      profile cartpole "${many[@]}"
      profile tictactoe "${many[@]}"
      profile tictactoe "${many[@]}" "${short[@]}" "${conv[@]}"
      profile connect4 "${many[@]}" "${short[@]}"
      ;;
    contests)
      "$muzero" bench predictors --history "$history"
      "$muzero" bench predictors --history "$history" --situations 100 --gpu-share 0
      "$muzero" bench predictors --history "$history" --situations 100 --cores-min 16 --gpu-share 1
      ;;
    *)
      echo "predictors.sh: $part: there are pipelines, plans and contests" >&2
      exit 2
      ;;
  esac
done
