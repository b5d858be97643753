// Data sets with their budgets, and what is public about one of them.

import { get, once, part } from "./api.js";
import { card, gauge, h, note, table } from "./dom.js";
import { lossOf, number, unitOf, when } from "./words.js";

// The links of one data set, and its name above them.
export function place(me, dataset, at) {
  const asks = me.role !== "auditor";
  const all = [
    ["", "About", true],
    ["/ask", "Ask", asks],
    ["/releases", "Releases", true],
    ["/ledger", "Ledger", true],
    ["/budget", "Budget", true],
  ];
  return [
    h("h1", { class: "where" }, dataset),
    h("nav", { class: "tabs", "aria-label": `Data set ${dataset}` },
      all.filter(([, , may]) => may).map(([path, name]) => h("a", { href: `#/d/${part(dataset)}${path}`, "aria-current": path === at ? "page" : undefined }, name))),
  ];
}

export function left(label, whole, remaining) {
  const of = lossOf(whole);
  const slack = Number(whole.delta ?? 0) ? h("p", { class: "quiet small slack" }, `delta ${number(remaining.delta)} of ${number(whole.delta)} left`) : null;
  const text = `${unitOf(whole)} ${number(lossOf(remaining), 4)} of ${number(of, 4)} left`;
  return [gauge(label, of ? lossOf(remaining) / of : 0, text), slack];
}

export function gauges(budget, mine = "Yours") {
  return [
    left(budget.population ? `Whole, of population ${budget.population}` : "Whole", budget.budget, budget.remaining),
    budget.yours && left(mine, budget.yours.budget, budget.yours.remaining),
  ];
}

// A data set that cannot be opened now: what was released of it, and entered, can still be read.
function closed(one) {
  const path = `#/d/${part(one.dataset)}`;
  return h("article", { class: "card tile" }, h("h2", {}, one.dataset),
    note("bad", h("p", {}, `It cannot be asked now: ${one.reason}`)),
    h("p", { class: "row" }, h("a", { href: `${path}/releases`, "aria-label": `Releases of ${one.dataset}` }, "Releases"), h("a", { href: `${path}/ledger`, "aria-label": `Ledger of ${one.dataset}` }, "Ledger")));
}

function tile(me, one) {
  if (one.reason) return closed(one);
  const path = `#/d/${part(one.dataset)}`;
  const rows = one.rows === null || one.rows === undefined ? "number of records private" : `${Number(one.rows).toLocaleString("en")} records`;
  const models = one.models.length ? `, ${one.models.length} model${one.models.length > 1 ? "s" : ""}` : "";
  return h(
    "article",
    { class: "card tile" },
    h("h2", {}, h("a", { href: path }, one.dataset)),
    h("p", { class: "quiet" }, `${rows}, ${one.columns} columns${models}`),
    gauges(one),
    me.role !== "auditor" && h("p", { class: "row" }, h("a", { class: "button", href: `${path}/ask`, "aria-label": `Ask a question of ${one.dataset}` }, "Ask a question"), h("a", { href: `${path}/releases`, "aria-label": `Releases of ${one.dataset}` }, "Releases")),
  );
}

export async function list(me) {
  const all = await get("/datasets");
  return {
    title: "Data sets",
    body: [
      h("h1", {}, "Data sets"),
      all.length ? h("div", { class: "tiles" }, all.map((one) => tile(me, one))) : note("calm", h("p", {}, me.role === "owner" ? "No data set is served yet. Register one with discreet protect in the folder of the project." : "This key may see no data set. Ask the owner for one that does.")),
    ],
  };
}

function told(column) {
  const range = column.low !== undefined && column.high !== undefined ? `${shown(column.low)} to ${shown(column.high)}` : "";
  const step = column.step ? `in steps of ${shown(column.step)}` : "";
  const values = column.values ? brief(column.values) : "";
  const absent = column.missing ? "may be missing" : "";
  return [range, step, values, absent].filter(Boolean).join(", ");
}

const shown = (value) => (typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 8 }) : String(value));

const brief = (values) => (values.length > 12 ? `${values.slice(0, 12).map(String).join(", ")} and ${values.length - 12} more` : values.map(String).join(", "));

const RELATIONS = {
  "replace-one": "replace-one: their number is public, and one record may be any other",
  "add-remove": "add-remove: even their number is private",
};

export async function one(me, dataset) {
  const [described, budget, models] = await Promise.all([
    once(`/datasets/${part(dataset)}`),
    get(`/datasets/${part(dataset)}/budget`),
    once("/models").catch(() => []),
  ]);
  const columns = Object.entries(described.schema.columns);
  const own = models.filter((model) => !model.datasets || model.datasets.includes(dataset));
  const facts = [
    ["Version", described.version],
    ["Records", described.rows === null ? "private" : Number(described.rows).toLocaleString("en")],
    ["Neighbours", RELATIONS[described.relation] ?? described.relation],
    ["Accountant", described.accountant],
    described.schema.target && ["Target", described.schema.target],
    described.schema.person && ["Person", typeof described.schema.person === "string" ? described.schema.person : described.schema.person.column ?? ""],
  ].filter(Boolean);
  return {
    title: dataset,
    body: [
      place(me, dataset, ""),
      h("div", { class: "columns" },
        card("Budget", gauges(budget), me.role !== "auditor" && h("p", {}, h("a", { class: "button", href: `#/d/${part(dataset)}/ask` }, "Ask a question"))),
        card("What is public", h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])))),
      card("Columns", table(`Columns of ${dataset}`, ["Column", "Kind", "Values"], columns.map(([name, column]) => [name, column.kind, told(column)]))),
      card("Models", table("Models that may be asked about", ["Name", "Kind", "Output", "Bounds", "Fingerprint"],
        own.map((model) => [model.name, model.reason ? `cannot be asked: ${model.reason}` : model.kind ?? "", model.output ?? "", model.bounds ? model.bounds.map((end) => number(end)).join(" to ") : "", h("code", {}, String(model.fingerprint ?? "").slice(0, 16))]),
        "No model is served for this data set; questions about the table itself need none.")),
      h("p", { class: "quiet small" }, `Signed by the ledger, ${when(described.created)}.`),
    ],
  };
}
