// Amounts, times and errors as one would say them.

export const UNITS = ["epsilon", "rho", "loss"];

export const unitOf = (amount) => UNITS.find((name) => amount?.[name] !== undefined) ?? "epsilon";

export const lossOf = (amount) => Number(amount?.[unitOf(amount)] ?? 0);

export function number(value, digits = 3) {
  const given = Number(value);
  if (!Number.isFinite(given)) return given > 0 ? "∞" : String(value);
  if (given === 0) return "0";
  const size = Math.abs(given);
  if (size >= 1e6 || size < 1e-4) return given.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return given.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? Math.max(digits, 6) : digits });
}

export const percent = (share) => `${number(100 * share, 2)}%`;

// epsilon 0.5 and delta 1e-6, exact as the server has them
export function amount(given, unit = unitOf(given)) {
  if (!given) return "nothing";
  const loss = `${unit} ${Number(Number(given[unitOf(given)]).toPrecision(6))}`;
  const delta = Number(given.delta ?? 0);
  const worth = given.worth ? ` (worth epsilon ${number(given.worth.epsilon)} at delta ${number(given.worth.delta)})` : "";
  return delta ? `${loss}, delta ${number(delta)}` : `${loss}${worth}`;
}

export function when(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? String(text ?? "") : time.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

// The name of a question, from itself or from what was written of it.
export const kindOf = (plan) => (typeof plan === "object" ? plan?.kind ?? "" : plan);

export const spaced = (name) => String(name).replaceAll("_", " ");

const CALLED = { cdf: "Distribution function (CDF)", std: "Standard deviation", x: "Query" };

export const titled = (name) => CALLED[name] ?? spaced(name).replace(/\bshap\b/, "SHAP").replace("shapley", "Shapley").replace(/^./, (first) => first.toUpperCase());

// What one result's error will be, from the price.
export function expectation(name, found) {
  const sign = found.level === null || found.level === undefined ? "" : "± ";
  const over = found.private_rows === "divide error" ? " / n" : "";
  const share = found.private_rows ? `${number(found.error / found.size)} / n of` : found.relative > 10 ? `${number(found.relative, 2)} times` : `${percent(found.relative)} of`;
  return { name, error: `${sign}${number(found.error)}${over}`, measure: found.measure, share: `${share} ${found.size_of}`, bias: found.bias };
}

// A bound with four digits, rounded up: what is said is never less than what was proven.
export function atMost(bound) {
  if (!bound || !Number.isFinite(bound)) return number(bound);
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(bound))) - 3);
  const near = Number(bound.toPrecision(4));
  return number(near >= bound ? near : near + unit, 4);
}

export const GRADES = {
  proven: "all code that was asked is known to answer each row by itself",
  isolated: "a model was asked for one record at a time",
  probed: "a model was tried on public rows alone",
};

// The promise of a release, for people.
export function promise(guarantee) {
  if (guarantee.simulation) return { short: "simulation with seeded noise: no privacy", odds: "", good: false };
  const whom = guarantee.protects || "one record of the table";
  const rho = guarantee.rho === undefined ? "" : `rho ${number(guarantee.rho, 6)} and `;
  const pure = guarantee.delta ? `, delta ${number(guarantee.delta)}` : " (pure)";
  const change = guarantee.relation === "add-remove" ? "added or taken away" : "changed";
  const slack = guarantee.delta ? `, plus a probability of ${number(guarantee.delta)}` : "";
  return {
    short: `${rho}epsilon ${number(guarantee.epsilon, 6)}${pure} for ${whom}, ${guarantee.relation}, ${guarantee.certified ? "certified" : "NOT certified"}`,
    odds: `For ${whom}: were it ${change}, no answer would become more than ${atMost(Math.exp(guarantee.epsilon))} times as likely${slack}. This holds whatever a reader knows already.`,
    good: guarantee.certified,
  };
}

const MOVES = { "replace-one": "Replacing one record", "add-remove": "Adding or removing one record" };

export function sensitivity(stage, relation) {
  const certificate = stage.certificate ?? {};
  const bounds = certificate.bounds?.[relation];
  if (!bounds) return "";
  const who = MOVES[relation] ?? "One record";
  if (certificate.size === 1) return `${who} moves this number by at most ${atMost(bounds.linf)}.`;
  return `${who} moves these ${certificate.size} numbers by at most ${atMost(bounds.l1)} in L1, ${atMost(bounds.l2)} in L2 and ${atMost(bounds.linf)} in L∞.`;
}

const ADVICE = {
  unauthenticated: "Sign in again with a key that has not expired or been revoked.",
  "access-denied": "Ask the owner of the data set for an allotment, or for a key that covers it.",
  "not-found": "It may be somebody else's, or a link that is no longer right.",
  "under-way": "The same question is being answered right now. Wait a moment and ask again: the stored answer is free.",
  "ledger-unavailable": "Nothing was spent. Try again in a minute.",
  "data-changed": "Somebody wrote to the data while they were read; the charge stays. Tell the owner.",
  "answer-lost": "The charge was made and its answer was lost. It is never drawn again by itself: the owner may ask again, charged.",
  "too-large": "Send fewer rows.",
  unreachable: "Look at the network and try again: a retry of the same question never pays twice.",
};

// An error as sentences: what happened, then what to do.
export function sentences(error) {
  const wait = error.code === "too-many-requests" ? `Try again in ${error.wait ?? "a few"} seconds.` : null;
  const role = error.code === "access-denied" && / of the role /.test(error.message); // no allotment would help
  const advice = role ? null : wait ?? ADVICE[error.code];
  return [error.message, ...(advice && !error.message.includes(advice) ? [advice] : [])];
}
