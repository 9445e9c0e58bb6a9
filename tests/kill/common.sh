# Shared by tests/kill.sh, tests/soak.sh and tests/mixtures.sh. Results come in variables: a subshell for each would take longer than what it asks.
# shellcheck shell=bash

draw() { # N: sets `drawn` to one of 0 … N-1
  drawn=$(((RANDOM << 15 | RANDOM) % $1))
}

pick() { # WORD…: sets `picked` to one of them
  draw $#
  shift "$drawn"
  # shellcheck disable=SC2034
  picked=$1
}

now_us() { # sets `now`
  # shellcheck disable=SC2034
  now=${EPOCHREALTIME/[.,]/}
}

round_of() { # CHECKPOINT: sets `round`; -1 for none
  round=-1
  if [[ $1 =~ ^round-([0-9]+)\.mzc$ ]]; then round=$((10#${BASH_REMATCH[1]})); fi
}

latest_of() { # RUN: sets `latest_name` to what LATEST names, or nothing, and `round`
  latest_name=
  [[ -e $1/LATEST ]] && read -r latest_name <"$1/LATEST"
  round_of "$latest_name"
}

need_programs() { # PATH…
  local program
  for program; do
    [[ -x $program ]] && continue
    echo "${0##*/}: $program: no such program; build it, or name it in the environment" >&2
    exit 2
  done
}
