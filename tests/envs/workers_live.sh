#!/bin/bash
# Trains on CartPole of Gymnasium and on a game of OpenSpiel, played by workers: the number of workers changes nothing, a run resumes to
# the same digest each time, a training outlives 100 killed workers, and an unknown id names the nearest. Skipped where a package is missing.
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

# A worker is killed in every phase of the training, at any moment of it.
rounds=1500
"$muzero" train gym:CartPole-v1,workers=2 --run "$folder/killed" --rounds $rounds --history none \
  --set train.phase_rounds=10 --set num_games=32 --set moves_per_round=8 --set loop_count=8 \
  >"$folder/killed.log" 2>&1 &
trainer=$!
kills=0
phases=0
while kill -0 $trainer 2>/dev/null; do
  ended=$(wc -l 2>/dev/null <"$folder/killed/metrics.jsonl" || echo 0)
  if ((ended > phases)); then
    phases=$ended
    sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
    worker=$(pgrep -P $trainer -r R,S,D | shuf -n 1) || true
    if [[ -n $worker ]] && kill -9 "$worker" 2>/dev/null; then kills=$((kills + 1)); fi
  else
    sleep 0.05
  fi
done
wait $trainer || fail "a training whose workers were killed $kills times ended in an error: $(cat "$folder/killed.log")"
"$muzero" inspect "$folder/killed" --json >"$folder/killed.json"
count() { # KEY, with what is before it where it is not the only one
  grep -o "$1\":[0-9]*" "$folder/killed.json" | grep -o '[0-9]*$'
}
echo "$kills workers were killed, $(count lost_workers) were missed, with $(count lost_games) games"
((kills >= 100)) || fail "only $kills kills in $phases phases"
[[ $(count 'counters":{"rounds') == "$rounds" ]] || fail "a training of $rounds rounds ended after $(count 'counters":{"rounds')"
# The last one that was killed of each of the two need not have been missed.
(($(count lost_workers) <= kills && $(count lost_workers) >= kills - 2)) || fail "$kills kills, but $(count lost_workers) lost workers"

train game 'spiel:breakthrough(rows=6,columns=6)' 2
"$muzero" train gym:CartPol-v1 --run "$folder/none" 2>"$folder/none.log" && fail 'an unknown id is taken'
grep -q 'nearest: CartPole-v1' "$folder/none.log" || fail "no nearest id: $(cat "$folder/none.log")"
