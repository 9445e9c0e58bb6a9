"use strict";
/* A comparison: arms, ratios with their intervals, blocks, and what may be claimed. */

/* Digests of arms that differ in exact knobs only. */
const DIGESTS = new Map([[true, "equal"], [false, "differ: they should not"]]);

function armsTable(comparison, arms) {
  const seeds = list(comparison.seeds).length;
  const aimed = arms.some((arm) => arm.reached > 0) || isNumber(object(comparison.limit).until);
  const reached = (arm) => (isNumber(arm.reached) ? `${arm.reached} of ${seeds || list(arm.by_seed).length}` : none);
  const time = (name, key) => ({ name, class: "number", cell: (arm) => seconds(arm[key]) });
  return table([
    { name: "arm", cell: (arm) => text(arm.name) },
    { name: "strategy", cell: (arm) => text(arm.strategy) },
    { name: "score", class: "number", cell: (arm) => number(arm.score) },
    ...(aimed ? [{ name: "reached", class: "number", cell: reached }] : []),
    time("wall time", "wall_s"),
    time("tuning", "tuning_s"),
    time("core time used", "core_s"),
    time("reserved", "core_reserved_s"),
    ...(arms.some((arm) => arm.gpu_s > 0) ? [time("GPU time", "gpu_s")] : []),
    { name: "GiB·s", class: "number", cell: (arm) => number(arm.gib_s) },
    { name: "cost, price units", class: "number", cell: (arm) => number(arm.cost) },
  ], arms, "stack");
}

/* Sentences on the metrics in which nothing, or not every difference, is claimed. */
function notClaimed(ratios) {
  const excludesOne = (r) => pair(r.ci95) && (r.ci95[0] > 1 || r.ci95[1] < 1);
  const metrics = [...new Set(ratios.map((r) => r.metric))];
  const quiet = metrics.filter((metric) => !ratios.some((r) => r.metric === metric && excludesOne(r)));
  const left = ratios.filter((r) => !r.claim && excludesOne(r));
  const why = (r) => (typeof r.unclaimed === "string" ? r.unclaimed : "there are too few pairs, or noise explains it");
  return [
    ...left.map((r) => `${metricName(r.metric)}: ${text(r.a)} against ${text(r.b)} is not claimed, although the interval ` +
      `excludes 1: ${why(r)}`),
    ...(quiet.length ? [`no difference is claimed in ${quiet.map(metricName).join(", ")}: no interval there excludes 1`] : []),
  ];
}

function claims(comparison, ratios) {
  const claimed = ratios.filter((r) => typeof r.claim === "string" && r.claim);
  const said = [...claimed.map((r) => `${metricName(r.metric)}: ${r.claim}`), ...notClaimed(ratios)];
  return [
    el("h3", {}, "What can be said"),
    said.length ? el("ul", {}, said.map((sentence) => el("li", {}, sentence))) : null,
    list(comparison.sentences).map((sentence) => el("p", {}, text(sentence))),
  ];
}

/* Blocks one after another, seed by seed, interrupted between seeds. */
function blocksFigure(comparison, arms) {
  const blocks = list(comparison.blocks).map(object);
  if (!blocks.length) return null;
  const xs = blocks.map((_, i) => i + 1);
  const gaps = xs.slice(1).filter((x) => blocks[x - 1].seed !== blocks[x - 2].seed).map((x) => x - 0.5);
  const series = arms.map((arm) => ({ name: text(arm.name), x: xs, y: blocks.map((block) => member(block.seconds, arm.name)) }));
  const starts = [1, ...gaps.map((x) => x + 0.5), blocks.length + 1];
  const spans = starts.slice(0, -1).map((start, i) => `seed ${text(blocks[start - 1].seed)}: ${start}–${starts[i + 1] - 1}`);
  const rounds = comparison.block_rounds, phases = comparison.block_phases;
  const size = isNumber(rounds) ? plural(rounds, "round") : isNumber(phases) ? plural(phases, "phase") : "";
  const turns = size ? `A block is ${size}; arms take turns. ` : "";
  const stride = comparison.blocks_stride > 1 ? ` Every ${comparison.blocks_stride}th block is shown.` : "";
  return [
    curves({
      title: "Blocks of equal rounds", unit: "seconds per block", along: "block", gaps, zero: true,
      series: series.filter((one) => one.y.some(isNumber)), points: blocks.length <= 200,
    }),
    el("p", { class: "muted" }, `${turns}Blocks by seed: ${spans.join(", ")}.${stride}`),
  ];
}

function plansTable(arms) {
  const knobs = [...new Set(arms.flatMap((arm) => Object.keys(object(arm.plan))))];
  if (!knobs.length) return null;
  const columns = knobs.map((name) => ({ name: knobName(name), class: "number", cell: (arm) => text(member(arm.plan, name)) }));
  return el("details", {}, el("summary", {}, "Plans of the arms"),
    table([{ name: "arm", cell: (arm) => text(arm.name) }, ...columns], arms, "stack"));
}

function seedsTable(arms) {
  const rows = arms.flatMap((arm) => list(arm.by_seed).map((cell) => ({ ...object(cell), arm: arm.name })));
  if (!rows.length) return null;
  const wall = (cell) => seconds(cell.wall_s) + (cell.reached === false ? " (not reached)" : "");
  return el("details", {}, el("summary", {}, "Every cell: arms by seeds"), table([
    { name: "arm", cell: (cell) => text(cell.arm) },
    { name: "seed", class: "number", cell: (cell) => text(cell.seed) },
    { name: "wall time", class: "number", cell: wall },
    { name: "score", class: "number", cell: (cell) => number(cell.score) },
    { name: "rounds", class: "number", cell: (cell) => number(cell.rounds) },
    { name: "digest", cell: (cell) => digestText(cell.digest) },
  ], rows, "stack"));
}

/* {"rounds": 160, "score": 0} → "rounds 160" */
function limitText(limit) {
  if (typeof limit === "string") return limit;
  const given = Object.entries(object(limit)).filter(([, value]) => isNumber(value) && value !== 0);
  return given.map(([name, value]) => `${name} ${number(value)}`).join(", ") || none;
}

function comparisonFigures(comparison, machine) {
  return figures([
    ["environment", text(comparison.env)],
    ["preset", text(comparison.preset)],
    ["seeds", list(comparison.seeds).map(text).join(", ") || none],
    ["to", limitText(comparison.limit)],
    ["machine", machineText(machine)],
    ["processor", text(machine.model), "wide"],
    ["digests", DIGESTS.get(comparison.same_digest) || "not compared"],
  ]);
}

function comparisonReport(comparison) {
  const arms = list(comparison.arms).map(object), ratios = list(comparison.ratios).map(object);
  const machine = object(comparison.machine), runs = list(comparison.curves);
  const sentences = list(comparison.sentences), crashed = arms.filter((arm) => arm.crashed);
  const clock = runs.every((run) => column(run, "own_s").some(isNumber)) ? "own_s" : "wall_s"; /* arms wait for their turns */
  const tuning = "Tuning is by how much the blocks before an arm's plan settled took longer than as many typical ones after it; " +
    "0 where they took no longer.";
  const censored = "Times are to the target or limit. An arm that did not reach the target counts with the time it had: it is " +
    "never left out.";
  const simulated = text(comparison.machine_simulated || "");
  return [
    comparison.machine_simulated ? el("p", { class: "bad" }, `Every figure is simulated, in virtual time, on ${simulated}.`) : null,
    comparisonFigures(comparison, machine),
    claims(comparison, ratios),
    sentences.length ? null : honestCores(machine.cores),
    el("h2", {}, "Arms"),
    arms.length ? armsTable(comparison, arms) : el("p", {}, "No arm has finished."),
    crashed.map((arm) => el("p", { class: "bad" }, `${text(arm.name)} crashed: ${text(arm.crashed)}`)),
    el("p", { class: "muted" }, censored, " ", arms.some((arm) => isNumber(arm.tuning_s)) ? tuning : ""),
    el("p", { class: "muted" }, PRICE_UNIT),
    ratios.length ? [el("h2", {}, "Ratios"), forest(ratios, object(comparison.noise))] : null,
    blocksFigure(comparison, arms),
    plansTable(arms),
    seedsTable(arms),
    runs.length ? [curvesSection(runs, clock), el("p", { class: "muted" }, "These are the runs of the first seed.")] : null,
  ];
}
