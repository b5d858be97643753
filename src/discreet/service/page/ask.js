// Choose a question, fill in its form, see the price while the slider moves, release.

import { explain } from "./app.js";
import { get, once, part } from "./api.js";
import { place } from "./datasets.js";
import { card, fill, h, marked, note, quiet, say } from "./dom.js";
import { Incomplete, makeForm } from "./form.js";
import { pricing } from "./price.js";
import { follow } from "./jobs.js";
import { shown } from "./answer.js";
import { kindOf, spaced, titled } from "./words.js";

const ROOMS = {
  statistics: "Statistics of the table",
  tables: "Counts, distributions and synthetic records",
  select: "The best of several, order statistics",
  explain: "Explain a model",
  evaluation: "Judge a model",
  fitting: "Train a private model",
  additive: "Train a private model",
  trees: "Train a private model",
  value: "What records are worth",
};

const roomOf = (plan) => ROOMS[plan.room] ?? (plan.room ? titled(plan.room) : "Questions");

function tile(dataset, plan) {
  const name = h("strong", {}, titled(plan.name));
  const text = h("span", { class: "quiet" }, marked(plan.summary));
  const inner = plan.travels
    ? h("a", { class: "plan", href: `#/d/${part(dataset)}/ask/${plan.name}` }, name, text)
    : h("div", { class: "plan away" }, name, text, h("span", { class: "why" }, `Not from here: ${plan.why}.`));
  return h("li", { "data-words": `${plan.name} ${spaced(plan.name)} ${plan.summary} ${roomOf(plan)}`.toLowerCase() }, inner);
}

export async function pick(me, dataset) {
  const plans = Object.values(await once("/plans"));
  const rooms = new Map([...new Set(Object.values(ROOMS))].map((name) => [name, []]));
  for (const plan of plans) rooms.set(roomOf(plan), [...(rooms.get(roomOf(plan)) ?? []), plan]);
  const sections = [...rooms].filter(([, own]) => own.length).map(([name, own]) =>
    h("section", {}, h("h2", {}, name), h("ul", { class: "plans" }, own.sort((a, b) => b.travels - a.travels).map((plan) => tile(dataset, plan)))));
  const count = h("p", { class: "quiet", role: "status" }, `${plans.length} questions`);
  const search = h("input", { type: "search", id: "search", placeholder: "mean, histogram, SHAP, forest…", autocomplete: "off" });
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const section of sections) {
      let any = false;
      for (const entry of section.querySelectorAll("li")) {
        entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
        any ||= !entry.hidden;
        found += !entry.hidden;
      }
      section.hidden = !any;
    }
    count.textContent = `${found} ${found === 1 ? "question" : "questions"}`;
  });
  return {
    title: `Ask ${dataset}`,
    body: [place(me, dataset, "/ask"), h("div", { class: "search" }, h("label", { for: "search" }, "What do you want to know?"), search, count), sections],
  };
}

// Questions of this visit that are answered: asked again, they are free.
const answered = new Set();

// One key for one question: whoever sends it again gets the same answer, and pays once.
const keys = new Map();

// Ended before anything was paid: asked again, it is another question. What else went wrong may have been paid.
const UNPAID = new Set(["argument", "budget-exhausted", "cancelled", "ledger-conflict", "under-way"]);

function keyOf(question) {
  const text = JSON.stringify(question);
  if (!keys.has(text)) keys.set(text, [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  return { key: keys.get(text), forget: () => keys.delete(text) };
}

export async function compose(me, dataset, name) {
  const [plans, described, models, budget, datasets] = await Promise.all([
    once("/plans"), once(`/datasets/${part(dataset)}`), once("/models").catch(() => []), get(`/datasets/${part(dataset)}/budget`), once("/datasets"),
  ]);
  const plan = plans[name];
  const head = [place(me, dataset, "/ask"), h("p", {}, h("a", { href: `#/d/${part(dataset)}/ask` }, "← All questions"))];
  if (!plan?.travels) {
    return { title: titled(name), body: [head, note("bad", h("p", {}, plan ? `${titled(name)} cannot be asked from here: ${plan.why}.` : `There is no question called ${name}.`))] };
  }
  const past = plan?.arguments.some((one) => one.name === "reference") ? await get(`/datasets/${part(dataset)}/releases`) : [];
  const context = {
    histograms: past.filter((one) => kindOf(one.plan) === "histogram"),
    load: (id) => get(`/datasets/${part(dataset)}/releases/${part(id)}`),
    columns: described.schema.columns, target: described.schema.target, models: models.filter((model) => !model.reason).filter((model) => !model.datasets?.length || model.datasets.includes(dataset)).map((model) => model.name),
    estimators: datasets.find((one) => one.dataset === dataset)?.models ?? [] };
  const form = makeForm(plan, context);
  const fresh = h("input", { type: "checkbox", id: "fresh" });
  const said = h("div", { class: "said", "aria-live": "polite" });
  const result = h("div", { id: "result", tabindex: "-1", "aria-live": "polite" });
  const question = (promise) => ({ plans: [{ plan: name, arguments: { ...form.read(), ...promise } }] });
  const known = (asked) => !fresh.checked && answered.has(JSON.stringify([dataset, asked]));
  const price = pricing({ plan, dataset, budget, accountant: described.accountant, question, known });
  const ask = h("button", { type: "submit", class: "wide" }, "Release");

  async function release(event) {
    event.preventDefault();
    let body;
    try {
      body = { ...question(price.promise()), fresh: fresh.checked };
    } catch (error) {
      if (!(error instanceof Incomplete)) throw error;
      fill(said, note("bad", h("p", {}, error.message)));
      return;
    }
    const { key, forget } = keyOf([dataset, body]);
    ask.disabled = true;
    try {
      const found = await follow(dataset, body, key, said);
      if (!found || body.fresh) forget();
      if (!found) return;
      const { fresh: _, ...asked } = body;
      const releases = known(asked) ? found.map((one) => ({ ...one, charged: { loss: "0" } })) : found;
      if (asked.plans[0].arguments.protects !== "query") answered.add(JSON.stringify([dataset, asked]));
      fill(said);
      fill(result, releases.map((one) => shown(me, dataset, one, { link: true })));
      say(`Released: ${releases.length === 1 ? "the answer is below" : `${releases.length} answers are below`}.`);
      result.focus({ preventScroll: true });
      result.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    } catch (error) {
      if (UNPAID.has(error.code)) forget();
      fill(said, error.code === "budget-exhausted" ? await price.exhausted(error) : explain(error));
    } finally {
      ask.disabled = false;
      price.refresh();
    }
  }

  const body = h("form", { class: "compose", onsubmit: release, novalidate: true },
    h("div", { class: "question" }, card(null, h("h2", { "data-plan": name }, titled(name)), quiet(marked(plan.summary)), form.element)),
    h("aside", { class: "price", "aria-label": "Price" },
      h("section", { class: "card" },
        price.element,
        ask,
        said,
        h("details", { class: "more" }, h("summary", {}, "If it was asked before"),
          h("p", { class: "help" }, "An answer that was released to all is given again, free of charge."),
          h("div", { class: "checks" }, h("label", { for: "fresh" }, fresh, "Draw a fresh answer, and pay again"))))));
  body.addEventListener("input", () => price.soon());
  body.addEventListener("change", () => price.soon());
  price.soon(0);
  return { title: `${titled(name)} of ${dataset}`, body: [head, body, result] };
}

