"use strict";
/* The stages' use of their threads over time: busy, waiting for input, waiting for room in the queue behind them. */

const BARS_MAX = 240;
/* Where there is no ledger: the stages as metrics.jsonl has them. */
const RECORDED = [
  { name: "actor", threads: "cpu_actor", busy: "actor_busy" },
  { name: "batch", threads: "batch_actor", busy: "batch_busy", waitOut: "batch_wait" },
  { name: "learner", threads: "learner_threads", busy: "learner_busy", waitIn: "learner_wait" },
  { name: "env", threads: "env_workers", busy: "env_busy" },
];

/* Wall time at the end of a phase, between the points that the run has. */
function wallAt(run, phase) {
  const phases = list(run.columns.phase), walls = list(run.columns.wall_s);
  let i = phases.findIndex((p) => p >= phase);
  if (i < 0) i = phases.length - 1;
  if (i <= 0 || phases[i] <= phase) return walls[Math.max(0, i)];
  return walls[i - 1] + (walls[i] - walls[i - 1]) * (phase - phases[i - 1]) / (phases[i] - phases[i - 1]);
}

/* {to: [seconds], stages: [{name, busy, waitIn, waitOut, threads}]}, arrays by interval; null: nothing was recorded. */
function stageUse(run) {
  const columns = object(run.columns), plan = object(run.plan), ledger = run.ledger;
  if (ledger && list(ledger.stages).length && list(ledger.series.phase).length) {
    const phases = list(ledger.series.phase);
    const at = phases.map((phase) => list(columns.phase).findIndex((p) => p >= phase));
    const stages = ledger.stages.map((stage) => ({
      name: stage.name,
      busy: list(member(ledger.busy, stage.name)),
      waitIn: list(member(ledger.wait_in, stage.name)),
      waitOut: list(member(ledger.wait_out, stage.name)),
      threads: stage.threads ? at.map((i) => list(member(plan, stage.threads))[i]) : phases.map(() => 1),
    }));
    return { source: "the ledger's windows", to: phases.map((phase) => wallAt(run, phase)), stages };
  }
  const stages = RECORDED.filter((stage) => list(columns[stage.busy]).some(isNumber)).map((stage) => ({
    name: stage.name,
    busy: list(columns[stage.busy]),
    waitIn: list(columns[stage.waitIn]),
    waitOut: list(columns[stage.waitOut]),
    threads: list(member(plan, stage.threads)),
  }));
  return stages.length ? { source: "the phases' records", to: list(columns.wall_s), stages } : null;
}

/* At most BARS_MAX intervals: neighbours are put together, each weighing as much as it lasted. */
function fewer(use) {
  const group = Math.ceil(use.to.length / BARS_MAX), count = Math.ceil(use.to.length / group);
  const from = use.to.map((_, i) => (i ? use.to[i - 1] : 0));
  const merge = (values) => Array.from({ length: count }, (_, g) => {
    let sum = 0, weight = 0;
    for (let i = g * group; i < Math.min(use.to.length, (g + 1) * group); i++) {
      const lasted = use.to[i] - from[i];
      if (isNumber(values[i]) && lasted > 0) sum += values[i] * lasted, weight += lasted;
    }
    return weight > 0 ? sum / weight : undefined;
  });
  return {
    from: Array.from({ length: count }, (_, g) => from[g * group]),
    to: Array.from({ length: count }, (_, g) => use.to[Math.min(use.to.length, (g + 1) * group) - 1]),
    stages: use.stages.map((stage) => ({
      name: stage.name, busy: merge(stage.busy), waitIn: merge(stage.waitIn), waitOut: merge(stage.waitOut),
      threads: merge(stage.threads),
    })),
  };
}

const sum = (values) => values.reduce((total, value) => total + (isNumber(value) ? value : 0), 0);

/* Bars of layers upon each other; level: a line over the same intervals. */
function stacked(layers, level, from, to, ends, height, description) {
  const tops = from.map((_, i) => sum(layers.map((layer) => layer.values[i])));
  const most = Math.max(...span([...tops, ...level, 0]), 0.1);
  const x = scaleX(0, ends), y = scaleY(0, most * 1.05);
  const left = from.map(x), right = to.map(x);
  const base = from.map(() => 0), shapes = [];
  for (const layer of layers) {
    const bottom = base.map(y);
    layer.values.forEach((value, i) => (base[i] += isNumber(value) ? value : 0));
    shapes.push(bars(layer.class, left, right, bottom, base.map(y)));
  }
  shapes.push(steps("mark dashed", left, right, level.map((value) => (isNumber(value) ? y(value) : undefined))));
  const up = ticks(0, most * 1.05, height > 90 ? 4 : 2).map((t) => ({ at: y(t), text: number(t) }));
  return plot(shapes, up, height, description);
}

function mean(values, from, to) {
  let weighted = 0, weight = 0;
  values.forEach((value, i) => {
    if (isNumber(value)) weighted += value * (to[i] - from[i]), weight += to[i] - from[i];
  });
  return weight > 0 ? weighted / weight : undefined;
}

const threads = (value) => (isNumber(value) ? value.toFixed(2) : none);

const stageColour = (i) => "f" + (i % COLOURS + 1);

/* Busy threads of all stages upon each other. */
function allStages(use, cores, ends, time) {
  const { from, to, stages } = use;
  const means = stages.map((stage) => `${stage.name} ${threads(mean(stage.busy, from, to))}`).join(", ");
  const layers = stages.map((stage, i) => ({ class: stageColour(i), values: stage.busy }));
  const entries = stages.map((stage, i) => ({ class: stageColour(i), text: stage.name }));
  if (isNumber(cores)) entries.push({ stroke: "mark dashed", text: plural(cores, "core") + " granted" });
  const drawing = stacked(layers, from.map(() => cores), from, to, ends, 150, `Busy threads over wall time; means: ${means}`);
  return figure("Busy threads of all stages", "threads, mean", key(entries), el("div", { class: "plot" }, drawing, time));
}

/* A row for each stage: busy, and waiting at either end. */
function eachStage(use, ends, time) {
  const { from, to, stages } = use;
  const rows = stages.map((stage, i) => {
    const waits = sum([mean(stage.waitIn, from, to), mean(stage.waitOut, from, to)]);
    const title = `${stage.name}: busy ${threads(mean(stage.busy, from, to))}, waiting ${threads(waits)} threads on average`;
    const layers = [
      { class: stageColour(i), values: stage.busy },
      { class: "wait-in", values: stage.waitIn },
      { class: "wait-out", values: stage.waitOut },
    ];
    return [el("div", { class: "row-name" }, title), stacked(layers, stage.threads, from, to, ends, 64, title)];
  });
  const entries = [
    { class: "f1", text: "busy (the stage's colour)" },
    { class: "wait-in", text: "waits for input" },
    { class: "wait-out", text: "waits for room behind it" },
    { stroke: "mark dashed", text: "threads it has by the plan" },
  ];
  return figure("Each stage: busy and blocked", "threads, mean", key(entries), el("div", { class: "plot" }, rows, time));
}

function stageFigures(run) {
  const use = stageUse(run);
  if (!use || !use.to.some(isNumber)) return null;
  const few = fewer(use), ends = few.to[few.to.length - 1], unit = timeUnit(ends), x = scaleX(0, ends);
  const places = ticks(0, ends / unit.seconds, 6).map((t) => ({ at: x(t * unit.seconds), text: number(t) }));
  const time = () => below(places, `wall time (${unit.name})`);
  const group = Math.ceil(use.to.length / few.to.length);
  return [
    el("h3", {}, "What the stages did"),
    el("p", { class: "muted" },
      `From ${use.source}. Busy is wall time inside tasks: more threads than cores can be busy at once and then share them.` +
      (group > 1 ? ` Each bar stands for ${group} points.` : "")),
    allStages(few, run.cores, ends, time()),
    eachStage(few, ends, time()),
  ];
}
