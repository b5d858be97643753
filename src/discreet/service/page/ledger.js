// The budget of a data set, where it went, who has how much of it; the entries of its ledger.

import { explain, show } from "./app.js";
import { get, once, part, send } from "./api.js";
import { gauges, place } from "./datasets.js";
import { bars, button, card, fill, h, newId, note, quiet, say, table } from "./dom.js";
import { asNumber } from "./form.js";
import { amount, lossOf, number, titled, unitOf, when } from "./words.js";

export function verification(dataset) {
  const said = h("div", { "aria-live": "polite" });
  const verify = button("Verify the ledger", async () => {
    verify.disabled = true;
    try {
      const found = await get(`/datasets/${part(dataset)}/verification`);
      fill(said, found.ok
        ? note("good", h("p", {}, `The chain holds over all ${found.entries} entries.`))
        : note("bad", h("p", {}, `The chain does not hold (${found.entries} entries).`), h("ul", {}, found.problems.map((text) => h("li", {}, text)))));
    } catch (error) {
      fill(said, explain(error));
    } finally {
      verify.disabled = false;
    }
  });
  return [h("p", {}, verify), said];
}

export async function entries(me, dataset) {
  const [all, described] = await Promise.all([get(`/datasets/${part(dataset)}/history`), once(`/datasets/${part(dataset)}`).catch(() => ({}))]); // its table may be gone
  const asked = (note) => (note?.plan?.kind ? titled(note.plan.kind) : note?.reason ?? "");
  const stored = (one) => (one.kind === "reserve" ? h("a", { href: `#/d/${part(dataset)}/releases/${part(one.id)}` }, "stored") : "stored");
  const answer = (one) => (one.settled === null ? "" : one.settled ? stored(one) : "none stored");
  const rows = all.toReversed().map((one) => [
    one.sequence, when(one.time), one.kind, one.analyst ?? "", number(lossOf(one), 6), Number(one.delta) ? number(one.delta) : "",
    asked(one.note), answer(one), h("code", { title: one.digest }, String(one.digest).slice(0, 12)),
  ]);
  return {
    title: `Ledger of ${dataset}`,
    body: [place(me, dataset, "/ledger"),
      card("Ledger", quiet(me.role === "analyst" ? "Your own entries, and those that changed the terms; newest first." : "Every entry, newest first. Each digest covers all entries before it."),
        me.role === "analyst" ? null : verification(dataset),
        table("Ledger", ["Entry", "Time", "Kind", "Analyst", { zcdp: "Rho", basic: "Epsilon" }[described.accountant] ?? "Loss", "Delta", "About", "Answer", "Digest"], rows))],
  };
}

// A small form that sends something to the server and shows the view again.
function sender(title, fields, text, work) {
  const said = h("div", { "aria-live": "polite" });
  const inputs = Object.fromEntries(fields.map(([name, label, attributes]) => [name, h("input", { type: "text", id: newId(name), autocomplete: "off", ...attributes })]));
  const form = h("form", { class: "small-form", "aria-label": title,
    onsubmit: async (event) => {
      event.preventDefault();
      if (!form.reportValidity()) return;
      try {
        await work(Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()])));
        say(`${title}: done`);
        show();
      } catch (error) {
        fill(said, explain(error));
      }
    } },
    h("h3", {}, title),
    h("div", { class: "row fields" }, fields.map(([name, label]) => h("div", {}, h("label", { for: inputs[name].id }, label), inputs[name])), h("button", { type: "submit" }, text)),
    said);
  return form;
}

const decimal = { inputmode: "decimal" };

function allot(dataset, unit) {
  return sender("Allot", [["analyst", "Analyst", { required: true }], ["epsilon", titled(unit), { ...decimal, required: true }], ["delta", "Delta", { ...decimal, value: "0" }]], "Allot", (given) =>
    send("PUT", `/datasets/${part(dataset)}/allotments/${part(given.analyst)}`, { epsilon: asNumber(given.epsilon, titled(unit)), delta: asNumber(given.delta || "0", "Delta") }));
}

function terms(dataset, unit) {
  return sender("Change the whole budget", [["reason", "Reason", { required: true }], ["epsilon", titled(unit), decimal], ["delta", "Delta", decimal]], "Change", (given) =>
    send("PUT", `/datasets/${part(dataset)}/terms`, { reason: given.reason, ...(given.epsilon ? { epsilon: asNumber(given.epsilon, titled(unit)) } : {}), ...(given.delta ? { delta: asNumber(given.delta, "Delta") } : {}) }));
}

export async function budget(me, dataset) {
  const found = await get(`/datasets/${part(dataset)}/budget`);
  const shares = found.shares ?? [];
  const went = (found.spent_on ?? []).map((one) => ({ name: `${titled(one.plan)}${one.times > 1 ? `, ${one.times} times` : ""}`, amount: lossOf(one.spent), told: number(lossOf(one.spent), 4) }));
  const given = (one) => (one.budget ? amount(one.budget) : "no allotment");
  return {
    title: `Budget of ${dataset}`,
    body: [place(me, dataset, "/budget"),
      h("div", { class: "columns" },
        card("What is left", gauges(found), quiet(`Spent: ${amount(found.spent)}.`)),
        card("Where it went", went.length ? bars(went.sort((a, b) => b.amount - a.amount), unitOf(found.spent)) : quiet("Nothing was spent yet."))),
      me.role === "analyst" ? null : card("Allotments",
        table("Allotments", ["Analyst", "Allotment", "Spent", "Left"], shares.map((one) => [one.analyst, given(one), amount(one.spent), one.remaining ? amount(one.remaining) : ""]), "Nobody has an allotment: every analyst may spend what is left of the whole."),
        me.role === "owner" ? [quiet("An allotment is the most that an analyst may spend of the whole, all time; setting it again replaces it. Once anybody has one, analysts without one may not ask."), allot(dataset, found.unit ?? "epsilon"), terms(dataset, found.unit ?? "epsilon")] : null)],
  };
}
