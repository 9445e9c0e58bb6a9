#!/usr/bin/env bash
# Makes the seeds of the fuzz targets (tests/fuzz), tests/data/fuzz/TARGET/*, from tiny runs of the given program and from a few
# lines of text, and dictionaries TARGET.dict of the keys in them. Needs python3 and zstd. usage: tests/data/fuzz/make.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tiny=(--history none --threads 1 --seed 4 --rounds 12 --set games=1 --set moves=4 --set simulations=2 --set batch_size=2
  --set shards=1 --set loop_count=1 --set replay.capacity=64 --set replay.min_fill=8 --set replay.segment_moves=0
  --set train.phase_rounds=2 --set eval.games=2 --set unroll=1 --set network.kind=mlp --set network.width=1
  --set network.value_bins=3 --set network.reward_bins=3 --set allocate.window=2)
export MUZERO_ISA=plain
"$program" train tictactoe --run "$work/t" "${tiny[@]}" >/dev/null
"$program" train tictactoe --run "$work/a" "${tiny[@]}" --set weight_average=0 --set selfplay.fork_share=0.5 --rounds 6 >/dev/null
"$program" train go:size=5 --run "$work/g" "${tiny[@]}" --set eval.opponent=random --set eval.simulations=2 >/dev/null

rm -rf checkpoint pack segment safetensors json settings ledger report history course gtp envs states
mkdir checkpoint pack segment safetensors json settings ledger report history course gtp envs states
latest() { printf '%s' "$1/checkpoints/$(cat "$1/LATEST")"; }
cp "$(latest "$work/t")" checkpoint/tictactoe.mzc
cp "$(latest "$work/a")" checkpoint/forks.mzc
cp "$(latest "$work/g")" checkpoint/go.mzc
cp "$work"/t/segments/*.pack pack/

# Sections of the checkpoint, and segments of the packs, as their readers see them.
python3 - "$work" <<'PYTHON'
import pathlib, struct, subprocess, sys
work = pathlib.Path(sys.argv[1])

def unpack(frame): return subprocess.run(["zstd", "-dc"], input=frame, stdout=subprocess.PIPE, check=True).stdout

def sections(path):
    file = pathlib.Path(path).read_bytes()
    for i in range(struct.unpack_from("<I", file, 12)[0]):
        name, _, _, _, packed, offset, _, _ = struct.unpack_from("<16sIIQQQQQ", file, 16 + 64 * i)
        yield name.rstrip(b"\0").decode(), unpack(file[offset:offset + packed])

def frames(path):
    file = path.read_bytes()
    for i in range(struct.unpack_from("<Q", file, 8)[0]):
        hash_, offset, packed, raw, _ = struct.unpack_from("<QQQQQ", file, 16 + 40 * i)
        yield hash_, raw, file[offset:offset + packed]

stored = dict(sections("checkpoint/tictactoe.mzc"))
pathlib.Path("safetensors/weights").write_bytes(stored["weights"])
pathlib.Path("json/config").write_bytes(b"\0" + stored["config"])
settings = stored["config"].split(b'"settings":', 1)[1][:-1]
pathlib.Path("settings/object").write_bytes(settings)
games = stored["games"]  # a count and the size of a state; a game of 4 numbers, its state, its moves
state = struct.unpack_from("<I", games, 4)[0]
pathlib.Path("segment/game").write_bytes(bytes([3]) + games[8 + 32 + state:])
hash_, raw, frame = next(frames(sorted(pathlib.Path("pack").glob("*.pack"))[0]))
pathlib.Path("segment/segment").write_bytes(bytes([0]) + unpack(frame))
pathlib.Path("segment/frame").write_bytes(bytes([6]) + struct.pack("<QI", hash_, raw) + frame)
hash_, raw, frame = next(frames(sorted((work / "g" / "segments").glob("*.pack"))[0]))
pathlib.Path("segment/go").write_bytes(bytes([2]) + unpack(frame))

def head(path, lines): return b"".join(path.read_bytes().splitlines(keepends=True)[:lines])
run = work / "t"
pathlib.Path("ledger/run.jsonl").write_bytes(head(run / "ledger.jsonl", 5))
pathlib.Path("ledger/earlier.jsonl").write_bytes(head(pathlib.Path("../formats/1/run/ledger.jsonl"), 5))
pathlib.Path("report/run").write_bytes(b"\0".join([head(run / "metrics.jsonl", 2), head(run / "ledger.jsonl", 3),
    b'{"env":"tictactoe","seed":"4","settings":{"train":{"target":1},"allocate":{"strategy":"greedy"}}}\n',
    (run / "env.json").read_bytes()]))
pathlib.Path("report/comparison").write_bytes(b"\0" * 4 +
    b'{"env":"cartpole","arms":[{"name":"rule","by_seed":[{"seed":1,"run":"/fuzz/run"}]}],"blocks":[{"arm":"rule","s":1.5}]}')
PYTHON

printf '\1// of a run\n{"a": [1, 2.5e-3, true, null], /* b */ "b": {"c": "\\u00e9\\n"}}' >json/comments
printf 'games=4\nmoves=8\nreplay.capacity=10k\ntrain.time=1.5h\nreplay.bytes=64 MiB\nallocate.strategy=greedy\nsearch=puct\n' >settings/pairs
printf '\0boardsize 3\nplay b a1\ngenmove w\nundo\nshowboard\nall_legal b\nfinal_score\nlist_commands\nmove_history\n' >gtp/tictactoe
printf '\1komi 6.5\nplay black C3\nplay white pass\ngenmove b\nlist_stones b\ncolor C3\nis_legal w C3\ngg-undo 2\nclear_board\nquit\n' >gtp/go
printf 'gomoku:size=9,k=4\n\1\2\3\4' >envs/gomoku
printf 'go:size=5,komi=6.5\n\0\1\31\31' >envs/go
printf 'cartpole\n\0\1\1' >envs/cartpole
# Two stages of two plans, as the bundled course's test has five of eight; and what a fitted course has besides.
python3 - <<'PYTHON'
import json, pathlib
course = json.loads(pathlib.Path("../envs/allocation_course.json").read_text())
course["plans"], course["stages"] = course["plans"][:2], course["stages"][:2]
for stage in course["stages"]:
    for rows in (stage, stage["use"], stage["stall"]):
        rows.update({key: row[:2] for key, row in rows.items() if isinstance(row, list)})
pathlib.Path("course/plain").write_text(json.dumps(course))
course["fitted"] = {"version": 1, "env": "cartpole", "network": "mlp 64", "learning": "0123", "epochs": 40,
    "plans": [{"makers": 1, "users": 2}, {"makers": 4, "users": 8}], "composed": [0, 1], "notes": "",
    "error": {"seconds": 0.1, "score": 0.1, "seconds_noise": 0.05, "score_noise": 0.05, "seconds_count": 9, "score_count": 9}}
pathlib.Path("course/fitted").write_text(json.dumps(course))
PYTHON
printf '\0' >states/tictactoe # the target plays by itself
# A row as columns, in the order of the target's UPDATE; and a whole file, made small.
"$program" train tictactoe --run "$work/h" "${tiny[@]}" --history "$work/history.db" >/dev/null
python3 - "$work" <<'PYTHON'
import json, pathlib, re, shutil, sqlite3, sys
work = pathlib.Path(sys.argv[1])
begin = json.loads(pathlib.Path("ledger/run.jsonl").read_text().splitlines()[0])
stages = {stage["name"]: [4, 0.001, 0.001, 0, 0, 0.002] for stage in begin["pipeline"]["stages"]}
row = [json.dumps(begin["start"]), json.dumps(stages), "run", "0.1", "1", "1", "0.5", "0.4", "0.01", "8", "0.5", "1e7", "0.9"]
pathlib.Path("history/row").write_text("r" + "\n".join(row))
db = sqlite3.connect(work / "history.db")
db.executescript("DELETE FROM measurements WHERE id > 1; PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM;")
db.close()
shutil.copy(work / "history.db", "history/file.db")

def words(name, *texts):
    keys = sorted({key for text in texts for key in re.findall(r'"([a-z_A-Z0-9.]{2,40})"', pathlib.Path(text).read_bytes().decode("latin-1"))})
    return [f'"\\"{key}\\""' for key in keys]
def paths(value, at=""):
    return [at] if not isinstance(value, dict) else [p for key, v in value.items() for p in paths(v, f"{at}.{key}" if at else key)]
def write(name, entries): pathlib.Path(name + ".dict").write_text("\n".join(entries) + "\n")
symbols = ['"{"', '"}"', '"["', '"]"', '"null"', '"true"', '"1e308"', '"\\x0a"']
write("ledger", symbols + words("ledger", "ledger/run.jsonl"))
write("report", symbols + words("report", "report/run", "report/comparison") + ['"\\x00"'])
write("course", symbols + words("course", "course/fitted"))
write("settings", symbols + [f'"{path}="' for path in paths(json.loads(pathlib.Path("settings/object").read_text()))])
write("json", symbols + ['"//"', '"/*"', '"*/"', '"\\\\u"', '"\\\\u0000"', '"1e309"'])
write("safetensors", symbols + words("safetensors", "safetensors/weights") + [f'"\\"{t}\\""' for t in ("BF16", "F64", "I8", "BOOL", "__metadata__")])
write("history", symbols + words("history", "history/row"))
write("gtp", [f'"{word}"' for word in re.findall(r"[a-z_-]+", """protocol_version name version known_command list_commands quit
    boardsize query_boardsize clear_board komi get_komi play genmove reg_genmove undo gg-undo showboard list_stones color all_legal
    is_legal last_move move_history final_score black white pass""")] + ['"\\x0a"', '"A1"', '"E5"'])
write("envs", [f'"{word}"' for word in ("tictactoe", "cartpole", "connect4", "othello", "othello6", "gomoku", "go", ":size=", ",k=", ",komi=", ":", "=")])
PYTHON
