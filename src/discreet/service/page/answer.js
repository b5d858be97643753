// One release: the picture, the promise in words, what was proven, downloads.

import { blob, part, text } from "./api.js";
import { button, cells, fill, h, note, quiet, save, say, table } from "./dom.js";
import { GRADES, amount, lossOf, number, promise, sensitivity, sentences, titled, when } from "./words.js";

const MOST_ROWS = 200;

const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;

export const pathOf = (dataset, id) => `/datasets/${part(dataset)}/releases/${part(id)}`;

export function titleOf(release) {
  if (release.title) return release.title;
  const { kind, arguments: given = {} } = release.plan ?? {};
  const about = ["column", "columns", "features", "feature", "target"].map((name) => given[name]).find((value) => value !== undefined && value !== null && [value].flat().length);
  const whom = about === undefined ? "" : ` of ${[about].flat(2).map((one) => (typeof one === "object" ? "several" : one)).join(", ")}`;
  return `${titled(kind ?? "release")}${whom}`;
}

// Pictures with letters that nobody reads on a phone, where they scroll instead.
const WIDE = new Set(["decision_tree", "random_forest", "fit", "additive_model"]);

export function picture(dataset, release) {
  const wide = WIDE.has(release.plan?.kind);
  const place = h("div", { class: `picture${wide ? " wide" : ""}`, ...(wide ? { tabindex: "0", role: "region", "aria-label": "Picture" } : {}) }, h("p", { class: "quiet" }, "Drawing…"));
  const draw = async () => {
    try {
      const address = URL.createObjectURL(await blob(`${pathOf(dataset, release.id)}/picture.svg${dark() ? "?dark=1" : ""}`));
      const image = h("img", { src: address, alt: `Picture of: ${titleOf(release)}. The numbers are in the table below.` });
      image.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
      fill(place, image);
    } catch (error) {
      fill(place, quiet(error.status === 404 ? "No picture is kept of this answer; its numbers are below." : error.message));
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => place.isConnected && draw());
  return place;
}

const shownCell = (value) => (value !== "" && Number.isFinite(Number(value)) ? number(value, 5) : value);

function numbers(dataset, release) {
  const inside = h("div", {});
  const folded = h("details", { class: "more" }, h("summary", {}, "The numbers"), inside);
  folded.addEventListener("toggle", async () => {
    if (!folded.open || inside.childElementCount) return;
    try {
      const lines = (await text(`${pathOf(dataset, release.id)}/table.csv`)).replace(/\r?\n$/, "").split(/\r?\n/);
      const [head, ...rows] = lines.map((line) => cells(line));
      fill(inside, table(`Numbers of ${titleOf(release)}`, head, rows.slice(0, MOST_ROWS).map((row) => row.map(shownCell))), rows.length > MOST_ROWS ? quiet(`The first ${MOST_ROWS} of ${rows.length} rows; all of them are in the CSV file.`) : null);
    } catch (error) {
      fill(inside, h("pre", {}, JSON.stringify(release.value, null, 1).slice(0, 4000)), quiet(error.message));
    }
  });
  return folded;
}

export function certificate(me, release) {
  const { guarantee, stages = [] } = release;
  const rows = stages.map((stage) => [
    titled(stage.name),
    sensitivity(stage, guarantee.relation),
    `${stage.mechanism}, standard deviation ${number(stage.noise_std)}`,
    `${number(stage.epsilon, 4)}${stage.delta ? `, delta ${number(stage.delta)}` : ""}`,
    h("span", {}, (stage.certificate?.statements ?? []).flatMap((id) => [h("code", {}, id), " "])),
  ]);
  const rests = guarantee.statements.length ? h("p", {}, "It rests on the statements ", guarantee.statements.flatMap((id, place) => [place ? ", " : "", h("code", {}, id)]), me.role === "auditor" ? "; the documentation proves each of them." : "; the downloaded page tells each of them.") : null;
  return [
    table("What was proven of every step", ["Step", "What was proven", "Noise", "Epsilon", "Statements"], rows, "No step is listed."),
    h("p", {}, `Grade: ${guarantee.grade}, ${GRADES[guarantee.grade] ?? ""}.`),
    rests,
    guarantee.assumptions.length ? [h("p", {}, "It assumes:"), h("ul", {}, guarantee.assumptions.map((one) => h("li", {}, one)))] : h("p", {}, "It lists no assumption of its own."),
  ];
}

function downloads(dataset, release) {
  const base = `${dataset}-${release.plan?.kind ?? "release"}-${release.id}`;
  const path = pathOf(dataset, release.id);
  const said = h("span", { role: "status" });
  const fetched = (suffix, name) => async () => {
    try {
      save(await blob(`${path}/${suffix}`), `${base}.${name}`);
      say(`${name} saved`);
    } catch (error) {
      fill(said, note("bad", sentences(error).map((line) => h("p", {}, line))));
    }
  };
  return h("div", { class: "row downloads", role: "group", "aria-label": "Download" },
    h("span", { class: "quiet" }, "Download"),
    button("JSON", () => save(new Blob([JSON.stringify(release, null, 1)], { type: "application/json" }), `${base}.json`), { class: "plain" }),
    button("CSV", fetched("table.csv", "csv"), { class: "plain" }),
    button("PNG", fetched("picture.png", "png"), { class: "plain" }),
    button("Page", fetched("page", "html"), { class: "plain" }), said);
}

export function words(guarantee) {
  const told = promise(guarantee);
  return h("div", { class: `promise${told.good ? "" : " weak"}` }, h("strong", {}, told.short), told.odds && h("p", {}, told.odds));
}

function paid(release) {
  if (!release.charged) return "";
  return lossOf(release.charged) ? `Paid ${amount(release.charged, release.guarantee.rho === undefined ? "epsilon" : "rho")}. ` : "Answered before, so it was free. ";
}

// All of a release; for an auditor it comes without its value, and so without a picture.
export function shown(me, dataset, release, { link = false, level = "h2" } = {}) {
  const whole = release.value !== undefined && me.role !== "auditor";
  return h("article", { class: "card release" },
    h(level, {}, titleOf(release)),
    h("p", { class: "quiet" }, `${paid(release)}${when(release.created)}, ${release.dataset} version ${release.version}, release `, link ? h("a", { href: `#/d/${part(dataset)}/releases/${part(release.id)}` }, release.id) : h("code", {}, release.id)),
    whole ? picture(dataset, release) : null,
    words(release.guarantee),
    whole ? numbers(dataset, release) : null,
    h("details", { class: "more", open: !whole }, h("summary", {}, "Certificate: what was proven"), certificate(me, release)),
    whole ? downloads(dataset, release) : null);
}
