#!/bin/bash
# Plays MinAtar's games with seeds that no run has used before, and compares ours with the package's. Skipped where the packages are
# not installed. Usage: minatar_live.sh TEST SCRIPT; MUZERO_PYTHON names the interpreter (default python3).
set -euo pipefail
python=${MUZERO_PYTHON:-python3}
if ! "$python" -c 'import minatar, numpy, xxhash' 2>/dev/null; then
  echo "skipped: $python has no packages minatar, numpy and xxhash"
  exit 77
fi
file=$(mktemp)
trap 'rm -f "$file"' EXIT
seed=$((RANDOM * 32768 + RANDOM))
echo "seeds from $seed"
"$python" "$2" "$file" "$seed" 20000 3000 2>/dev/null
"$1" "$file"
