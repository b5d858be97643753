// A form from the declaration of a plan: one field for every argument, by the kind it names.

import { records } from "./records.js";
import { h, marked, newId } from "./dom.js";
import { titled } from "./words.js";

// What is still missing, or cannot be read: said beside the price, never sent.
export class Incomplete extends Error {}

const NONE = "left out";

export function option(value, text = value, selected = false) {
  return h("option", { value, selected }, text);
}

// A comma is a decimal point where it cannot be one of thousands: what could be both is asked for again.
export function asNumber(text, name) {
  const given = String(text).trim();
  if (/^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(given)) throw new Incomplete(`${name} must be written without commas, as ${given.replaceAll(",", "")}.`);
  const value = Number(given.replace(",", "."));
  if (given === "" || !Number.isFinite(value)) throw new Incomplete(`${name} must be a number.`);
  return value;
}

const readValue = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text.trim());

const list = (text) => text.split(/[\n,;]+/).map((entry) => entry.trim()).filter(Boolean);

// A label, a control and its help, tied together.
function row(argument, control, more = []) {
  const help = newId("help");
  control.id ||= newId("field");
  control.setAttribute("aria-describedby", help);
  if (argument.required) control.setAttribute("aria-required", "true");
  return h("div", { class: "field" },
    h("label", { for: control.id }, titled(argument.name), argument.required ? null : h("span", { class: "optional" }, " optional")),
    control, more, h("p", { class: "help", id: help }, marked(argument.help)));
}

function group(argument, ...children) {
  const help = newId("help");
  return h("fieldset", { class: "field", "aria-describedby": help },
    h("legend", {}, titled(argument.name), argument.required ? null : h("span", { class: "optional" }, " optional")),
    ...children, h("p", { class: "help", id: help }, marked(argument.help)));
}

function choose(argument, choices, words = {}) {
  const start = argument.default ?? "";
  const blank = argument.required && start === "" ? option("", "Choose…") : start === "" ? option("", NONE) : null;
  return h("select", {}, blank, choices.map((name) => option(name, words[name] ?? name, String(name) === String(start))));
}

function selected(argument, control) {
  if (control.value !== "") return control.value;
  if (argument.required) throw new Incomplete(`Choose ${titled(argument.name).toLowerCase()}.`);
  return undefined;
}

function selection(argument, choices, words) {
  const control = choose(argument, choices, words);
  return { element: row(argument, control), value: () => selected(argument, control) };
}

const described = (columns) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, `${name} (${column.kind})`]));

function column(argument, context) {
  return selection(argument, Object.keys(context.columns), described(context.columns));
}

function model(argument, context, names = context.models) {
  if (!names.length && argument.required) {
    const text = h("p", { class: "note calm" }, "No model is served for this data set. The owner registers one.");
    return { element: group(argument, text), value: () => { throw new Incomplete("This question needs a model of the server."); } };
  }
  const only = names.length === 1 && argument.required ? { default: names[0] } : {};
  return selection({ ...argument, ...only, help: "One of the models that the server knows by name." }, names);
}

function checkboxes(names, chosen = []) {
  const inputs = names.map((name) => h("input", { type: "checkbox", value: name, checked: chosen.includes(name) }));
  const element = h("div", { class: "checks" }, inputs.map((input) => h("label", {}, input, input.value)));
  return { element, read: () => inputs.filter((input) => input.checked).map((input) => input.value) };
}

function columns(argument, context) {
  const boxes = checkboxes(Object.keys(context.columns), argument.default ?? []);
  return {
    element: group(argument, boxes.element),
    value: () => {
      const found = boxes.read();
      if (!found.length && argument.required) throw new Incomplete(`Choose ${titled(argument.name).toLowerCase()}.`);
      return found.length ? found : undefined;
    },
  };
}

function features(argument, context) {
  const names = Object.keys(context.columns).filter((name) => name !== context.target);
  const first = h("select", { "aria-label": "Feature" }, option("", "Choose…"), names.map((name) => option(name)), option("all", "every feature of the model"));
  const second = h("select", { "aria-label": "Second feature, for a surface" }, option("", "alone"), names.map((name) => option(name, `together with ${name}`)));
  return {
    element: group(argument, h("div", { class: "row" }, first, second)),
    value: () => {
      if (!first.value) throw new Incomplete("Choose a feature.");
      return second.value && first.value !== "all" ? [[first.value, second.value]] : first.value;
    },
  };
}

// A number; where it may also be left out or found by the server, that is said by a word.
function numeric(argument) {
  const words = [argument.auto && "auto", argument.optional && NONE].filter(Boolean);
  const whole = argument.kind === "whole number";
  const bounds = [argument.low !== undefined && `at least ${argument.low}`, argument.high !== undefined && `at most ${argument.high.toLocaleString("en")}`].filter(Boolean).join(", ");
  const start = argument.default ?? (words.length ? NONE : "");
  const input = h("input", { type: "text", inputmode: whole ? "numeric" : "decimal", autocomplete: "off", value: typeof start === "number" ? String(start) : "", placeholder: bounds });
  const state = words.length ? h("select", { "aria-label": `${titled(argument.name)}: given or not` }, words.map((word) => option(word, word, word === start)), option("", "a number", typeof start === "number")) : null;
  const toggle = () => (input.hidden = Boolean(state?.value));
  state?.addEventListener("change", toggle);
  toggle();
  const element = row(argument, input);
  if (state) input.before(state);
  return {
    element,
    value: () => {
      if (state?.value === "auto") return "auto";
      if (state?.value === NONE) return argument.default === null || argument.default === undefined ? undefined : null;
      if (input.value.trim() === "") {
        if (!state && !argument.required) return undefined;
        throw new Incomplete(`Fill in ${titled(argument.name).toLowerCase()}.`);
      }
      const value = asNumber(input.value, titled(argument.name));
      if (whole && !Number.isInteger(value)) throw new Incomplete(`${titled(argument.name)} must be a whole number.`);
      if (value < argument.low || value > argument.high) throw new Incomplete(`${titled(argument.name)} must be ${bounds}.`);
      if (argument.kind === "positive number" && value <= 0) throw new Incomplete(`${titled(argument.name)} must be positive.`);
      if (argument.kind === "probability" && (value < 0 || value >= 1)) throw new Incomplete(`${titled(argument.name)} must be at least 0 and below 1.`);
      return value;
    },
  };
}

function flag(argument) {
  if (argument.optional) {
    const control = h("select", {}, option("", NONE), option("true", "yes"), option("false", "no"));
    return { element: row(argument, control), value: () => (control.value ? control.value === "true" : undefined) };
  }
  const id = newId("field");
  const help = newId("help");
  const input = h("input", { type: "checkbox", id, checked: Boolean(argument.default), "aria-describedby": help });
  const element = h("div", { class: "field" }, h("div", { class: "checks" }, h("label", { for: id }, input, titled(argument.name))), h("p", { class: "help", id: help }, marked(argument.help)));
  return { element, value: () => input.checked };
}

// Text that is typed and read by a function; empty is left out.
function typed(argument, placeholder, read, tag = "input") {
  const start = argument.default === null || argument.default === undefined || Array.isArray(argument.default) && !argument.default.length ? "" : String(argument.default);
  const control = h(tag, { autocomplete: "off", spellcheck: "false", placeholder, value: start, ...(tag === "input" ? { type: "text" } : { rows: "3" }) });
  return {
    element: row(argument, control),
    value: () => {
      if (control.value.trim() !== "") return read(control.value);
      if (argument.required) throw new Incomplete(`Fill in ${titled(argument.name).toLowerCase()}.`);
      return undefined;
    },
  };
}

function pairs(text, read) {
  return Object.fromEntries(text.split(/[\n;]+|,(?=[^=]*=)/).map((entry) => entry.trim()).filter(Boolean).map((entry) => {
    const at = entry.lastIndexOf("=");
    if (at < 0) throw new Incomplete("Write column=value for every column.");
    return [entry.slice(0, at).trim(), read(entry.slice(at + 1))];
  }));
}

function perColumn(argument) {
  return typed(argument, "20, or age=10; income=5", (text) => (text.includes("=") ? pairs(text, (part) => asNumber(part, argument.name)) : asNumber(text, titled(argument.name))));
}

function ends(text, name) {
  const found = text.split(/[,…]|\bto\b/).map((end) => asNumber(end, name));
  if (found.length !== 2 || found[0] >= found[1]) throw new Incomplete(`${titled(name)} must be a low and a higher end, as 0, 100.`);
  return found;
}

function interval(argument) {
  const field = typed(argument, argument.auto ? "low, high; or auto" : "low, high", (text) => (argument.auto && text.trim() === "auto" ? "auto" : ends(text, argument.name)));
  return field;
}

// A histogram that was released before, by its release.
function reference(argument, context) {
  const field = selection(argument, context.histograms.map((one) => one.id), Object.fromEntries(context.histograms.map((one) => [one.id, one.title])));
  let held;
  const control = field.element.querySelector("select");
  control.addEventListener("change", async () => {
    held = undefined;
    if (control.value) held = await context.load(control.value);
    control.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return {
    element: field.element,
    value: () => {
      if (field.value() && !held) throw new Incomplete("The histogram is being read.");
      return held;
    },
  };
}

// Groups: columns, or a condition that is true of some records.
function groups(argument, context) {
  const names = Object.entries(context.columns).filter(([, column]) => column.kind !== "number").map(([name]) => name);
  const boxes = checkboxes(names);
  const condition = h("input", { type: "text", "aria-label": "A condition instead", placeholder: "or a condition, as age >= 65", autocomplete: "off", spellcheck: "false" });
  return {
    element: group(argument, boxes.element, condition),
    value: () => {
      const found = boxes.read();
      if (condition.value.trim()) return condition.value.trim();
      return found.length ? found : undefined;
    },
  };
}

const KINDS = {
  column, columns, features, model, flag, interval,
  estimator: (argument, context) => model(argument, context, context.estimators), // also those that are yet to be fitted
  rows: (argument, context) => (argument.name === "reference" ? reference(argument, context) : records(argument, context, group)),
  table: (argument, context) => records(argument, context, group),
  choice: (argument) => selection(argument, argument.choices),
  "whole number": numeric,
  "positive number": numeric,
  probability: numeric,
  number: numeric,
  text: (argument) => typed(argument, "", (text) => text),
  texts: (argument) => typed(argument, "one on each line", list, "textarea"),
  values: (argument) => typed(argument, "separated by commas, as 0.25, 0.5, 0.75", (text) => list(text).map(readValue)),
  "number, or one per column": perColumn,
  "interval per column": (argument) => typed(argument, "income=0,100000; age=20,70", (text) => pairs(text.replace(/\s*,\s*(?=[-\d.])/g, "…"), (part) => ends(part, argument.name))),
  condition: (argument) => typed(argument, "age >= 65 and home == 'own'", (text) => text.trim()),
  "columns or condition": groups,
};

const BUDGET = new Set(["epsilon", "delta", "rho"]);

// Help texts are written for Python; what only a caller of functions can type is left out.
const spoken = (help) => help.replace(/as ``dc\.col\([^)]*\)[^`]*`` or ``"([^"]+)"``/, "as ``$1``").replace(/^[a-z]/, (first) => first.toUpperCase());

export function makeForm(plan, context) {
  const asked = plan.arguments.filter((argument) => !BUDGET.has(argument.name));
  const fields = [];
  const first = [];
  const more = [];
  for (const argument of asked) {
    const make = KINDS[argument.kind];
    if (!make || argument.choices?.length === 1) continue; // optional ones that cannot travel: functions, what other plans keep
    const field = make({ ...argument, help: spoken(argument.help) }, context);
    fields.push([argument, field]);
    (argument.required || argument.positional ? first : more).push(field.element);
  }
  const folded = more.length ? h("details", { class: "more" }, h("summary", {}, `More: ${more.length} optional ${more.length === 1 ? "argument" : "arguments"}`), more) : null;
  return {
    element: h("div", {}, first, folded),
    read() {
      const found = {};
      for (const [argument, field] of fields) {
        const value = field.value();
        if (value !== undefined && JSON.stringify(value) !== JSON.stringify(argument.default)) found[argument.name] = value;
      }
      return found;
    },
  };
}
