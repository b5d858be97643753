// For owners and auditors: the chain of every data set, certificates, the newest audit report.

import { get, part } from "./api.js";
import { card, h, note, quiet, table } from "./dom.js";
import { verification } from "./ledger.js";
import { kindOf, number, titled, when } from "./words.js";

const KINDS = {
  exact: "laws that were computed",
  sample: "lower bounds from samples",
  lattice: "impossible outputs",
  hunt: "certificates that were hunted",
  model: "models that were asked",
  attack: "attacks on releases",
};

function report(found) {
  if (!found) return quiet("No audit report is stored. The owner writes one in the folder of the project: ", h("code", {}, "discreet audit --out audit.json"), ".");
  const findings = found.findings ?? [];
  const held = findings.filter((one) => one.held).length;
  const rows = findings.map((one) => [one.check, KINDS[one.kind] ?? one.kind, h("span", { class: `state ${one.held ? "done" : "failed"}` }, one.held ? "held" : "VIOLATED"), `${number(one.promised, 4)} ${one.unit}`, number(one.found, 4), one.said]);
  return [
    note(held === findings.length ? "good" : "bad", h("p", {}, `${held} of ${findings.length} checks held${found.created ? `, ${when(found.created)}` : ""}.`)),
    table("Audit report", ["Check", "What", "Result", "Promised", "Found", "In words"], rows, "The report lists no check."),
  ];
}

export async function show(me) {
  const datasets = await get("/datasets");
  const [found, ...releases] = await Promise.all([
    get("/audit").catch((error) => { if (error.status === 404) return null; throw error; }),
    // Of one whose ledger cannot be opened there are none to show; its card says why when it is verified.
    ...datasets.map((one) => get(`/datasets/${part(one.dataset)}/releases`).catch((error) => { if (one.reason) return []; throw error; })),
  ]);
  const rows = releases.flat().map((one) => [
    h("a", { href: `#/d/${part(one.dataset)}/releases/${part(one.id)}` }, one.title), one.dataset, titled(kindOf(one.plan)),
    `${number(one.epsilon, 4)}${one.delta ? `, delta ${number(one.delta)}` : ""}`, one.certified ? "certified" : "NOT certified", one.grade, one.analyst ?? "owner", when(one.created),
  ]);
  return {
    title: "Audit",
    body: [h("h1", {}, "Audit"),
      h("div", { class: "columns even" }, datasets.map((one) => card(`Chain of ${one.dataset}`, quiet("Each entry's digest covers all entries before it, so that an edit shows. ", h("a", { href: `#/d/${part(one.dataset)}/ledger` }, "All entries")), verification(one.dataset)))),
      card("Certificates", quiet(me.role === "auditor" ? "What was proven of every release; answers are not shown to auditors." : "What was proven of every release."), table("Certificates", ["Release", "Data set", "Question", "Epsilon", "Certificate", "Grade", "Paid by", "Created"], rows, "Nothing was released yet.")),
      card("Audit report", report(found))],
  };
}
