#!/usr/bin/env bash
# Kills training with SIGKILL at random instants, resumes it, and kills it again, until KILLS processes died.
#
#   usage: tests/kill.sh KILLS [SEED]
#
# Every run (one per 20 kills) has its own environment, seed, length, retention and size of replay; every process of a run its own
# threads, memory tiers of replay, interval between checkpoints, and sometimes SIGUSR1 and SIGTERM. All of that follows from SEED
# (default 1). The clock decides where a kill falls: one in eight comes early, while the run is opened; three at any time after that;
# three so many microseconds after the N-th change of a file of the run, which is mostly the writing of a checkpoint; and one so long
# after a checkpoint got its name, when LATEST names the one before.
#
# A run is first trained calmly, with every checkpoint kept. After each kill
#   unopenable   LATEST opens, `inspect --verify` passes, BEST names a checkpoint; no process may end by itself but at its last round or
#                after SIGTERM. A run that was killed before its first checkpoint begins again with `train`.
#   went back    LATEST is not before the LATEST that was seen just before the kill.
#   lost more    with a checkpoint at every round's end: LATEST is at most one round before the last one that was announced.
#   digests      LATEST's digest is the calm run's at that round; at the end, so is every record in metrics.jsonl.
#   files left   what a killed process was still writing (*.tmp, *.spill) is gone once another one has opened the run; at the end there
#                are no more checkpoints than are to be kept.
# A failure is told with the folder of its run, which stays, and so does what its last processes said. The exit status is 1 then.
#
# Environment: MUZERO and KILLER, the programs (default: build/bin/muzero and build/tests/killer); JOBS, how many runs at a time (2).
set -u
shopt -s nullglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
muzero=${MUZERO:-$here/../build/bin/muzero}
killer=${KILLER:-$here/../build/tests/killer}
jobs=${JOBS:-2}
kills=${1:-}
seed=${2:-1}
if ! [[ $kills =~ ^[1-9][0-9]*$ && $seed =~ ^[0-9]+$ ]]; then
  echo "usage: tests/kill.sh KILLS [SEED]" >&2
  exit 2
fi
# shellcheck source=tests/kill/common.sh
. "$here/kill/common.sh"
need_programs "$muzero" "$killer"

readonly KILLS_A_RUN=20 PROCESSES_A_KILL=4
readonly ENVS=(cartpole tictactoe connect4 "gomoku:size=5,k=4" cartpole othello6 tictactoe go:size=5)
readonly FAILURES=(unopenable back lost different left)
folder=$(mktemp -d "${TMPDIR:-/tmp}/muzero-kill-XXXXXX") || exit 2

# ---- one run ----

choose_run() { # NUMBER
  RANDOM=$(((seed * 1009 + $1) % 32749))
  env=${ENVS[$1 % ${#ENVS[@]}]}
  draw 1000; run_seed=$((drawn + 1))
  draw 40; rounds=$((drawn + 12))
  draw 3; keep=$((drawn + 1))
  draw 5; phase=$((drawn + 1))
  pick 60 400 400 5000; capacity=$picked
  pick 0 0 1; spaced=$picked
  settings=(--preset "$here/kill/run.json" --seed "$run_seed" --set "train.phase_rounds=$phase" --set "replay.capacity=$capacity")
  [[ $env == cartpole ]] || settings+=(--set eval.opponent=random)
  pick none none 1:32 1:8,3:32; [[ $picked == none ]] || settings+=(--set "batch_schedule=$picked")
}

# What may differ from process to process: nothing of it may change what is learned.
choose_process() {
  draw 3; process=(--threads $((drawn + 1)) --rounds "$rounds" --set "checkpoint.keep=$keep" --set "checkpoint.spaced=$spaced")
  pick none none none none none "$run.history"; process+=(--history "$picked")
  pick fixed fixed fixed demand greedy; process+=(--allocate "$picked") # the last two measure the machine first
  pick 0 0 0.004 0.02 60; interval=$picked
  process+=(--set "checkpoint.interval=$interval")
  pick "0 0" "0 0" "2000 0" "1024 1000"
  process+=(--set "replay.raw_bytes=${picked% *}" --set "replay.packed_bytes=${picked#* }")
}

choose_signals() {
  local i many
  signals=()
  pick 0 0 0 1 4; many=$picked
  [[ $interval == 60 ]] && many=6
  for ((i = 0; i < many; i++)); do
    draw "$life"
    signals+=(-usr1 "$drawn")
  done
  draw 8
  ((drawn > 0)) && return
  draw $((life / 2))
  signals+=(-term "$drawn")
}

choose_moment() {
  pick early any any any file file file checkpoint
  case $picked in
    early) draw $((life / 10 + 1)); moment=after:$drawn ;;
    any) draw $((life < 60000 ? life : 60000)); moment=said:1:$drawn ;;
    file) draw $((latest < 0 ? 20 : 80)); moment=file:$((drawn + 1)) ;; # of a new run the first checkpoint
    checkpoint) draw 6; moment=checkpoint:$((drawn + 1)) ;;
  esac
  [[ $picked == file || $picked == checkpoint ]] || return
  pick 0 20 60 150 400 1500
  draw $((picked + 1))
  moment+=:$drawn
}

# The run that nobody kills: the digest of every round, and how long a process lives.
train_calmly() {
  calm=$folder/$number-calm
  now_us; life=$now
  "$muzero" train "$env" --run "$calm" "${settings[@]}" --threads 1 --allocate fixed --history none --rounds "$rounds" --set checkpoint.interval=0 \
    --set checkpoint.keep=100000 >"$calm.out" 2>&1 || { fail unopenable "the calm run: $(tail -n 1 "$calm.out")"; return 1; }
  now_us; life=$((now - life))
  unset digests
  declare -gA digests=()
}

calm_digest() { # ROUND: sets `digest`
  if [[ -z ${digests[$1]:-} ]]; then
    local file
    printf -v file '%s/checkpoints/round-%09d.mzc' "$calm" "$1"
    digests[$1]=$("$muzero" inspect "$file" --digest 2>&1)
  fi
  digest=${digests[$1]}
}

fail() { # KIND WHAT
  count[$1]=$((count[$1] + 1))
  failed=1
  [[ $1 == left ]] || broken=1
  echo "kill.sh: $run, process $processes ($ended): $2" >&2
}

announced_round() { # sets `announced` to the last round that the process said is over, -1 for none; `opened` to 1 when it had opened the run
  local line
  announced=-1 opened=0
  [[ -e $1 ]] || return
  while IFS= read -r line; do
    [[ $line == *", in $run"* ]] && opened=1
    [[ $line =~ ^phase\ [0-9]+:\ rounds\ ([0-9]+), ]] && announced=${BASH_REMATCH[1]}
  done <"$1"
}

check_latest() { # SEEN, the LATEST before the kill
  local said best=''
  round_of "$1"
  ((round > latest)) && latest=$round
  latest_of "$run"
  if ((round < 0 && latest >= 0)); then fail unopenable "LATEST names no checkpoint: '$latest_name'"; return; fi
  ((round < 0)) && return
  if ((round < latest)); then fail back "LATEST was at round $latest, is at $round"; fi
  ((round > latest)) && latest=$round
  said=$("$muzero" inspect "$run" --verify 2>&1) || { fail unopenable "$said"; return; }
  said=$("$muzero" inspect "$run" --digest 2>&1) || { fail unopenable "$said"; return; }
  calm_digest "$round"
  [[ $said == "$digest" ]] || fail different "round $round has digest $said, in the calm run $digest"
  [[ -e $run/BEST ]] && read -r best <"$run/BEST"
  [[ -z $best || -e $run/checkpoints/$best ]] || fail unopenable "BEST names $best, which is not there"
}

writing() { # sets `unfinished` to what processes were still writing
  unfinished=("$run"/*.tmp "$run"/*/*.tmp "$run"/*.spill)
}

check_left() { # FILE…: what there was when the process began
  local file
  ((opened)) || return 0
  for file; do
    [[ -e $file ]] || continue
    fail left "${file#"$run"/} was left by a process before and is still there"
    rm -f "$file"
  done
}

# One process, from its start to its end; sets `ended`.
live() { # MOMENT [SIGNAL MICROS]…
  local moment=$1 command how seen before
  shift
  processes=$((processes + 1))
  writing; before=("${unfinished[@]}")
  if ((latest >= 0)); then command=(resume "$run"); else command=(train "$env" --run "$run" "${settings[@]}"); fi
  ended="${command[0]}, $moment, interval $interval"
  how=$("$killer" "$run" "$run.$processes.out" "$moment" "$@" -- "$muzero" "${command[@]}" "${process[@]}")
  seen=${how##* }
  how=${how% *}
  ended+=", $how"
  announced_round "$run.$processes.out"
  case $how in
    killed)
      killed=$((killed + 1))
      writing
      ((${#unfinished[@]} > ${#before[@]})) && count[writing]=$((count[writing] + 1))
      if ((!opened)); then count[opening]=$((count[opening] + 1)); elif ((announced >= rounds)); then count[closing]=$((count[closing] + 1)); fi ;;
    "exit 0" | "exit 75" | "signal 10" | "signal 15") ;; # signals of ours, before there was anybody to handle them
    *) fail unopenable "$(tail -n 1 "$run.$processes.out")" ;;
  esac
  check_latest "$seen"
  check_left "${before[@]}"
  if [[ $interval == 0 ]] && ((announced > latest + 1)); then fail lost "round $announced was announced, LATEST is at $latest"; fi
  rm -f "$run.$((processes - 3)).out"
}

records() { # METRICS: rounds and digest of each record; a process that finds the run at its last round already repeats the last one
  sed -E 's/.*"digest":"([0-9a-f]+)".*"rounds":([0-9]+),.*/\2 \1/' "$1" | uniq
}

# The run has come to its last round.
check_end() {
  local checkpoints=("$run"/checkpoints/*.mzc) spare=1
  ((latest == rounds)) || fail lost "the last round is $rounds, LATEST is at $latest"
  [[ $(records "$run/metrics.jsonl") == "$(records "$calm/metrics.jsonl")" ]] || fail different "metrics.jsonl has other records than $calm"
  writing
  ((${#unfinished[@]} == 0)) || fail left "the last process left ${unfinished[*]#"$run"/}"
  ((spaced > 0)) && spare=8
  ((${#checkpoints[@]} <= keep + spare)) || fail left "${#checkpoints[@]} checkpoints, where $keep and the best are to be kept"
}

begin_again() {
  rm -rf "$run" "$run".*
  latest=-1 processes=0
}

kill_run() { # NUMBER KILLS
  number=$1 failed=0 broken=0 killed=0 ended='' processes=0
  run=$folder/$number
  local goal=$2 tries=0
  choose_run "$number"
  train_calmly || return
  begin_again
  while ((killed < goal && tries++ < goal * PROCESSES_A_KILL && !broken)); do
    choose_process
    choose_signals
    choose_moment
    live "$moment" "${signals[@]}"
    [[ $ended == *", exit 0" ]] || continue
    check_end
    ((broken)) || begin_again
  done
  count[tried]=$((count[tried] + killed))
  ((broken)) && return
  choose_process
  live never
  if [[ $ended == *", exit 0" ]]; then check_end; else fail unopenable "it does not come to its end"; fi
}

# ---- all runs ----

work() { # JOB
  declare -A count=([tried]=0 [opening]=0 [closing]=0 [writing]=0)
  local i kind goal
  for kind in "${FAILURES[@]}"; do count[$kind]=0; done
  for ((i = $1; i * KILLS_A_RUN < kills; i += jobs)); do
    goal=$((kills - i * KILLS_A_RUN))
    kill_run "$i" $((goal < KILLS_A_RUN ? goal : KILLS_A_RUN))
    ((failed)) || rm -rf "${folder:?}/$i" "$folder/$i".* "$folder/$i-calm"*
    { for kind in "${!count[@]}"; do echo "$kind ${count[$kind]}"; done; } >"$folder/job-$1"
  done
}

pids=()
trap 'kill "${pids[@]}"; exit 130' INT TERM
for ((job = 0; job < jobs; job++)); do
  work "$job" &
  pids+=($!)
done
wait

declare -A total=()
while read -r kind number; do total[$kind]=$((${total[$kind]:-0} + number)); done < <(cat "$folder"/job-*)
wrong=0
for kind in "${FAILURES[@]}"; do wrong=$((wrong + total[$kind])); done
rm -f "$folder"/job-*
if ((wrong == 0)); then rm -rf "$folder"; else echo "runs that failed are in $folder"; fi
echo "${total[opening]} kills came before the run was opened, ${total[closing]} after its last round; ${total[writing]} left a file half written"
echo "tried ${total[tried]} kills: unopenable ${total[unopenable]}, went back ${total[back]}, lost more than an interval ${total[lost]}," \
  "digests different ${total[different]}, files left ${total[left]}"
# Moments that never came would check nothing.
((wrong == 0 && total[tried] * 10 >= kills * 9 && total[writing] > 0 && total[opening] < total[tried]))
