#!/usr/bin/env bash
# Makes comma/LC_NUMERIC: numbers as hosts write them whose decimal point is a comma. localedef is of Debian's libc-bin, the
# character map it reads of the package locales.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
printf 'LC_NUMERIC\ndecimal_point ","\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n' >"$made/source"
localedef --force --no-warnings=all -i "$made/source" -f UTF-8 "$made/comma" || true # complains of the categories left out
mkdir -p comma
cp "$made/comma/LC_NUMERIC" comma/
