#!/usr/bin/env bash
# Shows on a machine with an NVIDIA GPU that muzero computes there what it should, and how fast. It needs no compiler, no packages and no
# network: cuBLASLt and cuDNN 9 are taken from the loader, from $CUDA_HOME or from Python's wheels. Writes a report, the most telling parts
# first, within 8 minutes: what comes late has the time that is left. Exits with 0 where every check passed, with 1 where one failed.
#   ./gpu.sh [REPORT]             the report's file; without it, gpu-report.txt in the current folder
#   MUZERO_GPU_MODULES=FOLDER     modules other than the kit's: FOLDER/cuda_twin/ and FOLDER/cuda_twin_tf32/; figures are left out
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
report=$(realpath -m "${1:-gpu-report.txt}")
readonly limit=480
SCRATCH=$(mktemp -d) || exit
trap 'rm -rf "$SCRATCH"' EXIT
: >"$report" || exit

export MUZERO=$here/bin/muzero TESTS=$here/tests SCRATCH
export XDG_DATA_HOME=$SCRATCH XDG_RUNTIME_DIR=$SCRATCH MUZERO_CUDA_MODULE=$here/bin/libmuzero_cuda.so
export TF32_MODULE=$here/tf32/libmuzero_cuda.so
if [[ ${MUZERO_GPU_MODULES-} ]]; then
  export MUZERO_CUDA_MODULE=$MUZERO_GPU_MODULES/cuda_twin/libmuzero_cuda.so TF32_MODULE=$MUZERO_GPU_MODULES/cuda_twin_tf32/libmuzero_cuda.so
fi
# Python says where its wheels are, whatever environment it belongs to.
wheels=$(python3 -c 'import glob, sysconfig; print(":".join(glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib")))' 2>/dev/null)
# A library of half a GiB takes long to come from a fresh disk: it is read while the first part begins.
(IFS=:; for folder in ${CUDA_HOME:-/usr/local/cuda}/lib64 $wheels; do cat "$folder"/lib{cudnn,cublasLt,nvrtc}*.so.* 2>/dev/null; done) >/dev/null &
export LD_LIBRARY_PATH=$here/lib:${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64:$wheels

say() { printf '%s\n' "$@" | tee -a "$report"; }

summary=()
failed=0
# Runs a part for at most SECONDS and notes how it ended. A check must pass; a figure may be missing.
part() { # check|figure NAME SECONDS PART ARGUMENTS…
  local kind=$1 name=$2 most=$3 start=$SECONDS status=0 result
  shift 3
  [[ $kind == check || ! ${MUZERO_GPU_MODULES-} ]] || return
  ((most <= limit - SECONDS)) || most=$((limit - SECONDS))
  say '' "==== $name"
  if ((most >= 5)); then
    timeout --kill-after=5 "$most" "$here/parts" "$@" 2>&1 | tee -a "$report"
    status=${PIPESTATUS[0]}
  else
    status=75
  fi
  case $status in
    0) result=passed ;;
    75) result='no time was left' ;;
    77) result='not possible here' ;;
    124 | 137) result="stopped after $most s" ;;
    *) result="FAILED ($status)" ;;
  esac
  [[ $kind == figure || $status == 0 || $status == 77 ]] || failed=1
  summary+=("$(printf '%-32s %-20s %4d s' "$name" "$result" $((SECONDS - start)))")
  if [[ $kind == check && $result == FAILED* && ! ${MUZERO_CUDA_DIRECT-} ]]; then # do the libraries fail, or kernels of ours?
    MUZERO_CUDA_DIRECT=1 part check "  ours alone" "$most" "$@"
  fi
}

small=(--set num_games=12 --set moves_per_round=4 --set loop_count=3 --set batch_size=32 --set simulations=8 --set unroll_steps=2
  --set replay.min_fill=32 --set replay.segment_moves=0 --set train.phase_rounds=3 --set reanalyze_ratio=0.3)
part check 'versions and self-test' 120 versions
part check 'every op against the reference' 60 "$TESTS/device_parity"
part check 'rows alone and together' 90 "$TESTS/device_rows"
part check 'updates beside the CPU' 90 "$TESTS/device_update"
part check 'trees of searches' 60 "$TESTS/device_search"
part check 'TF32 is found' 60 finds_tf32
part check 'digests: layers' 60 digests tictactoe "${small[@]}" --set network.width=64 --set shards=4
part check 'digests: boards, bf16' 180 digests connect4 "${small[@]}" --set td_steps=2 --set replay.segment_moves=4 --set network.channels=16 \
  --set network.blocks=1 --set shards=2 --set network.inference=bf16 --set network.training=bf16
part figure 'peak of the GPU' 30 "$TESTS/peak"
part figure 'inference: 64 x 6, bf16' 90 bench inference network.channels=64 network.blocks=6 network.inference=bf16
part figure 'search: 64 wide' 60 bench search network.width=64
part figure 'learner: 256 x 10, 1024 rows, bf16' 90 bench learner network.kind=conv network.channels=256 network.blocks=10 \
  network.training=bf16 batch_size=1024
part figure 'Connect Four' 200 connect4
part figure 'compute-sanitizer: searches' 200 sanitizer search
part figure 'compute-sanitizer: rows' 120 sanitizer rows

say '' "==== summary, $SECONDS s" "${summary[@]}"
exit "$failed"
