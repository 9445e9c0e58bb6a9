"use strict";
/* Elements and text. Whatever comes from the data gets into the page here, as text and never as markup. */

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") node.className = value;
    else node.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

function svg(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const none = "–";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const list = (value) => (Array.isArray(value) ? value : []);
const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
/* Reads a member of an object that came from a file: its own members only. */
const member = (value, key) => (Object.hasOwn(object(value), key) ? value[key] : undefined);

function text(value) {
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return isNumber(value) ? number(value) : none;
}

/* Four significant digits; counts in full. */
function number(value) {
  if (!isNumber(value)) return none;
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  return size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

function count(value) {
  if (!isNumber(value)) return none;
  for (const [unit, suffix] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(value) >= unit) return Number((value / (unit === 1e4 ? 1e3 : unit)).toPrecision(3)) + suffix;
  }
  return number(value);
}

function seconds(value) {
  if (!isNumber(value)) return none;
  if (value === 0) return "0 s";
  if (value < 1) return number(Number((value * 1e3).toPrecision(3))) + " ms";
  if (value < 120) return Number(value.toPrecision(3)) + " s";
  const whole = Math.round(value), minutes = Math.floor(whole / 60);
  if (minutes < 120) return minutes + " min " + String(whole % 60).padStart(2, "0") + " s";
  return Math.floor(minutes / 60) + " h " + String(minutes % 60).padStart(2, "0") + " min";
}

function bytes(value) {
  if (!isNumber(value)) return none;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) value /= 1024, unit++;
  return Number(value.toPrecision(3)) + " " + units[unit];
}

const percent = (value) => (isNumber(value) ? Math.round(value * 100) + " %" : none);
const plural = (n, one, many) => number(n) + " " + (n === 1 ? one : many || one + "s");

/* In full as long as it is short. */
const total = (value) => (isNumber(value) && Math.abs(value) >= 1e7 ? count(value) : number(value));

/* The unit in which an axis of seconds up to `most` is read. */
function timeUnit(most) {
  if (most < 180) return { name: "s", seconds: 1 };
  return most < 3 * 3600 ? { name: "min", seconds: 60 } : { name: "h", seconds: 3600 };
}

/* columns: [{name, cell(row) → text or node, class}]; className "stack": on a phone a row is a list of its cells. */
function table(columns, rows, className) {
  const head = el("tr", {}, columns.map((c) => el("th", { class: c.class || "", scope: "col" }, c.name)));
  const cell = (row, c) => el("td", { class: c.class || "", "data-name": c.name }, c.cell(row));
  const body = rows.map((row) => el("tr", {}, columns.map((c) => cell(row, c))));
  const whole = el("table", { class: className || "" }, el("thead", {}, head), el("tbody", {}, body));
  return el("div", { class: "scroll", tabindex: "0", role: "group" }, whole);
}

/* A digest in two halves between which a narrow column may break the line. */
function digestText(value) {
  const digits = text(value), half = Math.ceil(digits.length / 2);
  return el("span", { class: "code" }, digits.slice(0, half), el("wbr"), digits.slice(half));
}

/* [[name, value, look], …]; those without a value are left out. look: "wide" for words, "code" for digits of a machine's. */
function figures(pairs) {
  const card = ([name, value, look]) =>
    el("div", { class: look ? "wide" : "" }, el("dt", {}, name), el("dd", { class: look || "" }, value));
  return el("dl", { class: "figures" }, pairs.filter((p) => p[1] !== none && p[1] !== undefined).map(card));
}
