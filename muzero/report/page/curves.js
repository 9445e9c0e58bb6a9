"use strict";
/* Line plots by Dygraphs, with a key of our own: its labels are ours and never markup. */

const DASHES = [null, [7, 4], [2, 3], [9, 3, 2, 3]];
const COLOURS = 6;
const drawn = []; /* to be given up before the page is drawn anew */
const pending = []; /* plots that are not on the page yet, or folded away: a plot is drawn when it has a width */

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColour = (index) => colour("--c" + (index % COLOURS + 1));
const seriesDash = (index) => DASHES[Math.floor(index / 4) % DASHES.length]; /* from the fifth on not by colour alone */

/* One table over all series: a row for each x that any of them has, and an empty one for each gap. A cell is a number, or
 * [low, value, high] with bands. */
function joined(series, banded, gaps) {
  const rows = new Map(gaps.map((x) => [x, [x, ...series.map(() => null)]]));
  series.forEach((one, place) => {
    one.x.forEach((x, i) => {
      if (!isNumber(x) || !isNumber(one.y[i])) return;
      if (!rows.has(x)) rows.set(x, [x, ...series.map(() => null)]);
      const bound = (values) => (values && isNumber(values[i]) ? values[i] : one.y[i]);
      rows.get(x)[place + 1] = banded ? [bound(one.low), one.y[i], bound(one.high)] : one.y[i];
    });
  });
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

/* A short text for those who do not see the plot. */
function describe(options) {
  const parts = options.series.map((one) => {
    const known = one.y.filter(isNumber);
    if (!known.length) return one.name + " without values";
    return `${one.name} from ${number(known[0])} to ${number(known[known.length - 1])}`;
  });
  return `${options.title} against ${options.along}: ${parts.slice(0, 8).join("; ")}`;
}

function range(options) {
  const values = options.series.flatMap((one) => [one.y, one.low || [], one.high || []].flat());
  const found = span(options.line ? [...values, options.line.at] : values);
  if (!found) return [0, 1];
  const low = options.zero ? Math.min(0, found[0]) : found[0];
  const pad = (found[1] - low || Math.abs(found[1]) || 1) * 0.06;
  return [options.zero && low === 0 ? 0 : low - pad, found[1] + pad];
}

function horizontal(line) {
  return (context, area, graph) => {
    const y = graph.toDomYCoord(line.at);
    context.save();
    context.strokeStyle = context.fillStyle = colour("--muted");
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(area.x, y);
    context.lineTo(area.x + area.w, y);
    context.stroke();
    context.font = "12px system-ui, sans-serif";
    context.fillText(line.text, area.x + 6, y - 4 < area.y + 12 ? y + 13 : y - 4);
    context.restore();
  };
}

/* The key: pressing an entry hides its curve; while the pointer is over the plot it shows the values there. */
function curveKey(options, graph) {
  const values = options.series.map(() => el("span", { class: "value" }));
  const buttons = options.series.map((one, i) => {
    const line = svg("line", { x1: 0, x2: 24, y1: 6, y2: 6, "stroke-width": 2.5, class: "s" + (i % COLOURS + 1) });
    if (seriesDash(i)) line.setAttribute("stroke-dasharray", seriesDash(i).join(" "));
    const sample = svg("svg", { width: 24, height: 12, "aria-hidden": "true" }, line);
    const button = el("button", { type: "button", "aria-pressed": "true" }, sample, one.name, values[i]);
    button.addEventListener("click", () => {
      const show = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(show));
      graph().setVisibility(i, show);
    });
    return button;
  });
  const show = (points) => {
    values.forEach((value) => (value.textContent = ""));
    for (const point of points) values[Number(point.name.slice(1))].textContent = number(point.yval);
  };
  return { node: el("div", { class: "key" }, buttons), show };
}

function drawPending() {
  for (const draw of pending) draw();
}

/* options: {title, unit, along (the x axis with its unit), series: [{name, x, y, low, high}], line: {at, text},
 * zero: from 0 up, points: mark them, gaps: [x where the curves are interrupted]} */
function curves(options) {
  if (!options.series.some((one) => one.y.some(isNumber))) return null;
  const banded = options.series.some((one) => one.low);
  const box = el("div", { class: "curve", role: "img", "aria-label": describe(options) });
  let graph;
  const { node, show } = curveKey(options, () => graph);
  const draw = () => {
    if (graph || !box.isConnected || box.clientWidth === 0) return;
    const touch = window.matchMedia("(pointer: coarse)").matches; /* there, a finger on the plot scrolls the page */
    graph = new Dygraph(box, joined(options.series, banded, options.gaps || []), {
      labels: ["x", ...options.series.map((one, i) => "s" + i)],
      colors: options.series.map((one, i) => seriesColour(i)),
      series: Object.fromEntries(options.series.map((one, i) => ["s" + i, { strokePattern: seriesDash(i) }])),
      customBars: banded,
      fillAlpha: 0.22,
      connectSeparatedPoints: !options.gaps,
      drawPoints: Boolean(options.points),
      pointSize: 2.5,
      strokeWidth: 2,
      highlightCircleSize: 4,
      legend: "never",
      xlabel: options.along,
      xLabelHeight: 18,
      valueRange: range(options),
      xRangePad: 6,
      gridLineColor: colour("--line"),
      gridLineWidth: 1,
      axisLineColor: colour("--line"),
      axes: {
        x: { axisLabelFormatter: count, pixelsPerLabel: 60 },
        y: { axisLabelFormatter: count, axisLabelWidth: 48, pixelsPerLabel: 36 },
      },
      underlayCallback: options.line ? horizontal(options.line) : undefined,
      interactionModel: touch ? {} : Dygraph.defaultInteractionModel,
      highlightCallback: (event, x, points) => show(points),
      unhighlightCallback: () => show([]),
    });
    drawn.push(graph);
  };
  pending.push(draw);
  new ResizeObserver(draw).observe(box); /* when a fold is opened */
  return figure(options.title, options.unit, node, box);
}
