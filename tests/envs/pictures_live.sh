#!/bin/bash
# Pictures of Gymnasium: they are made grey and smaller by area means, and stacked; the number of workers and packed replay change
# nothing; an agent learns to follow a dot. Skipped where a package is missing.
# Usage: pictures_live.sh MUZERO. MUZERO_PYTHON names the interpreter (default python3).
set -euo pipefail
muzero=$1
python=${MUZERO_PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
if ! "$python" -c 'import gymnasium, numpy' 2>/dev/null; then
  echo "skipped: $python does not import gymnasium and numpy"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONPATH=$here/../data/envs PYTHONDONTWRITEBYTECODE=1

fail() {
  echo "pictures_live.sh: $*" >&2
  exit 1
}

# Area means beside fractions summed pixel by pixel, and stacks beside the frames that were shown.
"$python" - "$here/../../envs/worker/script" <<'CHECK'
import fractions, sys
import gymnasium, numpy
for part in ("1_common.py", "1_pictures.py"):
    exec(open(sys.argv[1] + "/" + part).read())

def share(i, length, size, at):  # of pixel `at` in larger pixel i
    low, high = fractions.Fraction(i * length, size), fractions.Fraction((i + 1) * length, size)
    return max(min(high, at + 1) - max(low, at), fractions.Fraction(0))

random = numpy.random.default_rng(7)
for height, width, channels, size in ((7, 5, 1, 3), (9, 6, 3, 6), (10, 10, 2, 1), (4, 4, 3, 4)):
    x = random.integers(0, 256, (height, width, channels), dtype=numpy.uint8)
    found = Pictures(gymnasium.spaces.Box(0, 255, x.shape, numpy.uint8), {"size": size}).frame(x)
    area = fractions.Fraction(height * width, size * size)
    for i in range(size):
        for j in range(size):
            for c in range(channels):
                total = sum(share(i, height, size, r) * share(j, width, size, k) * int(x[r, k, c]) for r in range(height) for k in range(width))
                assert found[i, j, c] == int(total / area + fractions.Fraction(1, 2)), (height, width, size, i, j, c)
space = gymnasium.spaces.Box(0, 255, (2, 2, 3), numpy.uint8)
stacked = Pictures(space, {"grey": True, "frames": 3})
shown = [numpy.full((2, 2, 3), k, numpy.uint8) for k in (10, 20, 30, 40)]
seen = [numpy.frombuffer(stacked.observe(0, x, i == 0), numpy.uint8).reshape(2, 2, 3)[0, 1].tolist() for i, x in enumerate(shown)]
for given, is_grey in ((1, True), (False, False), ("off", None)):
    try:
        assert Pictures(space, {"grey": given}).shape == [2, 2, 1 if is_grey else 3]
    except Refused as error:
        assert is_grey is None and "grey=off: takes 1 or 0" in str(error)
    else:
        assert is_grey is not None, given
assert seen == [[10, 10, 10], [10, 10, 20], [10, 20, 30], [20, 30, 40]], seen
same = numpy.zeros((2, 2, 1), numpy.uint8) # of an environment that draws into one picture
stacked = Pictures(gymnasium.spaces.Box(0, 255, same.shape, numpy.uint8), {"frames": 2})
seen = []
for i, k in enumerate((10, 20, 30)):
    same[...] = k
    seen.append(list(stacked.observe(0, same, i == 0)[:2]))
assert seen == [[10, 10], [10, 20], [20, 30]], seen
CHECK

learning=(--set network.channels=16 --set network.blocks=1 --set network.pooled_blocks=0 --set num_games=32 --set batch_size=64
  --set shards=4 --set simulations=8 --set train.phase_rounds=10 --set eval.games=20 --set replay.min_fill=500 --history none)
train() { # RUN ENV ROUNDS FLAGS…
  "$muzero" train "$2" --run "$folder/$1" --seed 3 --rounds "$3" "${learning[@]}" "${@:4}" >"$folder/$1.log" 2>&1 ||
    fail "$(cat "$folder/$1.log")"
}
digest() { # RUN
  grep -o '"digest":"[^"]*"' "$folder/$1/metrics.jsonl" | tail -n 1
}
small=gym:Follow-v0,import=follow,grey=1,size=40,frames=4,limit=60
train one "$small,workers=1" 20
train two "$small,workers=2" 20
train packed "$small,workers=2" 20 --set replay.raw_bytes=2M
[[ $(digest one) == "$(digest two)" ]] || fail 'the number of workers changes the digest'
[[ $(digest one) == "$(digest packed)" ]] || fail 'packed replay changes the digest'

train follow gym:Follow-v0,import=follow,colour=false,frames=4,limit=60 80 --set network.downsample_blocks=0
score=$(awk '$1 == "score" { print $2 }' "$folder/follow.log")
echo "followed the dot for $score of 60 steps"
[[ ${score%.*} -ge 40 ]] || fail "the score is $score after 80 rounds: $(cat "$folder/follow.log")"

refused() { # ENV MESSAGE
  "$muzero" envs "$1" >"$folder/refused.log" 2>&1 && fail "$1 is taken"
  grep -q "$2" "$folder/refused.log" || fail "$1: $(cat "$folder/refused.log")"
}
refused gym:Follow-v0,import=follow,size=100 'nearest valid value: 84'
refused gym:Follow-v0,import=follow,frames=0 'nearest valid value: 1'
refused gym:CartPole-v1,frames=4 'are no pictures'
