"use strict";
/* Which runs are drawn together, and the seeds of one folder as one curve. */

const scoreName = (run) => (typeof run.score_name === "string" ? run.score_name : "");

/* Runs of one environment whose scores count the same: [[run, …], …]. */
function runGroups(runs) {
  const groups = new Map();
  for (const run of runs) {
    const name = JSON.stringify([text(run.env), scoreName(run)]);
    groups.set(name, [...(groups.get(name) || []), run]);
  }
  return [...groups.values()];
}

/* The folders of seeds that have two runs or more: [[name, runs], …]. */
function seedFolders(runs) {
  const names = [...new Set(runs.map((run) => run.folder).filter((name) => typeof name === "string"))];
  return names.map((name) => [name, runs.filter((run) => run.folder === name)]).filter(([, seeds]) => seeds.length > 1);
}

/* The last y at or before x; undefined before the first. points: [[x, y], …] by x. */
function lastAt(points, x) {
  let found;
  for (const [at, y] of points) {
    if (at > x) break;
    found = y;
  }
  return found;
}

/* Median, worst and best of the seeds' last evaluations at each x, from where all have one; a seed that has ended keeps its score.
 * curves: [{x, y}, …]; null where there are not two with scores. */
function aggregate(name, curves) {
  const points = curves.map((curve) => curve.x.map((x, i) => [x, curve.y[i]]).filter(([x, y]) => isNumber(x) && isNumber(y)));
  const known = points.filter((one) => one.length).map((one) => one.sort((a, b) => a[0] - b[0]));
  if (known.length < 2) return null;
  const start = Math.max(...known.map((one) => one[0][0]));
  const all = [...new Set(known.flat().map(([x]) => x))].filter((x) => x >= start).sort((a, b) => a - b);
  const stride = Math.ceil(all.length / 400), x = all.filter((_, i) => (all.length - 1 - i) % stride === 0);
  const values = x.map((at) => known.map((one) => lastAt(one, at)));
  return {
    name: `${name}: median of ${known.length} seeds, from worst to best`,
    x, y: values.map(median), low: values.map((v) => Math.min(...v)), high: values.map((v) => Math.max(...v)),
  };
}

/* A seed without a score counts as the worst. */
function seedFigures([name, runs]) {
  const scores = runs.map((run) => (isNumber(last(run).score) ? last(run).score : -Infinity));
  const times = runs.map((run) => last(run).wall_s).filter(isNumber), costs = runs.map((run) => object(run.sums).cost);
  return [
    el("h3", {}, `${text(name)}: ${plural(runs.length, "seed")} together`),
    figures([
      ["score is", scoreName(runs[0]) || none, "wide"],
      ["median score", number(median(scores))],
      ["worst score", number(Math.min(...scores))],
      ["best score", number(Math.max(...scores))],
      ["median wall time", times.length ? seconds(median(times)) : none],
      ["longest", times.length ? seconds(Math.max(...times)) : none],
      ["cost in all, price units", costs.every(isNumber) ? number(costs.reduce((a, b) => a + b, 0)) : none],
    ]),
  ];
}
