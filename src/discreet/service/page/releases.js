// Releases of a data set: the list, one of them, two beside each other.

import { get, part } from "./api.js";
import { certificate, picture, shown, titleOf, words } from "./answer.js";
import { place } from "./datasets.js";
import { button, h, quiet, table } from "./dom.js";
import { kindOf, number, titled, when } from "./words.js";

const pathOf = (dataset, id = "") => `/datasets/${part(dataset)}/releases${id && `/${part(id)}`}`;

export async function list(me, dataset) {
  const all = await get(pathOf(dataset));
  const chosen = new Set();
  const compare = button("Compare two", () => {
    location.hash = `#/d/${part(dataset)}/compare/${[...chosen].map(part).join("/")}`;
  }, { disabled: true });
  const tick = (one) => h("input", {
    type: "checkbox",
    "aria-label": `Compare ${one.title}`,
    onchange: (event) => {
      event.target.checked ? chosen.add(one.id) : chosen.delete(one.id);
      compare.disabled = chosen.size !== 2;
      compare.textContent = chosen.size === 2 ? "Compare these two" : "Compare two";
    },
  });
  const rows = all.map((one) => [
    h("a", { href: `#/d/${part(dataset)}/releases/${part(one.id)}` }, one.title),
    titled(kindOf(one.plan)),
    `${number(one.epsilon, 4)}${one.delta ? `, delta ${number(one.delta)}` : ""}`,
    when(one.created),
    one.analyst ?? "owner",
    one.public ? "everybody" : "the asker",
    one.grade,
    tick(one),
  ]);
  const head = ["Release", "Question", "Epsilon", "Created", "Paid by", "For", "Grade", "Compare"];
  return {
    title: `Releases of ${dataset}`,
    body: [place(me, dataset, "/releases"),
      h("section", { class: "card" }, h("div", { class: "row spread" }, h("h2", {}, "Releases"), all.length > 1 ? compare : null),
        quiet("Answers that were released stay free to read."),
        table("Releases", head, rows, "Nothing was released yet."))],
  };
}

export async function one(me, dataset, id) {
  const release = await get(pathOf(dataset, id));
  return {
    title: titleOf(release),
    body: [place(me, dataset, "/releases"), h("p", {}, h("a", { href: `#/d/${part(dataset)}/releases` }, "← All releases")), shown(me, dataset, release)],
  };
}

function side(me, dataset, release) {
  return h("article", { class: "card release" },
    h("h2", {}, h("a", { href: `#/d/${part(dataset)}/releases/${part(release.id)}` }, titleOf(release))),
    me.role !== "auditor" && release.value !== undefined ? picture(dataset, release) : null,
    words(release.guarantee),
    h("details", { class: "more" }, h("summary", {}, "Certificate"), certificate(me, release)));
}

function told(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return number(value, 6);
  if (value.fingerprint) return `${value.kind} ${value.fingerprint.slice(0, 16)}`;
  const plain = Array.isArray(value) && value.every((one) => typeof one !== "object");
  const text = plain ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

export async function compare(me, dataset, first, second) {
  const both = await Promise.all([first, second].map((id) => get(pathOf(dataset, id))));
  const facts = both.map((release) => ({
    question: titled(release.plan.kind),
    ...Object.fromEntries(Object.entries(release.plan.arguments ?? {}).map(([name, value]) => [name, told(value)])),
    epsilon: number(release.guarantee.epsilon, 4),
    delta: number(release.guarantee.delta),
    "noise, standard deviation": (release.stages ?? []).map((stage) => number(stage.noise_std)).join(", "),
    "half the width of the band": release.value?.half_width === undefined ? "" : told(release.value.half_width),
    version: release.version,
    created: when(release.created),
  }));
  const names = [...new Set(facts.flatMap(Object.keys))].filter((name) => facts.some((one) => one[name]));
  const differs = (name) => (facts[0][name] ?? "") !== (facts[1][name] ?? "");
  const rows = names.sort((a, b) => differs(b) - differs(a)).map((name) => [titled(name), facts[0][name] ?? "", facts[1][name] ?? "", differs(name) ? "differs" : ""]);
  return {
    title: "Two releases",
    body: [place(me, dataset, "/releases"), h("p", {}, h("a", { href: `#/d/${part(dataset)}/releases` }, "← All releases")),
      h("div", { class: "columns even" }, both.map((release) => side(me, dataset, release))),
      h("section", { class: "card" }, h("h2", {}, "Beside each other"), table("Two releases", ["", "First", "Second", ""], rows))],
  };
}
