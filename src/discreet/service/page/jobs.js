// A question on its way: phases as the server tells them, and the list of one's questions.

import { explain, show } from "./app.js";
import { get, part, send } from "./api.js";
import { button, fill, h, note, quiet, say, table } from "./dom.js";
import { titled, when } from "./words.js";

const PHASES = ["queued", "preparing", "reserving", "answering", "storing", "done"];
const WORDS = {
  queued: "Waiting for its turn",
  preparing: "Preparing",
  reserving: "Reserving the budget",
  answering: "Answering",
  storing: "Storing the answer",
  done: "Done",
};
const OVER = new Set(["done", "failed", "cancelled", "lost"]);

function steps(phase) {
  const at = Math.max(0, PHASES.indexOf(phase));
  return h("ol", { class: "steps" }, PHASES.map((name, place) =>
    h("li", { class: place < at ? "past" : place === at ? "now" : "next", "aria-current": place === at ? "step" : undefined }, WORDS[name])));
}

// Sends a question and stays with it until it is over; returns the releases, or null if cancelled.
export async function follow(dataset, body, key, where) {
  const headers = { "Idempotency-Key": key, Prefer: "wait=0" };
  const progress = h("div", {}, steps("queued"));
  const cancel = button("Cancel", null, { class: "plain", hidden: true });
  fill(where, h("section", { class: "way", "aria-busy": "true", "aria-label": "On its way" }, progress, cancel));
  let answer = await send("POST", `/datasets/${part(dataset)}/releases`, body, { headers });
  if (!answer.job) return answer.releases; // it was there already
  let stopped = false;
  const id = answer.job.id;
  cancel.addEventListener("click", async () => {
    cancel.disabled = true;
    try {
      await send("DELETE", `/jobs/${part(id)}`);
      stopped = true;
    } catch (error) {
      cancel.replaceWith(quiet(error.status === 409 ? "It is paid for already, and can no longer be cancelled." : error.message));
    }
  });
  let phase = "";
  while (!OVER.has(answer.job.state) && !stopped) {
    if (answer.job.phase !== phase) {
      phase = answer.job.phase;
      fill(progress, steps(phase));
      say(WORDS[phase] ?? phase);
      cancel.hidden = PHASES.indexOf(phase) >= PHASES.indexOf("reserving");
    }
    answer = await get(`/jobs/${part(id)}?wait=1`);
  }
  if (stopped || answer.job.state === "cancelled") {
    fill(where, note("calm", h("p", {}, "Cancelled before anything was paid.")));
    return null;
  }
  return answer.releases ?? (await get(`/jobs/${part(id)}`)).releases;
}

function actions(me, job) {
  const said = h("span", {});
  const act = (text, work) => button(text, async (event) => {
    event.target.disabled = true;
    try {
      await work();
      show();
    } catch (error) {
      fill(said, explain(error));
    }
  }, { class: "plain" });
  if (!OVER.has(job.state) && PHASES.indexOf(job.phase) < PHASES.indexOf("reserving")) return [act("Cancel", () => send("DELETE", `/jobs/${part(job.id)}`)), said];
  if (job.state === "lost" && me.role === "owner") return [act("Ask again, charged", () => send("POST", `/jobs/${part(job.id)}/again`)), said];
  return "";
}

// What came of a job: its answers, why there is none, or how far it is.
function outcome(me, job) {
  const state = [h("span", { class: `state ${job.state}` }, job.state), " "];
  if (job.state === "done") {
    return state.concat(job.reservations.map((id, place) => [place ? ", " : "", h("a", { href: `#/d/${part(job.dataset)}/releases/${part(id)}` }, job.reservations.length > 1 ? `Answer ${place + 1}` : "Answer")]));
  }
  return [...state, job.error?.message ?? (OVER.has(job.state) ? "" : WORDS[job.phase] ?? job.phase), " ", actions(me, job)];
}

export async function list(me) {
  const jobs = await get("/jobs");
  const rows = jobs.map((job) => [
    (job.plans ?? []).map(titled).join(", ") || job.id,
    outcome(me, job),
    h("a", { href: `#/d/${part(job.dataset)}` }, job.dataset),
    ...(me.role === "owner" ? [job.asker] : []),
    h("span", { class: "nowrap" }, when(job.created)),
    h("span", { class: "nowrap" }, job.finished ? when(job.finished) : ""),
  ]);
  return {
    title: "Jobs",
    body: [h("h1", {}, "Jobs"), quiet(me.role === "owner" ? "What everybody asked, newest first." : "What you asked, newest first."),
      h("section", { class: "card" }, table("Jobs", ["Question", "What came of it", "Data set", ...(me.role === "owner" ? ["Asked by"] : []), "Asked", "Finished"], rows, "Nothing was asked yet."))],
  };
}
