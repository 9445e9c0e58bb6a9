#!/usr/bin/env bash
# How well a simulated machine foretells a real one: measures plans on one core, takes from that what the stages cost, simulates the plans
# of a grid on more cores, and compares with what is measured there; also under a quota and beside a process that computes.
# usage: docs/results/validate.sh [WORKLOAD…]      cartpole tictactoe connect4 go5; all of them without names
# Prints a Markdown table. Passes over one core and over more take turns, because other guests of a machine come and go.
# MUZERO names the program, CORES the cores (2), PASSES the passes over everything (5), KEEP a folder in which measurements stay: what is
# there is not measured again. MACHINE is the simulated machine's text without cores; without it `muzero bench machine` says. SPARE=1
# leaves out what needs a control group or a neighbour. SECONDS_OF is the time of one measurement (0.4).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
muzero=${MUZERO:-$root/build/bin/muzero}
cores=${CORES:-2}
passes=${PASSES:-5}
[[ -x $muzero ]] || { echo "validate.sh: $muzero: no such program; ./bootstrap builds it" >&2; exit 5; }
[[ $cores =~ ^[1-9][0-9]*$ && $cores -gt 1 && $cores -le $(nproc) ]] || {
  echo "validate.sh: CORES=$cores: takes 2 to $(nproc), the cores that this process may use" >&2
  exit 2
}

workloads=("$@")
[[ $# -gt 0 ]] || workloads=(cartpole tictactoe connect4 go5)
for workload in "${workloads[@]}"; do
  case $workload in
    cartpole | tictactoe | connect4 | go5) ;;
    *)
      echo "validate.sh: $workload: there are cartpole, tictactoe, connect4 and go5" >&2
      exit 2
      ;;
  esac
done
folder=${KEEP:-$(mktemp -d)}
[[ -n ${KEEP-} ]] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
export XDG_RUNTIME_DIR=/dev/null # no run of somebody else's shares the cores

# The cores that are used, and the first of them: "0-3,8" is 0,1,2,3,8.
allowed=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
some=$(head -n "$cores" <<<"$allowed" | paste -sd,)
one=$(head -n 1 <<<"$allowed")

group='' neighbour=''
clear() {
  [[ -z $neighbour ]] || { kill "$neighbour"; wait "$neighbour" 2>/dev/null || true; }
  [[ -z $group ]] || rmdir "$group"
  group='' neighbour=''
}
trap 'clear; [[ -n ${KEEP-} ]] || rm -rf "$folder"' EXIT

# Small rounds of the presets' work: 8 to 100 ms each, so that a measurement has many. Sets env, rounds, settings, quota.
describe() { # WORKLOAD
  local small=(moves_per_round=2 loop_count=2 num_games=64 batch_size=64 shards=4 replay.min_fill=300)
  case $1 in
    cartpole) env=cartpole rounds=20 settings=() ;;
    tictactoe) env=tictactoe rounds=10 settings=(moves_per_round=3 loop_count=6) ;;
    connect4) env=connect4 rounds=6 settings=("${small[@]}") ;;
    go5) env=go:size=5 rounds=6 settings=("${small[@]}") ;;
  esac
  settings+=(eval.interval=1000000 "train.phase_rounds=$rounds" monitor.rate=0)
  settings=("${settings[@]/#/--set=}")
}

threads=1 # 1,2,4,… up to the cores
for ((n = 2; n < cores; n *= 2)); do threads+=,$n; done
threads+=,$cores
shared='mcts_storage_size=2,8,32;batch_buffer_size=1,4'

profile() { # OUT GRID WORD…: the command that runs it
  local out=$1 grid=$2
  shift 2
  "$@" "$muzero" profile "$env" --history none --seed "$pass" --grid "$grid" --passes 1 --again 0 --json "${settings[@]}" |
    tail -n 1 >>"$out"
}

# A group of its own, whose quota comes once the run has begun: a run that begins under one keeps to whole cores.
make_group() {
  local parent=/sys/fs/cgroup/cpu
  [[ -e $parent/cpu.cfs_quota_us ]] || parent=/sys/fs/cgroup
  group=$parent/muzero-validate-$$
  mkdir "$group" 2>/dev/null && [[ -e $group/cpu.cfs_quota_us || -e $group/cpu.max ]] && return
  [[ ! -d $group ]] || rmdir "$group"
  group=
  return 1
}
set_quota() {
  if [[ -e $group/cpu.max ]]; then echo "$((quota_of_100 * 1000)) 100000" >"$group/cpu.max"; else echo $((quota_of_100 * 1000)) >"$group/cpu.cfs_quota_us"; fi
}
quota_of_100=$((cores * 75)) # three quarters of the cores: 1.5 of 2

measure() { # WORKLOAD CONDITION
  local out=$folder/$1-$2.jsonl
  [[ -e $out ]] && (($(wc -l <"$out") >= pass)) && return
  case $2 in
    one) profile "$out" "cpu_actor=1;learner_threads=1,2;$shared" taskset -c "$one" ;;
    more) profile "$out" "cpu_actor=$threads;learner_threads=1,2;$shared" taskset -c "$some" ;;
    neighbour)
      taskset -c "$some" sh -c 'while :; do :; done' &
      neighbour=$!
      profile "$out" "cpu_actor=$threads;learner_threads=1,2;$shared" taskset -c "$some"
      clear
      ;;
    quota)
      make_group || return 0
      (sleep 0.3 && set_quota) &
      profile "$out" "cpu_actor=$threads;learner_threads=1,2;$shared" taskset -c "$some" \
        sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" sh
      clear
      ;;
  esac
}

conditions=(more quota neighbour)
[[ -z ${SPARE-} ]] || conditions=(more)
for workload in "${workloads[@]}"; do
  describe "$workload"
  for ((pass = 1; pass <= passes; pass++)); do
    for condition in one "${conditions[@]}"; do measure "$workload" "$condition"; done
  done
done

constants=$folder/machine.txt
if [[ -n ${MACHINE-} ]]; then
  echo "$MACHINE" >"$constants"
elif [[ ! -e $constants ]]; then
  taskset -c "$some" "$muzero" bench machine --json | sed -n 's/.*"spec":"sim:cores=[0-9]*,\([^"]*\)".*/\1/p' >"$constants"
fi
machine=sim:cores=$cores,$(<"$constants")

member() { sed -n "s/.*\"$1\":\([-+.0-9eE]*\|null\).*/\1/p" <<<"$result"; }
percent() { awk -v value="$(member "$1")" 'BEGIN { if (value == "null") print "–"; else printf "%.1f %%", 100 * value }'; }

printf 'Simulated: `%s`; 90 %% means of plans. %s, %s.\n\n' "$machine" "$(uname -srm)" "$(date -u +%F)"
printf '| workload | on | plans | error: median | 90 %% | worst | with its sign | measured twice: median | 90 %% | regret | of measurements |\n|---|---|---|---|---|---|---|---|---|---|---|\n'
for workload in "${workloads[@]}"; do
  describe "$workload"
  for condition in one "${conditions[@]}"; do
    out=$folder/$workload-$condition.jsonl text=$machine name="$cores cores"
    case $condition in
      one) text=$(sed "s/cores=$cores,/cores=1,/; s/smt=[0-9.]*/smt=0/" <<<"$machine") name='one core, which it is fitted to' ;;
      quota) text+=,quota=$(awk "BEGIN { print $quota_of_100 / 100 }") name="$cores cores, quota $(awk "BEGIN { print $quota_of_100 / 100 }")" ;;
      neighbour) text+=,neighbour=1 name="$cores cores, a neighbour" ;;
    esac
    [[ -s $out ]] || { echo "| $workload | $name | not measured here | | | | | | | |"; continue; }
    result=$("$muzero" profile "$env" --machine "$text" --costs "$folder/$workload-one.jsonl" --against "$out" --json "${settings[@]}" | tail -n 1)
    [[ -n $result ]] || exit 1
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$workload" "$name" "$(grep -o '"measured_s"' <<<"$result" | wc -l)" \
      "$(percent median_error)" "$(percent p90_error)" "$(percent worst_error)" "$(percent bias)" "$(percent noise_median)" \
      "$(percent noise_p90)" "$(percent regret)" "$(percent noise_regret)"
  done
done
