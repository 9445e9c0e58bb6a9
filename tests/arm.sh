#!/usr/bin/env bash
# The program for 64-bit ARM, built on another machine and run in an emulator: its kernels give the bits that are committed
# (tests/data/signature.txt), and a run that this machine began goes on there to the digest that it has here.
#
#   usage: tests/arm.sh [FOLDER]      FOLDER: build-arm, for the libraries and the build; what is there is used again
#
# Needs aarch64-linux-gnu-gcc and -g++, qemu-aarch64-static (Debian: gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu, qemu-user-static), and
# apt-get with arm64's packages known (dpkg --add-architecture arm64, apt-get update). Without them: exit status 77, saying what is missing.
# MUZERO names the program for this machine.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
native=${MUZERO:-$source/build/bin/muzero}
folder=${1:-build-arm}
packages=(libc6 libc6-dev linux-libc-dev libgcc-s1 libstdc++6 libgomp1 libcjson-dev libcjson1 libzstd-dev libzstd1 libxxhash-dev libxxhash0
  libsqlite3-dev libsqlite3-0 libhwloc-dev libhwloc15 libltdl-dev libltdl7 libnuma-dev libnuma1 libpciaccess0 libxml2 libicu72 liblzma5
  libudev1 zlib1g libdnnl-dev libdnnl2 ocl-icd-libopencl1 libcmocka-dev libcmocka0 libcrypt1 libcrypt-dev)

missing() { echo "arm.sh: skipped: $*"; exit 77; }
[[ $(uname -m) == x86_64 ]] || missing "this machine is a $(uname -m); the check is of another machine's bits"
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64-static apt-get dpkg cmake ninja; do
  command -v "$tool" >/dev/null || missing "there is no $tool"
done
[[ -x $native ]] || missing "$native: no such program"
dygraphs=/usr/share/javascript/dygraphs
[[ -f $dygraphs/dygraph.min.js ]] || missing "there is no $dygraphs"

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root
if [[ ! -d $root ]]; then
  mkdir -p "$folder/packages"
  (cd "$folder/packages" && apt-get download -q "${packages[@]/%/:arm64}" >"$folder/packages.log" 2>&1) ||
    missing "arm64's packages cannot be had: $(tail -n 1 "$folder/packages.log")"
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$root.part"; done
  mv "$root.part" "$root"
fi

cat >"$folder/arm.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SYSROOT $root)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH $root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_\${kind} ONLY)
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64-static;-L;$root")
END
export PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
cmake -S "$source" -B "$folder/build" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=$folder/arm.cmake" -DMUZERO_CUDA=OFF -DMUZERO_WERROR=ON \
  "-DDYGRAPHS_JS=$dygraphs/dygraph.min.js" "-DDYGRAPHS_CSS=$dygraphs/dygraph.min.css" >"$folder/cmake.log" 2>&1 ||
  { tail -n 20 "$folder/cmake.log" >&2; exit 1; }
ninja -C "$folder/build" bin/muzero >"$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log" >&2; exit 1; }
arm=(qemu-aarch64-static -L "$root" "$folder/build/bin/muzero")

failed=0
expect() { # WHAT GOT WANTED
  [[ $2 == "$3" ]] && { echo "$1: $2"; return; }
  echo "$1: $2, not $3"
  failed=1
}
for level in plain neon; do
  wanted=$(sed -n "s/^$level //p" "$source/tests/data/signature.txt")
  expect "signature, $level" "$(MUZERO_ISA=$level "${arm[@]}" bench --signature)" "$wanted $level"
done

# Where this machine has no fused multiply-adds, both have none.
[[ $("$native" bench --signature) == *plain ]] && export MUZERO_ISA=plain
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
settings=(--preset "$source/tests/data/cli/tiny.json" --history none --json)
residual=(--set network.kind=conv --set network.channels=16 --set network.blocks=1 --set network.bn_rows=4)
digest() { tail -n 1 | sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p'; }
check() { # ENV SETTINGS…
  local env=$1 run=$runs/${1/:/-} here there
  shift
  here=$("$native" train "$env" "${settings[@]}" "$@" --run "$run" --rounds 8 | digest)
  "$native" train "$env" "${settings[@]}" "$@" --run "$run-on" --rounds 4 >/dev/null
  there=$("${arm[@]}" resume "$run-on" --history none --json --rounds 8 | digest)
  expect "$env, begun here" "$there" "$here"
}
for env in tictactoe cartpole acrobot mountaincar 2048 pig; do check "$env"; done
for env in connect4 othello6 hex:size=5; do check "$env" "${residual[@]}"; done
exit "$failed"
