"use strict";
/* The allocator's decisions: the plan by phase, prediction against observation, decisions in words. */

const ACTIONS = { begin: "begins", try: "tried", wait: "trial goes on", confirm: "kept after its trial", revert: "undone" };

/* The settings' keys of knobs that records call otherwise. */
const KNOB_SETTINGS = {
  selfplay_device: "devices.selfplay", reanalyze_device: "devices.reanalyze", learning_device: "devices.learning",
  replay_raw: "replay.raw_bytes",
};
const knobName = (name) => member(KNOB_SETTINGS, name) || name;

/* Steps of one knob on a log scale between lines where plans were tried and undone; numbers beside it are short, for want of room. */
function knobRow(name, values, from, to, marks) {
  const [low, high] = span(values), end = values.filter(isNumber).pop(), still = low === high;
  const log = (value) => Math.log2(Math.max(value, 0.5)), y = scaleY(log(low) - 0.5, log(high) + 0.5);
  const place = (value) => (isNumber(value) ? y(log(value)) : undefined);
  const lines = marks.map((mark) => svg("line", { class: mark.class, x1: mark.at, x2: mark.at, y1: 0, y2: PLOT_HEIGHT }));
  const up = (still ? [low] : [low, high]).map((value) => ({ at: place(value), text: count(value) }));
  const words = still ? `${number(low)} all the time` : `${number(low)} to ${number(high)}, at the end ${number(end)}`;
  const shapes = [...lines, steps("step s1", from, to, values.map(place))];
  const shown = knobName(name);
  return [el("div", { class: "row-name" }, `${shown}: ${words}`), plot(shapes, up, still ? 18 : 48, `${shown} by phase`)];
}

/* A row for every knob that is a size, and for a device only if it changed. */
function planFigure(run) {
  const phases = column(run, "phase"), plan = object(run.plan);
  const knobs = Object.keys(plan).filter((name) => list(plan[name]).some(isNumber));
  if (!knobs.length || !phases.length) return null;
  const unmoved = knobs.filter((name) => name.endsWith("_device") && span(plan[name])[0] === span(plan[name])[1]);
  const first = phases[0] - 1, end = phases[phases.length - 1], x = scaleX(first, end);
  const from = phases.map((_, i) => x(i ? phases[i - 1] : first)), to = phases.map(x);
  const changes = list(member(run.ledger, "decisions")).filter((d) => isNumber(d.phase) && d.phase >= first);
  const tried = changes.filter((d) => d.action === "try").map((d) => ({ at: x(d.phase), class: "mark dashed" }));
  const undone = changes.filter((d) => d.action === "revert").map((d) => ({ at: x(d.phase), class: "mark undone" }));
  const sizes = knobs.filter((name) => !unmoved.includes(name));
  const rows = sizes.map((name) => knobRow(name, list(plan[name]), from, to, [...tried, ...undone]));
  const whole = ticks(first, end, 6).filter(Number.isInteger);
  const legend = [
    { stroke: "step s1", text: "in force" },
    ...(tried.length ? [{ stroke: "mark dashed", text: "a new plan is tried" }] : []),
    ...(undone.length ? [{ stroke: "mark undone", text: "undone" }] : []),
  ];
  const devices = unmoved.map((name) => `${knobName(name)} ${number(plan[name].find(isNumber))}`).join(", ");
  return [
    el("h3", {}, "Plan"),
    figure("Knobs by phase", "log scale", key(legend),
      el("div", { class: "plot" }, rows, below(whole.map((t) => ({ at: x(t), text: number(t) })), "phase"))),
    devices ? el("p", { class: "muted" }, `Devices that never changed: ${devices}.`) : null,
  ];
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b), middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/* rows: [{predicted, low, high, observed}] */
function predictionSummary(rows) {
  const both = rows.filter((row) => isNumber(row.predicted) && row.observed > 0);
  if (!both.length) return "No phase had both a prediction and an observation.";
  const error = median(both.map((row) => Math.abs(row.predicted / row.observed - 1))) * 100;
  const banded = both.filter((row) => isNumber(row.low) && isNumber(row.high));
  const inside = banded.filter((row) => row.observed >= row.low && row.observed <= row.high).length;
  const share = banded.length
    ? `; ${inside} of ${banded.length} observations lie within the 90 % interval (${percent(inside / banded.length)})` : "";
  const phases = plural(both.length, "phase");
  return `Median error ${number(Number(error.toPrecision(2)))} % over ${phases} that had a prediction${share}.`;
}

function predictionFigure(ledger) {
  const s = object(ledger.series), phases = list(s.phase);
  const [predicted, low, high, observed] = [s.predicted, s.low, s.high, s.observed].map(list);
  const drawing = curves({
    title: "Prediction against observation", unit: "seconds per unit of work", along: "phase", zero: true,
    points: phases.length <= 200,
    series: [
      { name: "predicted, with its interval", x: phases, y: predicted, low, high },
      { name: "observed", x: phases, y: observed },
    ],
  });
  if (!drawing) return null;
  const rows = phases.map((_, i) => ({ predicted: predicted[i], low: low[i], high: high[i], observed: observed[i] }));
  const stride = ledger.stride > 1 ? ` Every ${ledger.stride}th phase is shown and counted.` : "";
  return [el("h3", {}, "Predictions"), drawing, el("p", {}, predictionSummary(rows) + stride)];
}

/* "cpu_actor 1 → 2, …" */
function planChange(d) {
  const changed = Object.keys(object(d.next)).filter((name) => member(d.plan, name) !== d.next[name]);
  return changed.map((name) => `${knobName(name)} ${text(member(d.plan, name))} → ${text(d.next[name])}`).join(", ");
}

function decisionWord(d) {
  if (d.action === "keep") return `${plural(d.count, "phase")} kept`;
  return d.refused ? "could not be carried out" : member(ACTIONS, d.action) || text(d.action);
}

function decisionWhy(d) {
  const said = [d.refused, d.reason].filter((part) => typeof part === "string" && part);
  return [...said, ...(d.binding ? [`limit that binds: ${text(d.binding)}`] : [])].join("; ");
}

function decisionsTable(ledger) {
  const rows = list(ledger.decisions).map(object);
  if (!rows.length) return null;
  const phases = (d) => (isNumber(d.until) && d.until !== d.phase ? `${number(d.phase)}–${number(d.until)}` : number(d.phase));
  const columns = [
    { name: "phase", class: "number", cell: phases },
    { name: "decision", cell: decisionWord },
    { name: "what changes", class: "why", cell: (d) => (d.action === "keep" ? "" : planChange(d)) },
    { name: "why", class: "why", cell: decisionWhy },
    {
      name: "speed, new / old [90 %]", class: "number",
      cell: (d) => (isNumber(d.ratio) ? `${ratio(d.ratio)} ${interval([d.ratio_low, d.ratio_high])}` : ""),
    },
  ];
  const cut = `The newest ${plural(rows.length, "entry", "entries")}; ${number(ledger.left_out)} older ones are left out.`;
  return [
    el("h3", {}, "Decisions"),
    ledger.left_out > 0 ? el("p", { class: "muted" }, cut) : null,
    table(columns, rows, "stack"),
  ];
}

function allocatorSections(run) {
  const without = "There is no ledger.jsonl in this run: what was predicted and decided, and why, is not known.";
  const ledger = run.ledger ? [predictionFigure(run.ledger), decisionsTable(run.ledger)] : el("p", { class: "muted" }, without);
  return [planFigure(run), ledger];
}
