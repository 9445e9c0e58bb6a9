#!/bin/bash
# Trains on CartPole of Gymnasium and on a game of OpenSpiel, played by workers: the number of workers changes nothing, a run resumes to
# the same digest each time, killed workers are replaced, and an unknown id names the nearest. Skipped where a package is missing.
# Usage: workers_live.sh MUZERO. MUZERO_PYTHON names the interpreter (default python3).
set -euo pipefail
muzero=$1
python=${MUZERO_PYTHON:-python3}
if ! "$python" -c 'import gymnasium, pyspiel' 2>/dev/null; then
  echo "skipped: $python does not import gymnasium and pyspiel"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

train() { # RUN ENV ROUNDS
  "$muzero" train "$2" --run "$folder/$1" --seed 5 --rounds "$3" --history none >"$folder/$1.log" 2>&1
}
digest() { # RUN
  grep -o '"digest":"[^"]*"' "$folder/$1/metrics.jsonl" | tail -n 1
}
fail() {
  echo "workers_live.sh: $*" >&2
  exit 1
}

for workers in 1 2 4; do train "by$workers" "gym:CartPole-v1,workers=$workers" 12; done
[[ $(digest by1) == "$(digest by2)" && $(digest by1) == "$(digest by4)" ]] || fail 'the number of workers changes the digest'

cp -r "$folder/by2" "$folder/again"
for run in by2 again; do "$muzero" resume "$folder/$run" --rounds 20 >"$folder/$run.log" 2>&1; done
[[ $(digest by2) == "$(digest again)" ]] || fail 'two resumes of one run differ'

"$muzero" train gym:CartPole-v1,workers=2 --run "$folder/killed" --rounds 300 --history none >"$folder/killed.log" 2>&1 &
trainer=$!
kills=0
until [[ -s $folder/killed/metrics.jsonl ]] || ! kill -0 $trainer 2>/dev/null; do sleep 0.1; done
while kill -0 $trainer 2>/dev/null; do
  worker=$(pgrep -P $trainer | shuf -n 1) || true
  if [[ -n $worker ]] && kill -9 "$worker" 2>/dev/null; then kills=$((kills + 1)); fi
  sleep 2 # a new one has time to begin
done
wait $trainer || fail "a training whose workers were killed $kills times ended in an error: $(cat "$folder/killed.log")"
echo "$kills workers were killed"

train game 'spiel:breakthrough(rows=6,columns=6)' 2
"$muzero" train gym:CartPol-v1 --run "$folder/none" 2>"$folder/none.log" && fail 'an unknown id is taken'
grep -q 'nearest: CartPole-v1' "$folder/none.log" || fail "no nearest id: $(cat "$folder/none.log")"
