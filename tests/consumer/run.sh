#!/usr/bin/env bash
# Installs what was built into a temporary prefix and uses it as others do: a C program by pkg-config, shared and static, a C++ program by
# find_package, static and shared, and the sources by add_subdirectory (configured only; with --build built, too, for minutes).
#   usage: tests/consumer/run.sh BUILD LIBDIR [--build]
set -euo pipefail

build=$(realpath "$1") libdir=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
header=$root/muzero/library/include/muzero.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/a prefix"

fail() { printf 'consumer: %s\n' "$*" >&2; exit 1; }
quietly() { "$@" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "failed: $*"; }; }

# A prefix that cannot be: CMake says so, and nothing of the installation lies anywhere.
echo 'not a folder' >"$work/file"
if cmake --install "$build" --prefix "$work/file/under" >"$work/out" 2>&1; then fail 'installed under a regular file'; fi
grep -qi 'error' "$work/out" || fail "no error was told: $(cat "$work/out")"
[[ $(cat "$work/file") == 'not a folder' && $(ls "$work") == $'file\nout' ]] || fail 'a failed installation left something behind'

quietly cmake --install "$build" --prefix "$prefix"
for file in bin/muzero include/muzero{.h,/env_abi.h} "$libdir"/{libmuzero.a,libmuzero.so,pkgconfig/muzero.pc} \
  "$libdir"/cmake/muzero/muzeroConfig{,Version}.cmake; do
  [[ -f $prefix/$file ]] || fail "not installed: $file"
done
[[ $(find "$prefix/include" -type f | wc -l) == 2 ]] || fail 'there are more than two headers'
quietly "$prefix/bin/muzero" --version

# The public functions, and nothing else, are visible: in the header, in the shared library by version, in the archive.
declared=$(grep -oE '\bmuzero_[a-z_]+\(' <(grep MUZERO_API "$header") | tr -d '(' | sort)
[[ $(nm -D --defined-only "$prefix/$libdir/libmuzero.so" | awk '$2 == "T" { print $3 }' | sort) == "${declared//$'\n'/@@MUZERO_1$'\n'}@@MUZERO_1" ]] ||
  fail 'the shared library shows other symbols than the header declares'
nm -D --defined-only "$prefix/$libdir/libmuzero.so" | awk '$2 != "T" && $3 != "MUZERO_1" { print; bad = 1 } END { exit bad }' || fail 'the shared library shows data'
[[ $(nm -g --defined-only "$prefix/$libdir/libmuzero.a" | awk 'NF == 3 { print $3 }' | sort) == "$declared" ]] ||
  fail 'the archive shows other symbols than the header declares'
for standard in c99 c11 c17; do
  printf '#include <%s>\n' muzero.h muzero/env_abi.h | quietly cc "-std=$standard" -pedantic -Wall -Wextra -Werror -fsyntax-only -I "$prefix/include" -x c -
done

# C, by pkg-config.
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
declare -a flags all_flags
eval "flags=($(pkg-config --cflags --libs muzero))"
eval "all_flags=($(pkg-config --static --cflags --libs muzero))"
quietly cc -o "$work/train" "$here/train.c" "${flags[@]}"
quietly cc -o "$work/train_static" "$here/train.c" "$prefix/$libdir/libmuzero.a" -Wl,--as-needed "${all_flags[@]}"
readelf -d "$work/train" | grep -q 'NEEDED.*libmuzero\.so\.0' || fail 'train is not linked with libmuzero.so.0'
if readelf -d "$work/train_static" | grep -q 'libmuzero'; then fail 'train_static needs the shared library'; fi
LD_LIBRARY_PATH=$prefix/$libdir quietly "$work/train" "$work/run" 2
LD_LIBRARY_PATH=$prefix/$libdir "$work/train" "$work/run" 1 >"$work/out" 2>"$work/err" || fail "train: $(cat "$work/err")"
grep -q '^round 3:' "$work/err" || fail "the run was not resumed: $(cat "$work/err")"
grep -qE '^played [1-9][0-9]* moves, return [1-9]' "$work/out" || fail "no game was played: $(cat "$work/out")"
quietly "$work/train_static" "$work/run" 1
"$prefix/bin/muzero" inspect "$work/run" --verify >/dev/null || fail 'the program does not take the run'

# The CUDA module lies in the installation: the program finds it there, and so does the shared library, wherever its user lies.
module=$prefix/$libdir/muzero/libmuzero_cuda.so
mkdir -p "${module%/*}"
[[ -f $module ]] || : >"$module"
cat >"$work/device.c" <<'END'
#include <muzero.h>
#include <stdio.h>
int main(int argc, char **argv) {
  muzero_run_options options = MUZERO_RUN_OPTIONS_INIT;
  muzero_run *run;
  (void)argc;
  options.env = "catch";
  options.device = "cuda";
  if (muzero_run_create(&run, argv[1], &options) != MUZERO_OK) puts(muzero_message());
  return 0;
}
END
quietly cc -o "$work/device" "$work/device.c" "${flags[@]}"
LD_LIBRARY_PATH=$prefix/$libdir "$work/device" "$work/on_device" >"$work/out" 2>&1 || fail "device: $(cat "$work/out")"
if grep -q 'no CUDA module' "$work/out"; then fail "the library does not find the module: $(cat "$work/out")"; fi
"$prefix/bin/muzero" train catch --device cuda --rounds 1 --history none --run "$work/by_program" >"$work/out" 2>&1 || true
if grep -q 'no CUDA module' "$work/out"; then fail "the program does not find the module: $(cat "$work/out")"; fi
# With Debian's folders the module is elsewhere, seen from the program, too.
quietly cmake -S "$root" -B "$work/debian" -G Ninja -DCMAKE_INSTALL_LIBDIR=lib/some-linux-gnu -DMUZERO_TESTS=OFF -DMUZERO_CUDA=OFF
grep -q 'MUZERO_MODULE_FOLDER=[^ ]*\.\./lib/some-linux-gnu/muzero[^ ]* ' "$work/debian/compile_commands.json" ||
  fail 'the program seeks the module where no installation puts it'

# Options of three words: small letters will do, and what is none of them is no AUTO.
quietly cmake "-DMUZERO_CUDA=off" "$work/debian"
if grep -qi 'cuda' "$work/out"; then fail 'MUZERO_CUDA=off seeks CUDA'; fi
for option in MUZERO_CUDA=maybe MUZERO_FUZZ=no MUZERO_CUDA=; do
  if cmake -DMUZERO_CUDA=OFF -DMUZERO_FUZZ=AUTO "-D$option" "$work/debian" >"$work/out" 2>&1; then fail "$option is taken"; fi
  grep -q "$option: takes AUTO, ON or OFF" "$work/out" || fail "$option: $(cat "$work/out")"
done

# C++, by find_package.
if command -v c++ >/dev/null; then
  for standard in c++11 c++20; do
    printf '#include <%s>\n' muzero.h muzero/env_abi.h | quietly c++ "-std=$standard" -pedantic -Wall -Wextra -Werror -fsyntax-only -I "$prefix/include" -x c++ -
  done
  quietly cmake -S "$here/installed" -B "$work/installed" "-DCMAKE_PREFIX_PATH=$prefix"
  quietly cmake --build "$work/installed"
  if readelf -d "$work/installed/play" | grep -q 'libmuzero'; then fail 'play needs the shared library'; fi
  readelf -d "$work/installed/play_shared" | grep -q 'libmuzero\.so\.0' || fail 'play_shared does not need the shared library'
  quietly "$work/installed/play" "$work/run"
  quietly "$work/installed/play_shared" "$work/run"
else
  echo 'skipped: there is no C++ compiler'
fi

# The sources in another project.
quietly cmake -S "$here/within" -B "$work/within" -G Ninja "-DMUZERO_SOURCE=$root" "-DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-}"
quietly ninja -C "$work/within" mz_kernels_plain # without a build type nothing is optimised, as in Debug; it compiles all the same
if [[ ${3-} == --build ]]; then
  quietly cmake "-DCMAKE_BUILD_TYPE=Release" "$work/within"
  quietly ninja -C "$work/within" train_with_muzero_muzero train_with_muzero_muzero_static
  quietly "$work/within/train_with_muzero_muzero" "$work/run" 1
  quietly "$work/within/train_with_muzero_muzero_static" "$work/run" 1
fi

# What the page shows is the program that was run here.
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$root/docs/library.md" >"$work/page.c"
diff "$here/train.c" "$work/page.c" >&2 || fail 'docs/library.md shows another program than tests/consumer/train.c'
echo 'consumer: passed'
