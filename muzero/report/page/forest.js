"use strict";
/* Ratios with their intervals, on a log axis that all rows share. */

const ratio = (value) => (isNumber(value) ? (Math.abs(value) < 10 ? value.toFixed(3) : number(value)) : none);
const pair = (value) => (Array.isArray(value) && isNumber(value[0]) && isNumber(value[1]) ? value : null);
const interval = (value) => (pair(value) ? `[${ratio(value[0])}, ${ratio(value[1])}]` : "");

const METRICS = {
  wall_s: "wall time", core_s: "core time used", core_reserved_s: "core time reserved", gpu_s: "GPU time", gib_s: "memory time",
  cost: "cost", score: "score", block_s: "wall time, typical block", wall_settled_s: "wall time, second half",
};
const metricName = (name) => member(METRICS, name) || text(name);
const RATIO_TICKS = [0.1, 0.2, 0.25, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 4, 5, 10];

/* Place of a ratio in per cent of the width: over all ratios, intervals and 1. */
function ratioScale(values) {
  const logs = values.filter((v) => isNumber(v) && v > 0).map(Math.log), low = Math.min(0, ...logs), high = Math.max(0, ...logs);
  const pad = Math.max(0.02, 0.05 * (high - low));
  return (value) => (Math.log(value) - low + pad) / (high - low + 2 * pad) * 100;
}

/* Ticks from 1 outwards, as long as there is room. */
function ratioTicks(x) {
  const shown = [], near = (v) => Math.abs(Math.log(v));
  for (const v of RATIO_TICKS.filter((t) => x(t) >= 2 && x(t) <= 98).sort((a, b) => near(a) - near(b))) {
    if (shown.every((w) => Math.abs(x(w) - x(v)) >= 9)) shown.push(v);
  }
  const labels = shown.map((v) => {
    const label = el("span", {}, String(v));
    label.style.left = x(v) + "%";
    return label;
  });
  const label = el("span", { class: "below" }, "first / second (log scale)");
  return el("div", { class: "ticks", "aria-hidden": "true" }, labels, label);
}

function ratioTrack(r, band, x) {
  const ci = pair(r.ci95), at = (value) => x(value) + "%";
  const description = `${text(r.a)} / ${text(r.b)}: ${ratio(r.ratio)} ${interval(r.ci95)}`;
  const track = svg("svg", { role: "img", "aria-label": description });
  if (band) {
    track.append(svg("rect", { class: "band", x: at(band[0]), width: x(band[1]) - x(band[0]) + "%", y: 0, height: "100%" }));
  }
  track.append(svg("line", { class: "one", x1: at(1), x2: at(1), y1: 0, y2: "100%" }));
  if (ci && ci[0] > 0) track.append(svg("line", { class: "interval", x1: at(ci[0]), x2: at(ci[1]), y1: "50%", y2: "50%" }));
  if (r.ratio > 0) track.append(svg("circle", { class: "point", cx: at(r.ratio), cy: "50%", r: 4.5 }));
  return track;
}

/* noise: what one arm against itself showed; its band stands behind ratios of the same metric. */
function forest(ratios, noise) {
  const noiseBand = pair(noise.ci95);
  const band = noiseBand && noiseBand[0] > 0 && noiseBand[1] >= noiseBand[0] ? noiseBand : null;
  const x = ratioScale([...ratios.flatMap((r) => [r.ratio, ...(pair(r.ci95) || [])]), ...(band || [])]);
  const rows = ratios.map((r) => {
    const p = isNumber(r.p_holm) ? r.p_holm : r.p;
    const details = [isNumber(r.n) ? `n ${r.n}` : "", isNumber(p) ? `p ${p < 0.001 ? "< 0.001" : p.toPrecision(2)}` : ""];
    const numbers = `${ratio(r.ratio)} ${interval(r.ci95)} `;
    const same = noise.metric === undefined || noise.metric === r.metric;
    return [
      el("div", { class: "pair" }, `${text(r.a)} / ${text(r.b)} `, el("span", { class: "muted" }, metricName(r.metric))),
      el("div", { class: "track" }, ratioTrack(r, same ? band : null, x)),
      el("div", { class: "numbers" }, numbers, el("span", { class: "muted" }, details.join(" "))),
    ];
  });
  const holm = ratios.some((r) => isNumber(r.p_holm)) ? "p is after Holm's correction. " : "";
  const grey = isNumber(noise.ratio)
    ? `Grey band: one arm against itself (A/A) in ${metricName(noise.metric)}, ${ratio(noise.ratio)} ` +
      `${interval(noise.ci95)}; no smaller effect is claimed.`
    : "";
  const empty = () => el("div", { class: "empty" });
  return figure("Ratios with 95 % intervals", "left of the line the first arm's figure is the smaller one",
    el("div", { class: "forest" }, rows, empty(), ratioTicks(x), empty()), el("figcaption", {}, holm, grey));
}
