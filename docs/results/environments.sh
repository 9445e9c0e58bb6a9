#!/usr/bin/env bash
# Trains the presets of catch, acrobot, mountaincar, the games of MinAtar, 2048, pig and hex with seeds that tuning never saw, and
# prints a line for each run: the score over 100 fresh games, with its interval (pig and hex: the share of the points against each opponent).
# usage: docs/results/environments.sh [SEED…]   (101 102 103; three hours a seed)
set -euo pipefail
muzero=${MUZERO:-build/bin/muzero}
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
(($#)) || set -- 101 102 103

# NAME ENV SEED ENV_STEPS: trains from scratch, or on where the run of that name is; then evaluates.
measure() {
  local run=$runs/$1-$3 line score
  if [[ -d $run ]]; then
    "$muzero" resume "$run" --env-steps "$4" --threads 1 --json >"$run.log"
  else
    "$muzero" train "$2" --run "$run" --seed "$3" --env-steps "$4" --threads 1 --json >"$run.log"
  fi
  line=$(tail -n 1 "$run.log")
  score=$("$muzero" eval "$run" --games 100 --json)
  printf '%-24s seed %-4s %6s steps  wall %s s  score %s\n' "$2" "$3" "$4" "$(jq -r '.wall_s | round' <<<"$line")" \
    "$(jq -r '"\(.mean_return) ± \(.ci95)"' <<<"$score")"
}

# ENV SEED GAMES OPPONENT…: trains to the preset's end, then plays so many games against each.
measure_points() {
  local run=$runs/$1-$2 env=$1 seed=$2 games=$3 wall shares=()
  wall=$("$muzero" train "$env" --run "$run" --seed "$seed" --threads 1 --json | tail -n 1 | jq '.wall_s | round')
  for opponent in "${@:4}"; do
    shares+=("$opponent $("$muzero" eval "$run" --games "$games" --opponent "$opponent" --json | jq -r .score)")
  done
  printf '%-24s seed %-4s wall %s s  %s\n' "$env" "$seed" "$wall" "${shares[*]}"
}

for seed; do
  measure catch catch "$seed" 200k
  measure acrobot acrobot "$seed" 200k
  measure acrobot acrobot "$seed" 500k
  measure mountaincar mountaincar:limit=1000 "$seed" 500k
  measure asterix asterix "$seed" 1M
  measure breakout breakout "$seed" 1M
  measure freeway freeway "$seed" 2M
  measure space_invaders space_invaders "$seed" 2M
  measure seaquest seaquest "$seed" 2M
  measure 2048 2048 "$seed" 1M
  measure_points pig "$seed" 20000 perfect hold20
  measure_points hex:size=7 "$seed" 400 mcts:1000
done
