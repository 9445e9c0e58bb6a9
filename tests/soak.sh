#!/usr/bin/env bash
# Soaks training for about MINUTES (a fraction is fine): resizes of pools, saves, rests, signals, kills, resumes, all at random.
#
#   usage: tests/soak.sh MINUTES [SEED]
#
# One run after another, each with its own environment, network, seed and tiers of replay, by SEED (default 1), and with its share of
# the time: about 20 minutes, or all there is. Half of the share belongs to one process that lives long (build/tests/soak_driver):
# its knobs change between phases, and SIGUSR1 comes in storms. In the second half of its life neither resident memory nor what malloc has
# given out grows by more than 1 % (from the median of the third quarter to that of the fourth; 15 % in lives of less than five minutes, in
# which the allocator's pools still fill up), and the numbers of descriptors and of threads, under one and the same plan, stay what they
# are. Then come processes that live for seconds, the driver and `muzero resume` in turns, until SIGKILL, SIGTERM or their own end; after each the
# latest checkpoint verifies and is not before the one seen last. At the end the run's digest is that of a calm run to the same round,
# for which the rest of the time is meant.
# The folder of a run that fails stays, with its processes' output, and is named. The exit status is 1 then.
#
# Environment: MUZERO, KILLER, DRIVER, the programs (default: those in build).
set -u
shopt -s nullglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
muzero=${MUZERO:-$here/../build/bin/muzero}
killer=${KILLER:-$here/../build/tests/killer}
driver=${DRIVER:-$here/../build/tests/soak_driver}
minutes=${1:-}
seed=${2:-1}
if ! [[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ && $seed =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tests/soak.sh MINUTES [SEED]" >&2
  exit 2
fi
# shellcheck source=tests/kill/common.sh
. "$here/kill/common.sh"
need_programs "$muzero" "$killer" "$driver"
folder=$(mktemp -d "${TMPDIR:-/tmp}/muzero-soak-XXXXXX") || exit 2
seconds=$(awk -v m="$minutes" 'BEGIN { printf "%d", m * 60 }')

readonly RUNS=(
  "cartpole replay.raw_bytes=20000"
  "connect4 network.kind=conv num_games=32 replay.capacity=20000 eval.opponent=random"
  "tictactoe replay.raw_bytes=40000 eval.opponent=random eval.games=20"
  "gomoku:size=5,k=4 network.kind=conv network.bn_rows=2 replay.raw_bytes=50000 eval.opponent=random"
)
processes=0 killed=0 stopped=0 ended=0 rounds=0 unsound=0 back=0 different=0 drifted=0
largest_rss=-100 largest_heap=-100

fail() { # WHAT
  failed=1
  echo "soak.sh: $run, process $processes: $1" >&2
}

choose_run() { # NUMBER
  local words
  RANDOM=$(((seed * 1009 + $1) % 32749))
  read -ra words <<<"${RUNS[($1 + seed - 1) % ${#RUNS[@]}]}"
  env=${words[0]}
  draw 1000; run_seed=$((drawn + 1))
  settings=("${words[@]:1}")
}

# SIGUSR1, many times in a short while, somewhere in the next so many microseconds.
choose_storm() { # MICROS
  local i begin
  signals=()
  draw "$1"; begin=$drawn
  for ((i = 0; i < 60; i++)); do
    draw 1000000
    signals+=(-usr1 $((begin + drawn)))
  done
}

# Runs a process to its end and looks at what is left of the run; sets `how` and `out`.
live() { # MOMENT [SIGNAL MICROS]… -- COMMAND…
  local seen said
  processes=$((processes + 1))
  out=$run.$processes.out
  how=$("$killer" "$run" "$out" "$@")
  seen=${how##* }
  how=${how% *}
  case $how in
    killed) killed=$((killed + 1)) ;;
    "exit 75" | "signal 15" | "signal 10") stopped=$((stopped + 1)) ;; # the latter before there was anybody to handle them
    "exit 0") ended=$((ended + 1)) ;;
    *) unsound=$((unsound + 1)); fail "$how: $(tail -n 1 "$out")" ;;
  esac
  round_of "$seen"
  ((round > latest)) && latest=$round
  latest_of "$run"
  ((round < 0 && latest < 0)) && return
  if ((round < latest)); then back=$((back + 1)); fail "LATEST was at round $latest, is at $round"; fi
  latest=$round
  said=$("$muzero" inspect "$run" --verify 2>&1) || { unsound=$((unsound + 1)); fail "$said"; }
}

drive() { # SECONDS SAMPLE_SECONDS: sets `command` to a process that does at random what a run can take
  draw 1000000
  command=("$driver" "$run" "$env" "$here/soak/run.json" "$run_seed" "$drawn" "$1" "$2" "${settings[@]}")
}

# ---- the process that lives long ----

# Growth from the third quarter to the fourth in percent, of RSS and of heap; how far descriptors and threads move in the second half.
measure_drift() { # OUTPUT: sets `drift`
  drift=$(awk '
    $1 == "sample" { n++; rss[n] = $4; heap[n] = $5; fds[n] = $6; threads[n] = $7 }
    function median(of, from, to,    i, j, k, t, a) {
      for (i = from; i <= to; i++) a[i] = of[i]
      for (i = from + 1; i <= to; i++) for (j = i; j > from && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
      return a[int((from + to) / 2)]
    }
    function growth(of) { return (median(of, q3 + 1, n) / median(of, q2 + 1, q3) - 1) * 100 }
    function spread(of,    i, low, high) {
      low = high = of[n]
      for (i = q2 + 1; i <= n; i++) { if (of[i] < low) low = of[i]; if (of[i] > high) high = of[i] }
      return high - low
    }
    END {
      if (n < 8) { print "none"; exit }
      q2 = int(n / 2); q3 = int(3 * n / 4)
      printf "%.2f %.2f %d %d\n", growth(rss), growth(heap), spread(fds), spread(threads)
    }' "$1")
}

live_long() { # SECONDS
  local rss heap descriptors threads limit
  choose_storm $(($1 * 900000))
  drive "$1" "$(awk -v s="$1" 'BEGIN { print s / 100 }')"
  live never "${signals[@]}" -- "${command[@]}"
  measure_drift "$out"
  [[ $drift =~ ^-?[0-9.]+\ -?[0-9.]+\ [0-9]+\ [0-9]+$ ]] || { fail "no drift can be told from $out: $drift"; unsound=$((unsound + 1)); return; }
  read -r rss heap descriptors threads <<<"$drift"
  echo "$env, $1 s in one process: resident memory $rss %, heap $heap %, descriptors ±$descriptors, threads ±$threads"
  limit=$(($1 >= 300 ? 1 : 15))
  largest_rss=$(awk -v a="$rss" -v b="$largest_rss" 'BEGIN { print (a > b ? a : b) }')
  largest_heap=$(awk -v a="$heap" -v b="$largest_heap" 'BEGIN { print (a > b ? a : b) }')
  if awk -v a="$rss" -v b="$heap" -v l="$limit" 'BEGIN { exit !(a > l || b > l) }' || ((descriptors + threads > 0)); then
    drifted=$((drifted + 1))
    fail "drifts: see the samples in $out"
    cp "$out" "$run.drift"
  fi
}

# ---- processes that live short ----

live_short() {
  local moment=never life
  signals=()
  draw 3000; life=$((drawn + 200))
  draw 3
  if ((drawn == 0)); then choose_storm $((life * 1000)); fi
  draw 4
  case $drawn in
    0 | 1) moment=said:1:$((life * 1000)) ;;
    2) signals+=(-term $((life * 1000))) ;;
  esac
  draw 2
  if ((drawn)) || ((latest < 0)); then
    drive "$((life / 1000 + 1))" 100
  else
    draw 3
    command=("$muzero" resume "$run" --history none --threads $((drawn + 1)) --for "$((life / 1000 + 1))s")
    pick fixed demand greedy; command+=(--allocate "$picked")
  fi
  live "$moment" "${signals[@]}" -- "${command[@]}"
  ((failed)) || rm -f "$out"
}

# ---- runs ----

compare_with_calm() {
  local calm=$run-calm sets=() setting is should
  for setting in "${settings[@]}"; do sets+=(--set "$setting"); done
  "$muzero" train "$env" --run "$calm" --preset "$here/soak/run.json" --seed "$run_seed" "${sets[@]}" --rounds "$latest" --history none \
    --set eval.interval=1000000000 --set checkpoint.interval=1000000000 >"$calm.out" 2>&1 ||
    { unsound=$((unsound + 1)); fail "the calm run: $(tail -n 1 "$calm.out")"; return; }
  is=$("$muzero" inspect "$run" --digest 2>&1)
  should=$("$muzero" inspect "$calm" --digest 2>&1)
  [[ $is == "$should" ]] || { different=$((different + 1)); fail "round $latest has digest $is, in the calm run $should"; }
}

soak_run() { # NUMBER SECONDS
  local begin=$SECONDS
  run=$folder/$1 failed=0 latest=-1
  choose_run "$1"
  live_long $(($2 / 2))
  while ((!failed && SECONDS - begin < $2 * 7 / 10)); do live_short; done
  ((failed)) || compare_with_calm
  rounds=$((rounds + latest))
  if ((!failed)); then rm -rf "${run:?}" "$run".* "$run-calm" "$run-calm".*; fi
}

runs=$((seconds >= 2400 ? seconds / 1200 : 1))
for ((number = 0; number < runs; number++)); do soak_run "$number" $((seconds / runs)); done
rmdir "$folder" 2>/dev/null || echo "what failed is in $folder"
echo "soaked for $((SECONDS / 60)) min $((SECONDS % 60)) s: $runs runs, $rounds rounds, $processes processes, of which $killed killed," \
  "$stopped stopped, $ended ended; resident memory grew by $largest_rss % at most, heap by $largest_heap %"
echo "unsound $unsound, went back $back, digests different $different, drifted $drifted"
((unsound + back + different + drifted == 0 && killed > 0))
