// The slider: what an epsilon costs and how far off the answer will be, told before paying.

import { part, send } from "./api.js";
import { button, fill, h, newId, note, svg } from "./dom.js";
import { Incomplete, asNumber } from "./form.js";
import { amount, expectation, lossOf, number, percent, sentences, unitOf } from "./words.js";

const STEPS = 1000;
const WAIT = 220;

function tidy(value) {
  return Number(value.toPrecision(value < 0.1 ? 2 : 3));
}

// A picture of the band beside the size of the answer; the line is only there to carry it.
function band(relative, share) {
  const tall = 88; // half of the size fills the picture
  const half = Math.min(relative * tall, 44);
  const middle = (x) => 50 - 16 * Math.sin(x / 52) - (x - 160) / 18;
  const points = Array.from({ length: 33 }, (_, place) => place * 10);
  const along = (shift) => points.map((x) => `${x},${(middle(x) + shift).toFixed(1)}`);
  const told = `Band of ± ${percent(relative)} of the size of the answer; usable is ± ${percent(share)}.`;
  return svg("svg", { viewBox: "0 0 320 100", class: `band ${relative <= share ? "fine" : "wide-band"}`, role: "img", "aria-label": told },
    svg("polygon", { points: [...along(-half), ...along(half).reverse()].join(" "), class: "band-area" }),
    svg("polyline", { points: along(-tall * share).join(" "), class: "band-limit" }),
    svg("polyline", { points: along(tall * share).join(" "), class: "band-limit" }),
    svg("polyline", { points: along(0).join(" "), class: "band-line" }));
}

export function pricing({ plan, dataset, budget, accountant, question, known }) {
  const unit = accountant === "zcdp" && plan.arguments.some((one) => one.name === "rho") ? "rho" : "epsilon";
  const has = plan.arguments.some((one) => one.name === "delta") && unit === "epsilon";
  const mine = budget.yours ?? budget;
  const high = Math.max(lossOf(mine.budget), lossOf(mine.remaining), 0.01);
  const low = Math.min(0.001, high / 100);
  const toLoss = (place) => low * (high / low) ** (place / STEPS);
  const toPlace = (loss) => Math.round((STEPS * Math.log(Math.min(Math.max(loss, low), high) / low)) / Math.log(high / low));

  const left = lossOf(mine.remaining);
  const start = tidy(Math.min(Math.max((left || high) / 10, low), high));
  const slider = h("input", { type: "range", min: "0", max: String(STEPS), value: String(toPlace(start)), id: newId("slider"), "aria-describedby": "price-told" });
  const exact = h("input", { type: "text", inputmode: "decimal", value: String(start), class: "short", "aria-label": `${unit} as a number`, autocomplete: "off" });
  const delta = has ? h("input", { type: "text", inputmode: "decimal", value: "0", class: "short", id: newId("delta"), autocomplete: "off" }) : null;
  const marks = h("div", { class: "marks", "aria-hidden": "true" });
  const guess = h("input", { type: "text", inputmode: "numeric", value: "10000", class: "short", id: newId("guess") });
  const guessRow = h("p", { class: "row", hidden: true }, h("label", { for: guess.id }, "If there are about so many records"), guess);
  const told = h("div", { id: "price-told", class: "told" });

  const speak = () => slider.setAttribute("aria-valuetext", `${unit} ${exact.value}`);
  slider.addEventListener("input", () => {
    exact.value = String(tidy(toLoss(Number(slider.value))));
    speak();
  });
  exact.addEventListener("input", () => {
    const value = Number(exact.value.replace(",", "."));
    if (value > 0) slider.value = String(toPlace(value));
    speak();
  });
  speak();

  function set(loss) {
    exact.value = String(loss);
    slider.value = String(toPlace(loss));
    speak();
    soon(0);
  }

  function promise() {
    const loss = asNumber(exact.value, unit);
    if (loss <= 0) throw new Incomplete(`${unit} must be positive.`);
    const slack = delta ? asNumber(delta.value, "delta") : 0;
    if (slack < 0 || slack >= 1) throw new Incomplete("delta must be at least 0 and below 1.");
    return { [unit]: loss, ...(slack ? { delta: slack } : {}) };
  }

  function mark(usable, remaining) {
    const at = (loss, text, kind) => h("span", { class: `mark ${kind}`, css: { left: `${toPlace(loss) / (STEPS / 100)}%` } }, text);
    const crowded = usable && Math.abs(toPlace(usable) - toPlace(remaining)) < STEPS / 6;
    // Two that are near stand one below the other, left of their lines, so that no line crosses a word.
    const kind = (name, last) => `${name}${crowded && last ? " lower" : ""}${crowded && toPlace(Math.min(usable, remaining)) > STEPS / 6 ? " before" : ""}`;
    fill(marks,
      usable && usable > low && usable < high ? at(usable, "usable", kind("fine", usable > remaining)) : null,
      remaining > low && remaining < high ? at(remaining, "left", kind("end", usable <= remaining)) : null);
  }

  function size(found) {
    const rows = found.private_rows ? Math.max(Number(guess.value.replaceAll(",", "")) || 1, 1) : 1;
    if (!found.size) return null;
    return found.private_rows === "divide error" ? found.error / rows / found.size + found.bias / found.size : found.error / rows / found.size;
  }

  function usableText(usable, line) {
    const aim = percent(usable.share);
    if (usable.epsilon === null || usable.epsilon === undefined) return usable.rows ? `An error of ${aim} needs more records, from ${number(usable.rows)} on.` : null;
    const over = usable.epsilon_over_private_rows ? " / n" : "";
    const rows = usable.rows ? `, or from ${Number(usable.rows).toLocaleString("en")} ${usable.rows === 1 ? "record" : "records"} on` : "";
    const rho = line.cost.rho !== undefined ? "rho" : "epsilon";
    return `An error of ${aim} from ${rho} ${number(usable.epsilon)}${over} on${rows}.`;
  }

  function explained(line, free) {
    const errors = Object.entries(line.expected_error);
    guessRow.hidden = !errors.some(([, found]) => found.private_rows);
    const widest = Math.max(0, ...errors.map(([, found]) => size(found)).filter((value) => value !== null));
    const usable = line.usable ?? {};
    return [
      errors.length ? band(widest, usable.share ?? 0.05) : null,
      h("ul", { class: "errors" }, errors.map(([name, found]) => {
        const said = expectation(name, found);
        return h("li", {}, h("strong", {}, `${said.name} ${said.error}`), h("span", { class: "quiet" }, ` ${said.measure}, ${said.share}${said.bias ? `; ${number(said.bias)} of it by clipping` : ""}`));
      })),
      usableText(usable, line) && h("p", { class: "usable" }, usableText(usable, line)),
      line.waiting && !free && h("p", { class: "quiet" }, "It may take a while: the model is asked about every record."),
      line.reasons.map((text) => h("p", { class: "quiet" }, text)),
    ];
  }

  // Where epsilon would do and delta does not.
  const slackOnly = (cost, remaining) => lossOf(cost) <= lossOf(remaining) && Number(cost.delta ?? 0) > Number(remaining.delta ?? 0);
  const mostSlack = (remaining) => h("p", {}, Number(remaining.delta ?? 0) ? `The delta that is left is ${number(remaining.delta)}.` : "No delta is left: set it to 0.");

  function most(cost, remaining) {
    const most = lossOf(remaining);
    if (slackOnly(cost, remaining)) return mostSlack(remaining);
    if (most <= 0) return h("p", {}, "Nothing is left. Answers that were released stay free to read; the owner can grant more.");
    return h("p", {}, `The most that fits is ${unitOf(remaining)} ${number(most, 4)}. `, button(`Use ${number(most, 4)}`, () => set(most), { class: "plain" }));
  }

  function draw(price, free) {
    const cost = lossOf(price.cost);
    const after = Math.max(0, lossOf(price.remaining) - cost);
    const line = price.plans[0];
    mark(line.usable?.epsilon_over_private_rows ? null : line.usable?.epsilon, lossOf(price.remaining));
    fill(told,
      h("dl", { class: "facts" },
        h("dt", {}, "Costs"), h("dd", { class: "cost" }, free ? "nothing" : amount(price.cost)),
        h("dt", {}, "Leaves"), h("dd", {}, free ? amount(price.remaining) : price.affordable ? `${unitOf(price.remaining)} ${number(after, 4)} of ${number(lossOf(price.remaining), 4)}` : `not enough: ${amount(price.remaining)} is left`)),
      free ? note("calm", h("p", {}, "You have asked this already: asking again gives the same answer, free.")) : null,
      price.affordable || free ? null : note("warn", h("p", {}, "This costs more than is left."), most(price.cost, price.remaining)),
      price.plans.map((line) => explained(line, free)));
  }

  let turn = 0;
  let timer;
  let running;

  async function ask(body, signal) {
    return send("POST", `/datasets/${part(dataset)}/price`, body, { signal });
  }

  async function refresh() {
    clearTimeout(timer);
    const now = ++turn;
    running?.abort();
    running = new AbortController();
    try {
      const asked = question(promise());
      const price = await ask(asked, running.signal);
      if (now === turn) draw(price, known(asked));
    } catch (error) {
      if (error.name === "AbortError" || now !== turn) return;
      mark(null, left);
      fill(told, error instanceof Incomplete ? h("p", { class: "quiet" }, error.message) : note("warn", sentences(error).map((text) => h("p", {}, text))));
    } finally {
      if (now === turn) told.removeAttribute("aria-busy");
    }
  }

  function soon(wait = WAIT) {
    clearTimeout(timer);
    turn += 1; // what is on its way is of a form that was changed since
    running?.abort();
    told.setAttribute("aria-busy", "true");
    timer = setTimeout(refresh, wait);
  }

  // A refusal for want of budget, as sentences: what was asked, what is left, what would fit.
  async function exhausted(error) {
    const { requested, remaining } = error.fields;
    const rest = lossOf(remaining);
    const lines = [h("p", {}, h("strong", {}, "The budget does not hold this question."), ` It costs ${amount(requested)}, and ${amount(remaining)} is left. Nothing was spent.`)];
    if (slackOnly(requested, remaining)) {
      lines.push(mostSlack(remaining));
    } else if (rest > 0) {
      const smaller = { ...promise(), [unit]: rest };
      const price = await ask(question(smaller)).catch(() => null);
      const errors = price ? Object.entries(price.plans[0].expected_error).map(([name, found]) => { const said = expectation(name, found); return `${said.name} ${said.error}`; }) : [];
      lines.push(h("p", {}, price?.affordable ? `With ${unit} ${number(rest, 4)} it would fit${errors.length ? `, and give ${errors.join(", ")}` : ""}. ` : "A smaller question may fit. ", price?.affordable ? button(`Use ${number(rest, 4)}`, () => { set(rest); slider.focus(); }, { class: "plain" }) : null));
    } else {
      lines.push(h("p", {}, "Answers that were released before stay free to read; the owner can grant more."));
    }
    return note("bad", lines);
  }

  const element = h("div", {},
    h("h2", {}, "Before you pay"),
    h("div", { class: "row spread" }, h("label", { for: slider.id }, `How much ${unit} to spend`), exact),
    h("div", { class: "slider" }, slider, marks),
    h("p", { class: "row spread ends", "aria-hidden": "true" }, h("span", {}, "more private"), h("span", {}, "more exact")),
    delta && h("p", { class: "row spread" }, h("label", { for: delta.id }, "Delta"), delta),
    guessRow, told);

  return { element, promise, soon, refresh, exhausted };
}
