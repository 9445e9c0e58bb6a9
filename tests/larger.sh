#!/usr/bin/env bash
# What two cores cannot show, on a machine that has more: the validation of simulated machines and the suite of comparisons, into a report.
#
#   usage: tests/larger.sh [REPORT.md]      REPORT.md: larger-HOST-DATE.md in the present folder
#
# The report says what the machine has: processor, cores, nodes, memory, quota, GPUs (which this version does not train on). Validation
# (docs/results/validate.sh) is repeated on 2, 4, 8, … and on all cores, the suite (`muzero compare --suite`) on all of them. It takes some
# 5 minutes for each number of cores and 40 for the suite; run it while nothing else runs. A report that is there is not overwritten.
# A machine of two cores or fewer without a GPU is not larger: exit status 77.
# MUZERO names the program, KEEP a folder in which measurements stay (a second run continues there), PASSES (5) and FOR (10s) are the
# effort of validation and suite, ANYWAY=1 runs it on a small machine, too, SKIP=suite or SKIP=validation leaves one out.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export MUZERO=${MUZERO:-$root/build/bin/muzero}
[[ $# -le 1 && ${1-} != -* ]] || { echo 'usage: tests/larger.sh [REPORT.md]' >&2; exit 2; }
[[ -x $MUZERO ]] || { echo "larger.sh: $MUZERO: no such program; ./bootstrap builds it" >&2; exit 5; }
report=${1:-larger-$(uname -n)-$(date -u +%F).md}
[[ ! -e $report ]] || { echo "larger.sh: $report: is there already" >&2; exit 5; }
cores=$(nproc)
gpus=$({ nvidia-smi -L || rocm-smi --showproductname; } 2>/dev/null | grep -c GPU || true)
if ((cores <= 2 && gpus == 0)) && [[ -z ${ANYWAY-} ]]; then
  echo "larger.sh: $cores cores and no GPU: nothing here that two cores do not show; ANYWAY=1 runs it all the same"
  exit 77
fi
folder=${KEEP:-$(mktemp -d)}
[[ -n ${KEEP-} ]] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
export XDG_RUNTIME_DIR=/dev/null

# Written as it comes, into the report only when all of it is there.
draft=$folder/report.md
describe_machine() {
  echo "# A machine of $cores cores and $gpus GPUs"
  echo
  echo "\`tests/larger.sh\`, $(date -u +%F), $("$MUZERO" --version | head -n 1)."
  echo
  echo '```'
  lscpu 2>/dev/null | grep -E '^(Architecture|Model name|CPU\(s\)|Thread|Core|Socket|L[123]|NUMA|Hypervisor)' || uname -srm
  awk '/MemTotal/ { printf "Memory: %.1f GiB\n", $2 / 1048576 }' /proc/meminfo
  "$MUZERO" doctor | grep -iE 'cores|cgroup|isa' || true
  { nvidia-smi -L || rocm-smi --showproductname; } 2>/dev/null || echo 'GPUs: none found'
  echo '```'
  ((gpus == 0)) || printf '\nThis version trains on CPUs: the GPUs are named here, and were not used.\n'
}

validate() {
  printf '\n## Simulated and measured\n\n'
  local some=()
  for ((n = 2; n < cores; n *= 2)); do some+=("$n"); done
  for n in "${some[@]}" "$cores"; do
    ((n > 1)) || continue
    printf '`CORES=%s docs/results/validate.sh`:\n\n' "$n"
    CORES=$n PASSES=${PASSES:-5} KEEP=$folder/validate-$n "$root/docs/results/validate.sh"
    echo
  done
}

suite() {
  printf '\n## Suite\n\n`muzero compare --suite --for %s`:\n\n```\n' "${FOR:-10s}"
  "$MUZERO" compare --suite --for "${FOR:-10s}" --run "$folder/suite" 2>/dev/null
  echo '```'
}

{
  describe_machine
  [[ ${SKIP-} == validation ]] || validate
  [[ ${SKIP-} == suite ]] || suite
} >"$draft"
cp "$draft" "$report"
echo "report: $report"
