"use strict";
/* Runs: their figures, their curves together, and what is shown of each one. */

let axis = "time"; /* of the curves: "time" or "env_steps" */
let choices = 0; /* places where it can be chosen */

const last = (run) => object(run.last);
const column = (run, name) => list(object(run.columns)[name]);
const strategy = (run) => text(member(run.ledger, "strategy") || run.strategy);
const bestScore = (run) => run.best_score;
const machineText = (of) => (isNumber(of.cores) ? plural(of.cores, "core") + (of.isa ? ", " + text(of.isa) : "") : none);

const PRICE_UNIT = "Cost is in price units: the currency in which prices.core_hour, prices.gpu_hour and prices.gib_hour are given; " +
  "as these are by default, one unit is the price of one reserved core for an hour.";

function runFigures(run) {
  const sums = object(run.sums);
  return figures([
    ["environment", text(run.env)],
    ["seed", text(run.seed)],
    ["score is", scoreName(run) || none, "wide"],
    ["score", number(last(run).score)],
    ["best score", number(bestScore(run))],
    ["target score", number(run.target)],
    ["wall time", seconds(last(run).wall_s)],
    ["steps", total(last(run).env_steps)],
    ["updates", total(last(run).updates)],
    ["rounds", number(last(run).rounds)],
    ["phases", number(run.phases)],
    ["strategy", strategy(run)],
    ["core time used", seconds(sums.cpu_s)],
    ["core time reserved", seconds(sums.reserved_core_s)],
    ["cost, price units", number(sums.cost)],
    ["memory", bytes(last(run).rss_bytes)],
    ["machine", machineText(run)],
    ["digest", text(last(run).digest), "code"],
  ]);
}

function runsTable(runs) {
  return table([
    { name: "run", cell: (run) => text(run.name) },
    { name: "environment", cell: (run) => text(run.env) },
    { name: "seed", class: "number", cell: (run) => text(run.seed) },
    { name: "strategy", cell: strategy },
    { name: "score", class: "number", cell: (run) => number(last(run).score) },
    { name: "best", class: "number", cell: (run) => number(bestScore(run)) },
    { name: "wall time", class: "number", cell: (run) => seconds(last(run).wall_s) },
    { name: "steps", class: "number", cell: (run) => total(last(run).env_steps) },
    { name: "updates", class: "number", cell: (run) => total(last(run).updates) },
    { name: "cost, price units", class: "number", cell: (run) => number(object(run.sums).cost) },
    { name: "digest", cell: (run) => digestText(last(run).digest) },
  ], runs, "stack");
}

function thinned(run) {
  if (!(run.stride > 1)) return null;
  return el("p", { class: "muted" },
    `${text(run.name)}: ${plural(run.phases, "phase")} are too many to draw: each point stands for ${run.stride} of them ` +
    "(losses and shares are their mean; counters, times, scores and the plan are as at its end).");
}

function warnings(run) {
  const rows = list(run.warnings);
  if (!rows.length) return null;
  const sentence = (w) => `${text(w.text)} (${plural(w.count, "phase")}, first in phase ${number(w.first)})`;
  return [el("h3", {}, "Diagnosis"), el("ul", {}, rows.map((w) => el("li", {}, sentence(w))))];
}

/* On few cores there is little to allocate; whoever reads a report should know. */
function honestCores(cores) {
  if (!isNumber(cores) || cores > 2) return null;
  return el("p", { class: "muted" },
    `This machine grants ${plural(cores, "core")}: hardly any split of workers exists here that could be better than another. ` +
    "What is left to gain lies in how many games are searched together, the depth of the queue, the learner's threads and in " +
    "giving back what is not needed.");
}

/* Score and loss of runs of one environment over the chosen axis; clock: the column that has the time. */
function drawCurves(runs, clock) {
  const single = runs.length === 1, timed = axis === "time", name = timed ? clock : axis;
  const unit = timeUnit((span(runs.flatMap((run) => column(run, clock))) || [0, 0])[1]);
  const along = timed ? `wall time (${unit.name})` : "environment steps", scale = timed ? unit.seconds : 1;
  const xs = (run) => column(run, name).map((x) => (isNumber(x) ? x / scale : x));
  const title = (run, label) => (single && label) || text(run.name);
  const series = (of, label) => runs.map((run) => ({ name: title(run, label), x: xs(run), y: column(run, of) }));
  const targets = new Set(runs.map((run) => run.target).filter(isNumber));
  const [target] = targets.size === 1 ? targets : [];
  const parts = [["policy_loss", "policy"], ["value_loss", "value"], ["reward_loss", "reward"],
    ["prequential_loss", "all three, of games not trained on yet"]];
  const losses = [...series("loss", "total, weighted"), ...(single ? parts.flatMap(([part, label]) => series(part, label)) : [])];
  const seeds = seedFolders(runs).map(([folder, of]) =>
    aggregate(text(folder), of.map((run) => ({ x: xs(run), y: column(run, "score") }))));
  return [
    curves({
      title: "Score", unit: `${scoreName(runs[0]) || "mean return, or points,"} of an evaluation`, along,
      series: [...seeds.filter(Boolean), ...series("score", "score")],
      points: runs.every((run) => column(run, "score").filter(isNumber).length <= 150),
      line: isNumber(target) ? { at: target, text: "target " + number(target) } : undefined,
    }),
    curves({
      title: "Loss", unit: "nats, mean over the phase" + (single ? "; parts before their weights" : ""), along,
      series: losses.filter((one) => one.y.some(isNumber)),
    }),
    curves({
      title: "Gradient noise scale", unit: "rows: the batch size at which noise and gradient are as large", along,
      series: series("noise_scale", "noise scale").filter((one) => one.y.some(isNumber)),
    }),
  ];
}

function curvesSection(runs, clock, title = "Learning") {
  const box = el("div"), group = "axis" + choices++;
  const fill = () => box.replaceChildren(...drawCurves(runs, clock).filter(Boolean));
  const choice = (value, label) => {
    const input = el("input", { type: "radio", name: group, value });
    input.checked = axis === value;
    input.addEventListener("change", () => {
      axis = value;
      fill();
      drawPending();
    });
    return el("label", {}, input, " " + label);
  };
  fill();
  return [
    el("h2", {}, title),
    el("fieldset", {}, el("legend", {}, "against"), choice("time", "wall time"), choice("env_steps", "environment steps")),
    box,
  ];
}

const runDetails = (run) => [stageFigures(run), allocatorSections(run), warnings(run)];

/* Scores of two environments have no axis in common: each group of runs that can be compared has its table and its plots. */
function groupReport(runs, several) {
  const title = "Learning" + (several ? `: ${[text(runs[0].env), scoreName(runs[0])].filter(Boolean).join(", ")}` : "");
  return [
    runs.length > 1 ? runsTable(runs) : null,
    seedFolders(runs).map(seedFigures),
    runs.map(thinned),
    curvesSection(runs, "wall_s", title),
  ];
}

function runsReport(runs) {
  const cores = (span(runs.map((run) => run.cores)) || [])[0], groups = runGroups(runs);
  const learning = groups.map((group) => groupReport(group, groups.length > 1));
  const shared = [honestCores(cores), learning, el("p", { class: "muted" }, PRICE_UNIT)];
  if (runs.length === 1) return [runFigures(runs[0]), shared, el("h2", {}, "Machine and plan"), runDetails(runs[0])];
  const folded = (run) => el("details", {}, el("summary", {}, text(run.name)), runFigures(run), runDetails(run));
  return [shared, el("h2", {}, "Machine and plan, run by run"), runs.map(folded)];
}
