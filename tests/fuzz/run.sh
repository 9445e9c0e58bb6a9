#!/usr/bin/env bash
# Builds the fuzz targets with clang into build-fuzz/ and runs each for so many seconds, as many at a time as there are cores.
# Prints a line for each target and one for all; fails when one found something, which then lies in build-fuzz/found/TARGET/.
# What was learned stays in build-fuzz/corpus/TARGET/ for the next time. To repeat a finding: build-fuzz/bin/fuzz_TARGET FILE.
# usage: tests/fuzz/run.sh SECONDS [TARGET…]; environment: FUZZ_JOBS (cores), FUZZ_TIMEOUT (1: seconds an input may take)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

all=(checkpoint pack segment safetensors json settings ledger report history course gtp envs states)
build='build-fuzz'

if [[ ! ${1-} =~ ^[0-9]+$ ]]; then
  sed -n 's/^# usage: /usage: /p' "$0" >&2
  exit 2
fi
seconds=$1
shift
targets=("$@")
((${#targets[@]})) || targets=("${all[@]}")

if ! command -v clang >/dev/null; then
  echo 'fuzz: clang is not installed (Debian: clang, libclang-rt-dev)' >&2
  exit 5
fi
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
if [[ ! -f $build/build.ninja ]]; then
  CC=clang cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUZERO_FUZZ=ON "${launcher[@]}" >/dev/null
fi
ninja -C "$build" --quiet "${targets[@]/#/fuzz_}" >&2

longest() { # TARGET: bytes of an input
  case $1 in
    checkpoint | segment | ledger | report | states | course) echo 16384 ;;
    pack | history) echo 8192 ;;
    safetensors | settings) echo 4096 ;;
    *) echo 2048 ;;
  esac
}

# No input may make the program ask for more than twice its size and 64 MiB at once.
fuzz() { # TARGET
  local target=$1 bytes dictionary=() found=$build/found/$1
  bytes=$(longest "$target")
  mkdir -p "$build/corpus/$target" "$found"
  local corpora=("$build/corpus/$target" "tests/data/fuzz/$target") # what was found once lies in a folder of its own
  if [[ -d tests/data/fuzz/found/$target ]]; then corpora+=("tests/data/fuzz/found/$target"); fi
  if [[ -f tests/data/fuzz/$target.dict ]]; then dictionary=("-dict=tests/data/fuzz/$target.dict"); fi
  ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=16:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
    "$build/bin/fuzz_$target" -max_total_time="$seconds" -max_len="$bytes" "${dictionary[@]}" -timeout="${FUZZ_TIMEOUT:-1}" \
    -malloc_limit_mb=$((64 + 2 * bytes / 1048576)) -rss_limit_mb=512 -artifact_prefix="$found/" -print_final_stats=1 -verbosity=1 \
    "${corpora[@]}" >"$build/$target.log" 2>&1 || true
}

# A virtual machine may stand still for a second: what is too slow only once is no finding.
confirm() { # TARGET
  local input
  while read -r input; do
    if "$build/bin/fuzz_$1" -timeout="${FUZZ_TIMEOUT:-1}" "$input" >/dev/null 2>&1; then rm "$input"; fi
  done < <(find "$build/found/$1" -type f -name 'timeout-*' -newer "$build/started")
}

summarise() { # TARGET: inputs crashes MiB seconds
  awk -v found="$(find "$build/found/$1" -type f ! -name 'slow-unit-*' -newer "$build/started" | wc -l)" '
    /^stat::number_of_executed_units/ { inputs = $2 }
    /^stat::peak_rss_mb/ { memory = $2 }
    /^stat::slowest_unit_time_sec/ { slowest = $2 }
    END { print inputs + 0, found, memory + 0, slowest + 0 }' "$build/$1.log"
}

# What was found, for those who have nothing but this output: the report's lines, or how the log ends where it was killed; the input.
show() { # TARGET
  grep -aqE 'ERROR:|runtime error:' "$build/$1.log" || tail -n 5 "$build/$1.log"
  { grep -anE 'ERROR:|runtime error:|SUMMARY:|^ +#[0-9]+ .* in .*\.c:' "$build/$1.log" || true; } | tail -n 20
  find "$build/found/$1" -type f ! -name 'slow-unit-*' -newer "$build/started" | head -n 1 | while read -r input; do
    printf '%s, gzip | base64:\n' "$input"
    gzip -9 -c "$input" | base64 -w 900
  done
}

touch "$build/started"
export -f fuzz longest
export build seconds
printf '%s\n' "${targets[@]}" | xargs -P "${FUZZ_JOBS:-$(nproc)}" -I '{}' bash -c 'fuzz {}'

total=0
failed=0
for target in "${targets[@]}"; do
  confirm "$target"
  read -r inputs crashes memory slowest < <(summarise "$target")
  # No final figures: it did not run, or was killed.
  if ((inputs == 0 && crashes == 0)); then crashes=1; fi
  if ((crashes)); then failed=$((failed + crashes)); fi
  total=$((total + inputs))
  printf '%-12s %11d inputs  %d crashes  %4d MiB at the most  slowest %d s\n' "$target" "$inputs" "$crashes" "$memory" "$slowest"
  if ((crashes)); then show "$target"; fi
done
printf '%-12s %11d inputs  %d crashes\n' total "$total" "$failed"
((failed == 0))
