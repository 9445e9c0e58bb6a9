#!/usr/bin/env bash
# Trains COUNT short runs, each under a mixture of settings that nobody has thought of.
#
#   usage: tests/mixtures.sh COUNT [SEED]
#
# SEED (default 1) gives each run its environment, its seed and 4 to 12 settings of tests/mixtures/settings.txt, on top of
# tests/mixtures/run.json. The program trains it for four rounds, or refuses it with a message and exit status 2 or 3. A second run with
# the same settings is stopped after two rounds and resumed with another number of threads: it ends with the digest of the first. Its
# agent then plays two games. Whatever else happens is told with the command, and its run stays; the exit status is 1 then.
#
# Environment: MUZERO, the program (default: build/bin/muzero).
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
muzero=${MUZERO:-$here/../build/bin/muzero}
count=${1:-}
seed=${2:-1}
if ! [[ $count =~ ^[1-9][0-9]*$ && $seed =~ ^[0-9]+$ ]]; then
  echo "usage: tests/mixtures.sh COUNT [SEED]" >&2
  exit 2
fi
# shellcheck source=tests/kill/common.sh
. "$here/kill/common.sh"
need_programs "$muzero"
folder=$(mktemp -d "${TMPDIR:-/tmp}/muzero-mixtures-XXXXXX") || exit 2

readonly ENVS=(tictactoe connect4 cartpole catch pig:target=20 2048 acrobot:limit=50 mountaincar:limit=60 gomoku:size=5 go:size=3 go:size=5
  othello6 hex:size=3 breakout:limit=60 asterix:limit=60 freeway:limit=60 seaquest:limit=60 space_invaders:limit=60 allocation)
mapfile -t table < <(grep -v '^#' "$here/mixtures/settings.txt")
trained=0 refused=0 wrong=0

choose_mixture() { # NUMBER: sets `command`
  local words n
  local -A chosen=()
  RANDOM=$(((seed * 1009 + $1) % 32749))
  pick "${ENVS[@]}"
  command=(train "$picked" --preset "$here/mixtures/run.json" --history none)
  draw 1000
  command+=(--seed $((drawn + 1)))
  draw 9
  for ((n = drawn + 4; n > 0; n--)); do
    draw ${#table[@]}
    read -ra words <<<"${table[drawn]}"
    pick "${words[@]:1}"
    chosen[${words[0]}]=$picked
  done
  for n in "${!chosen[@]}"; do command+=(--set "$n=${chosen[$n]}"); done
}

tell() { # WHAT
  wrong=$((wrong + 1))
  echo "mixtures.sh: $1: muzero ${command[*]} --run $run --rounds 4 --threads 2" >&2
  tail -n 20 "$run.txt" >&2
}

try() { # ARGUMENT…: sets `status`
  timeout 120 "$muzero" "$@" >"$run.txt" 2>&1
  status=$?
}

must() { # ARGUMENT…: sets `what` and fails where the program does
  try "$@"
  ((status == 0)) || what="$1 ended with $status"
  [[ -z $what ]]
}

# Sets `what` to what is wrong, or nothing.
check_mixture() {
  local digest
  what=
  try "${command[@]}" --run "$run" --rounds 4 --threads 2
  if ((status == 2 || status == 3)) && grep -q '^muzero: ' "$run.txt"; then
    refused=$((refused + 1))
    return
  fi
  trained=$((trained + 1))
  ((status == 0)) || { what="train ended with $status"; return; }
  must inspect "$run" --digest || return
  digest=$(<"$run.txt")
  must "${command[@]}" --run "$run-resumed" --rounds 2 --threads 1 && must resume "$run-resumed" --rounds 4 --threads 1 &&
    must inspect "$run-resumed" --digest || return
  [[ $digest == "$(<"$run.txt")" ]] || { what="digests differ ($digest)"; return; }
  must eval "$run" --games 2
}

for ((number = 0; number < count; number++)); do
  run=$folder/$number
  choose_mixture "$number"
  check_mixture
  if [[ -n $what ]]; then tell "$what"; else rm -rf "$run" "$run-resumed" "$run.txt"; fi
done
echo "$count mixtures of settings: trained $trained, refused $refused, wrong $wrong"
((wrong)) || rm -rf "$folder"
((wrong == 0 && 3 * trained > count))
