"use strict";
/* Drawings whose shapes stretch with the page while their text stays: an SVG of 1000 × 100 between labels in HTML. */

const PLOT_WIDTH = 1000, PLOT_HEIGHT = 100;

/* About `wanted` round numbers from `low` to `high`. */
function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

function span(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (!isNumber(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

/* Places of numbers in the drawing. */
const scaleX = (low, high) => (x) => (high > low ? ((x - low) / (high - low)) * PLOT_WIDTH : PLOT_WIDTH / 2);
const scaleY = (low, high) => (y) => PLOT_HEIGHT - (high > low ? ((y - low) / (high - low)) * PLOT_HEIGHT : PLOT_HEIGHT / 2);

/* A drawing with labels: up = [{at: place in the drawing, text}], `height` in px. */
function plot(shapes, up, height, description) {
  const drawing = svg("svg", {
    viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": description,
  });
  for (const tick of up) drawing.append(svg("line", { class: "grid", x1: 0, x2: PLOT_WIDTH, y1: tick.at, y2: tick.at }));
  drawing.append(...shapes);
  const labels = up.map((tick) => {
    const label = el("span", {}, tick.text);
    label.style.bottom = (PLOT_HEIGHT - tick.at) / PLOT_HEIGHT * 100 + "%";
    return label;
  });
  const box = el("div", {}, drawing);
  box.style.height = height + "px";
  return [el("div", { class: "up", "aria-hidden": "true" }, labels), box];
}

/* Labels below: along = [{at, text}]. */
function below(along, label) {
  const spans = along.map((tick) => {
    const place = tick.at / PLOT_WIDTH;
    const node = el("span", { class: place < 0.03 ? "first" : place > 0.97 ? "last" : "" }, tick.text);
    node.style.left = place * 100 + "%";
    return node;
  });
  return [el("div", { class: "along", "aria-hidden": "true" }, spans), el("div", { class: "along-label" }, label)];
}

const round2 = (value) => Math.round(value * 100) / 100;

/* One path over all intervals: from[i]…to[i] wide, base[i]…top[i] high, in places of the drawing. */
function bars(className, from, to, base, top) {
  let path = "";
  for (let i = 0; i < from.length; i++) {
    if (!isNumber(base[i]) || !isNumber(top[i]) || base[i] === top[i]) continue;
    path += `M${round2(from[i])} ${round2(base[i])}V${round2(top[i])}H${round2(to[i])}V${round2(base[i])}Z`;
  }
  return svg("path", { class: className, d: path });
}

/* Level over each interval. */
function steps(className, from, to, levels) {
  let path = "", last;
  for (let i = 0; i < from.length; i++) {
    if (!isNumber(levels[i])) {
      last = undefined;
      continue;
    }
    path += last === undefined ? `M${round2(from[i])} ${round2(levels[i])}` : `V${round2(levels[i])}`;
    path += `H${round2(to[i])}`;
    last = levels[i];
  }
  return svg("path", { class: className, d: path });
}

/* Draws a legend: entries = [{class (of a filled patch), stroke (of a line), text}]. */
function key(entries) {
  return el("div", { class: "key" }, entries.map((entry) => {
    const sample = svg("svg", { width: 16, height: 12, "aria-hidden": "true" });
    if (entry.stroke) sample.append(svg("line", { class: entry.stroke, x1: 0, x2: 16, y1: 6, y2: 6, "stroke-width": 2 }));
    else sample.append(svg("rect", { class: entry.class, width: 16, height: 12, rx: 2 }));
    return el("span", {}, sample, entry.text);
  }));
}

function figure(title, unit, ...content) {
  return el("figure", {}, el("div", { class: "title" }, title + " ", el("span", { class: "unit" }, unit || "")), ...content);
}
