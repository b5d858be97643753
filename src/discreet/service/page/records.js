// Public rows: filled in one by one from the schema, pasted, or read from a file.

import { cells, h, newId } from "./dom.js";
import { Incomplete, asNumber } from "./form.js";
import { titled } from "./words.js";

function cell(name, column) {
  const id = newId("cell");
  if (column.kind === "category" || column.kind === "boolean") {
    const values = column.values ?? [false, true];
    const control = h("select", { id }, values.map((value, place) => h("option", { value: String(place) }, String(value))));
    return { name, id, control, read: () => values[Number(control.value)] };
  }
  const number = column.kind === "number";
  const middle = number ? (column.low + column.high) / 2 : "";
  const start = number && column.step ? column.low + Math.round((middle - column.low) / column.step) * column.step : middle;
  const control = h("input", { id, type: "text", inputmode: number ? "decimal" : "text", value: String(start), autocomplete: "off" });
  return { name, id, control, read: () => (number ? asNumber(control.value, name) : control.value.trim()) };
}

// Comma separated values with quotes, the first line naming the columns.
export function readTable(text) {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed)) {
    try {
      const found = JSON.parse(trimmed);
      return Array.isArray(found) ? found : [found];
    } catch {
      throw new Incomplete("The records are not valid JSON.");
    }
  }
  const lines = text.replace(/^\s*\n|\s+$/g, "").split(/\r?\n/).map((line) => cells(line, ",;\t"));
  const [head, ...rest] = lines;
  if (!rest.length) throw new Incomplete("The first line must name the columns, and records must follow.");
  const value = (text) => (text === "" ? null : Number.isFinite(Number(text)) ? Number(text) : text);
  return rest.map((line) => Object.fromEntries(head.map((name, place) => [name, value(line[place] ?? "")]).filter(([name]) => name)));
}

export function records(argument, context, group) {
  const names = Object.keys(context.columns).filter((name) => argument.kind === "table" || name !== context.target);
  const one = names.map((name) => cell(name, context.columns[name]));
  const fill = h("div", { class: "record" }, one.map((entry) => h("div", {}, h("label", { for: entry.id }, entry.name), entry.control)));
  const pasted = h("textarea", { rows: "5", spellcheck: "false", "aria-label": `${titled(argument.name)}: records as CSV or JSON`, placeholder: `${names.slice(0, 3).join(",")},…\n…` });
  const file = h("input", { type: "file", accept: ".csv,.json,text/csv,application/json", "aria-label": `${titled(argument.name)}: a file of records` });
  file.addEventListener("change", async () => {
    if (file.files[0]) pasted.value = await file.files[0].text();
    pasted.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const paste = h("div", { hidden: true }, pasted, file);
  const start = argument.optional ? "none" : argument.kind === "table" ? "paste" : "fill";
  const how = h("select", { "aria-label": `${titled(argument.name)}: how to give it` },
    argument.optional ? h("option", { value: "none" }, "left out") : null,
    h("option", { value: "fill" }, "one record, filled in"),
    h("option", { value: "paste" }, "records, pasted or from a file"));
  how.value = start;
  const toggle = () => {
    fill.hidden = how.value !== "fill";
    paste.hidden = how.value !== "paste";
  };
  how.addEventListener("change", toggle);
  toggle();
  return {
    element: group(argument, how, fill, paste),
    value: () => {
      if (how.value === "none") return undefined;
      if (how.value === "fill") return [Object.fromEntries(one.map((entry) => [entry.name, entry.read()]))];
      if (!pasted.value.trim()) throw new Incomplete(`Give the records of ${titled(argument.name).toLowerCase()}.`);
      return readTable(pasted.value);
    },
  };
}
