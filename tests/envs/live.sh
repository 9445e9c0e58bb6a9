#!/bin/bash
# Plays games with seeds that no run has used before, and compares ours with a package's. Skipped where the package is not installed.
# Usage: live.sh TEST PACKAGES SCRIPT [ARGUMENT…]: PACKAGES, separated by spaces, are what Python imports; SCRIPT OUT SEED ARGUMENT…
# records games in OUT, and TEST OUT follows them. MUZERO_PYTHON names the interpreter (default python3).
set -euo pipefail
test=$1 packages=$2 script=$3
shift 3
python=${MUZERO_PYTHON:-python3}
if ! "$python" -c "import ${packages// /, }" 2>/dev/null; then
  echo "skipped: $python does not import all of: $packages"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
seed=$((RANDOM * 32768 + RANDOM))
echo "seeds from $seed"
"$python" "$script" "$folder/out" "$seed" "$@" 2>/dev/null
"$test" "$folder/out"
