#!/usr/bin/env bash
# How often a score that was reached is lost again: trains seeds for a fixed number of rounds. Reached it is after as many evaluations in
# a row as the preset asks for (train.target_evaluations); among those that follow, it counts the ones below a floor. Prints a Markdown
# table with a row for each seed, and the worst, the median and the spread over seeds.
# usage: docs/results/staying.sh ENV [SEEDS] [ROUNDS] [FIRST_SEED]      SEEDS: 20, FIRST_SEED: 101
# The target is the preset's; the floor is 0.9 of it for cartpole and the target itself for other environments (tictactoe: a lost line
# counts). MUZERO names the program, FLOOR sets another floor, ROW other evaluations in a row, KEEP a folder in which the runs stay.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
muzero=${MUZERO:-$root/build/bin/muzero}

env=${1-}
seeds=${2:-20}
first=${4:-101}
case $env in
  cartpole) rounds=800 share=0.9 ;;
  tictactoe) rounds=1200 share=1 ;;
  '' | -*)
    echo 'usage: docs/results/staying.sh ENV [SEEDS] [ROUNDS] [FIRST_SEED]' >&2
    exit 2
    ;;
  *) rounds=2000 share=1 ;;
esac
rounds=${3:-$rounds}
[[ -x $muzero ]] || { echo "staying.sh: $muzero: no such program; ./bootstrap builds it" >&2; exit 5; }

runs=${KEEP:-$(mktemp -d)}
[[ -n ${KEEP-} ]] || trap 'rm -rf "$runs"' EXIT
rows=$runs/rows.txt
mkdir -p "$runs"
: >"$rows"

# Reads the phases' records; prints "reached_updates after below worst", or "- 0 0 -" where the target was never reached.
count() { # TARGET FLOOR ROW, records on stdin
  awk -v target="$1" -v floor="$2" -v asked="$3" '
    function member(key,    at) {
      at = index($0, "\"" key "\":")
      return at ? substr($0, at + length(key) + 3) + 0 : ""
    }
    /"event":"phase"/ && /"evaluated":true/ {
      score = member("score")
      if (reached == "") {
        row = score >= target ? row + 1 : 0
        if (row == asked) reached = member("updates")
        next
      }
      after++
      if (score < floor) below++
      if (after == 1 || score < worst) worst = score
    }
    END { print (reached == "" ? "-" : reached), after + 0, below + 0, (after ? worst : "-") }'
}

setting() { sed -n "s/.*\"$1\":[[:space:]]*\([-+.0-9eE]*\).*/\1/p" "$2" | head -n 1; } # KEY config.json

for ((seed = first; seed < first + seeds; seed++)); do
  run=$runs/$env-$seed
  "$muzero" train "$env" --run "$run" --seed "$seed" --rounds "$rounds" --history none --json >"$run.log" 2>"$run.err" || {
    cat "$run.err" >&2
    exit 1
  }
  target=$(setting target "$run/config.json")
  row=${ROW:-$(setting target_evaluations "$run/config.json")}
  floor=${FLOOR:-$(awk "BEGIN { print $share * $target }")}
  printf '%s %s\n' "$seed" "$(count "$target" "$floor" "$row" <"$run/metrics.jsonl")" >>"$rows"
done

printf '`docs/results/staying.sh %s %s %s %s`: target %s, %s in a row, floor %s\n\n' "$env" "$seeds" "$rounds" "$first" "$target" "$row" "$floor"
printf '| seed | target reached after updates | evaluations after it | below the floor | lowest score |\n|---|---|---|---|---|\n'
awk '{ print "| " $1 " | " $2 " | " $3 " | " $4 " | " $5 " |" }' "$rows"
# The share below the floor, over the seeds that reached the target and were evaluated afterwards.
awk '$3 > 0 { print 100 * $4 / $3 }' "$rows" | sort -n | awk -v seeds="$seeds" '
  function quantile(q,    at, low) { # linear between the sorted values
    at = 1 + q * (NR - 1); low = int(at)
    return low >= NR ? value[NR] : value[low] + (at - low) * (value[low + 1] - value[low])
  }
  { value[NR] = $1; never += $1 == 0 }
  END {
    if (!NR) { print "\nNo seed reached the target with an evaluation after it."; exit }
    printf "\n| share of evaluations below the floor | |\n|---|---|\n"
    printf "| seeds | %d of %d |\n| seeds that never fall below it | %d |\n", NR, seeds, never
    printf "| worst | %.1f %% |\n| median | %.1f %% |\n", value[NR], quantile(0.5)
    printf "| spread (quartiles) | %.1f to %.1f %% |\n", quantile(0.25), quantile(0.75)
  }'
