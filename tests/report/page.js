"use strict";
/* The scripts of report.html without a browser: what they put on the page for given data. usage: node tests/report/page.js */
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const folder = path.join(__dirname, "../../muzero/report/page");

/* As much of a document as the scripts use. */
class Element {
  constructor(name) {
    Object.assign(this, { name, attributes: {}, children: [], style: {}, dataset: {}, className: "" });
  }
  setAttribute(key, value) { this.attributes[key] = String(value); }
  getAttribute(key) { return this.attributes[key] ?? null; }
  addEventListener() {}
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  get textContent() { return this.children.map((c) => (c instanceof Element ? c.textContent : String(c))).join(""); }
  set textContent(text) { this.children = [text]; }
  all(test, found = []) {
    if (test(this)) found.push(this);
    for (const child of this.children) if (child instanceof Element) child.all(test, found);
    return found;
  }
}

/* A context with every script of the page but the last, which builds a whole page. */
function scripts() {
  const document = {
    createElement: (name) => new Element(name), createElementNS: (_, name) => new Element(name), documentElement: new Element("html"),
  };
  const context = vm.createContext({
    document, getComputedStyle: () => ({ getPropertyValue: () => "" }), ResizeObserver: class { observe() {} },
    window: { matchMedia: () => ({ matches: false }) },
  });
  const page = fs.readFileSync(path.join(folder, "page.html"), "utf8");
  const names = [...page.matchAll(/{{(\w+\.js)}}/g)].map((m) => m[1]).filter((name) => name !== "page.js");
  vm.runInContext(names.map((name) => fs.readFileSync(path.join(folder, name), "utf8")).join("\n"), context);
  return context;
}

/* Calls a function of the page; its parts in one element. */
function shown(name, ...given) {
  const context = scripts(), whole = new Element("main");
  context.given = JSON.parse(JSON.stringify(given));
  whole.append(...vm.runInContext(`${name}(...given)`, context).flat(Infinity).filter(Boolean));
  return whole;
}

const figuresTitled = (whole, word) => whole.all((e) => e.name === "figure" && e.textContent.startsWith(word));
const curveText = (figure) => figure.all((e) => e.className === "curve")[0].attributes["aria-label"];

function run(name, env, scores, more) {
  const phases = scores.map((_, i) => i + 1);
  return {
    name, env, phases: scores.length, stride: 1, last: { score: scores[scores.length - 1], digest: "0123456789abcdef", wall_s: 10 },
    sums: { cost: 2 }, plan: {}, ledger: null,
    columns: { phase: phases, env_steps: phases.map((p) => 100 * p), wall_s: phases, score: scores, loss: scores }, ...more,
  };
}

/* ---- runs ---- */

{ /* Scores of two environments are never on one axis. */
  const whole = shown("runsReport", [run("a", "cartpole", [20, 400], { score_name: "mean return" }),
    run("b", "tictactoe", [0.5, 1], { score_name: "share of lines not lost" }), run("c", "cartpole", [30, 500], { score_name: "mean return" })]);
  const drawn = figuresTitled(whole, "Score").map(curveText);
  assert.deepStrictEqual(drawn.map((t) => [t.includes("a from 20 to 400"), t.includes("score from 0.5 to 1"), t.includes("c from")]),
    [[true, false, true], [false, true, false]]);
  const titles = whole.all((e) => e.name === "h2").map((e) => e.textContent);
  assert.ok(titles.includes("Learning: cartpole, mean return"));
  assert.ok(titles.includes("Learning: tictactoe, share of lines not lost"));
  assert.ok(figuresTitled(whole, "Score")[1].textContent.includes("share of lines not lost of an evaluation"));
}

{ /* Nor scores against two opponents. */
  const whole = shown("runsReport", [run("a", "go", [0.2], { score_name: "share of points against mcts:100" }),
    run("b", "go", [0.9], { score_name: "share of points against random" })]);
  assert.strictEqual(figuresTitled(whole, "Score").length, 2);
}

{ /* Seeds of a folder: each one, and their median between worst and best from where all have a score. */
  const seeds = [[0.1, 0.4, 0.9], [0.2, 0.3, 0.3], [null, 0.5, 0.6]];
  const runs = seeds.map((scores, i) => run(`f/seed-${i}`, "tictactoe", scores, { folder: "f" }));
  const whole = shown("runsReport", runs), words = curveText(figuresTitled(whole, "Score")[0]);
  assert.ok(words.includes("f: median of 3 seeds, from worst to best from 0.4 to 0.6"), words);
  for (let i = 0; i < 3; i++) assert.ok(words.includes(`f/seed-${i} from`), words);
  const tile = (name) => whole.all((e) => e.name === "div" && e.textContent.startsWith(name))[0].textContent;
  assert.strictEqual(tile("median score"), "median score0.6");
  assert.strictEqual(tile("worst score"), "worst score0.3");
  assert.strictEqual(tile("cost in all, price units"), "cost in all, price units6");
  const band = vm.runInContext("aggregate('f', given)", Object.assign(scripts(), {
    given: seeds.map((y) => ({ x: [1, 2, 3], y })),
  }));
  assert.deepStrictEqual([...band.x], [2, 3]);
  assert.deepStrictEqual([...band.low], [0.3, 0.3]);
  assert.deepStrictEqual([...band.high], [0.5, 0.9]);
}

{ /* A cost has its unit; a digest may be broken in two; at the plot's side there are short numbers. */
  const whole = shown("runsReport", [run("a", "go", [1, 1], { plan: { replay_raw: [1073741824, 1073741824] } })]);
  assert.ok(whole.textContent.includes("cost, price units2"));
  assert.ok(whole.textContent.includes("price of one reserved core for an hour"));
  const table = shown("runsReport", [run("a", "go", [1]), run("b", "go", [1])]).all((e) => e.name === "table")[0];
  assert.strictEqual(table.className, "stack");
  assert.strictEqual(table.all((e) => e.name === "wbr").length, 2);
  const labels = whole.all((e) => e.className === "up").map((e) => e.textContent);
  assert.deepStrictEqual(labels, ["1.07G"]);
  assert.ok(whole.textContent.includes("replay.raw_bytes: 1,073,741,824")); /* as --set calls it */
}

{ /* The line of the target that all runs have, which may be 0; none where they differ. */
  const lines = (...targets) => {
    const context = Object.assign(scripts(), { given: targets.map((target, i) => run("r" + i, "pong", [-21, -3], { target })) });
    return vm.runInContext("var lines = []; curves = (options) => lines.push(options.line); drawCurves(given, 'wall_s'); lines", context);
  };
  assert.strictEqual(lines(0)[0].at, 0);
  assert.strictEqual(lines(0, 0)[0].text, "target 0");
  assert.strictEqual(lines(0, 5)[0], undefined);
  assert.strictEqual(lines(undefined)[0], undefined);
}

/* ---- comparisons ---- */

const ratio = (metric, ci95, more) => ({ a: "greedy", b: "rule", metric, ratio: 0.5, ci95, n: 12, claim: null, ...more });

{ /* The page never says that no interval excludes 1 where one does; each sentence names its metric. */
  const ratios = [ratio("wall_s", [0.9, 1.1]), ratio("core_reserved_s", [0.4, 0.6], { unclaimed: "12 paired blocks are too few" }),
    ratio("cost", [0.4, 0.6], { claim: "greedy takes 50 % less" })];
  const said = shown("comparisonReport", { arms: [], ratios }).all((e) => e.name === "li").map((e) => e.textContent);
  assert.deepStrictEqual(said, [
    "cost: greedy takes 50 % less",
    "core time reserved: greedy against rule is not claimed, although the interval excludes 1: 12 paired blocks are too few",
    "no difference is claimed in wall time: no interval there excludes 1",
  ]);
}

{ /* The processor's long name has a wide tile. */
  const whole = shown("comparisonReport", { arms: [], ratios: [], machine: { model: "A Processor of 64 Cores @ 2.45GHz" } });
  const tile = whole.all((e) => e.name === "div" && e.textContent.startsWith("processor"))[0];
  assert.strictEqual(tile.className, "wide");
}

console.log("what the page shows is as it should be");
