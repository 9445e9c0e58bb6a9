"use strict";
/* Builds the page from the data, and anew when the colours change. */

const report = document.getElementById("report");
const data = JSON.parse(document.getElementById("data").textContent);

function title() {
  const runs = [...new Set(list(data.runs).map((run) => text(run.folder === undefined ? run.name : run.folder)))];
  const names = [...list(data.comparisons).map((c) => `comparison ${text(c.name)}`), ...runs];
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}

function build() {
  for (const graph of drawn.splice(0)) graph.destroy();
  pending.length = 0;
  const runs = list(data.runs), comparisons = list(data.comparisons);
  const several = comparisons.length + (runs.length > 0) > 1;
  const heading = (words) => (several ? el("h2", {}, words) : null);
  const made = `Made by muzero ${text(data.muzero)}. Plots by Dygraphs (MIT): drag to zoom, double click for all; a name in a ` +
    "key hides its curve.";
  const parts = [
    el("h1", {}, title()),
    comparisons.map((comparison) => [heading("Comparison " + text(comparison.name)), comparisonReport(comparison)]),
    runs.length ? [heading("Runs"), runsReport(runs)] : null,
    el("footer", {}, made),
  ];
  report.replaceChildren(...parts.flat(Infinity).filter(Boolean));
  drawPending();
}

document.title = title() + " – muzero report";
build();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);

/* On paper: light, everything unfolded, as wide as a sheet. */
addEventListener("beforeprint", () => {
  document.documentElement.dataset.print = "";
  build();
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  drawPending();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.print;
  build();
});
