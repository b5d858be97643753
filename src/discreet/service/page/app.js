// Which view is shown, by the part of the address after the hash; signing in and out.

import { forget, get, keep, once, signedIn, unreachable } from "./api.js";
import { button, fill, h, note, quiet, say } from "./dom.js";
import { sentences } from "./words.js";

const VIEWS = [
  [/^$/, () => import("./datasets.js"), "list"],
  [/^d\/([^/]+)$/, () => import("./datasets.js"), "one"],
  [/^d\/([^/]+)\/ask$/, () => import("./ask.js"), "pick"],
  [/^d\/([^/]+)\/ask\/([^/]+)$/, () => import("./ask.js"), "compose"],
  [/^d\/([^/]+)\/releases$/, () => import("./releases.js"), "list"],
  [/^d\/([^/]+)\/releases\/([^/]+)$/, () => import("./releases.js"), "one"],
  [/^d\/([^/]+)\/compare\/([^/]+)\/([^/]+)$/, () => import("./releases.js"), "compare"],
  [/^d\/([^/]+)\/ledger$/, () => import("./ledger.js"), "entries"],
  [/^d\/([^/]+)\/budget$/, () => import("./ledger.js"), "budget"],
  [/^keys$/, () => import("./keys.js"), "list"],
  [/^jobs$/, () => import("./jobs.js"), "list"],
  [/^audit$/, () => import("./audit.js"), "show"],
];

const view = document.getElementById("view");
let turn = 0;

export function explain(error) {
  if (error.code === "unauthenticated" && signedIn()) {
    forget();
    show();
  }
  const [first, ...rest] = sentences(error);
  return note("bad", h("p", {}, first), rest.map((text) => h("p", {}, text)));
}

function places(me) {
  const here = location.hash.replace(/^#\//, "");
  const all = [
    ["", "Data sets", true],
    ["jobs", "Jobs", me.role !== "auditor"],
    ["keys", "Keys", me.role === "owner"],
    ["audit", "Audit", me.role !== "analyst"],
  ];
  const at = (path) => (path === "" ? here === "" || here.startsWith("d/") : here === path);
  fill(
    document.getElementById("places"),
    all.filter(([, , may]) => may).map(([path, name]) => h("a", { href: `#/${path}`, "aria-current": at(path) ? "page" : undefined }, name)),
  );
  fill(
    document.getElementById("who"),
    h("span", { class: "role" }, me.analyst ? `${me.analyst}, ${me.role}` : me.role),
    button("Sign out", () => {
      forget();
      location.hash = "#/";
      show("You are signed out; the key is forgotten.");
    }, { class: "plain" }),
  );
}

function door(message) {
  fill(document.getElementById("places"));
  fill(document.getElementById("who"));
  const field = h("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true, placeholder: "dk_…", "aria-describedby": "key-help" });
  const said = h("div", {}, message && note("calm", h("p", {}, message)));
  const enter = h("button", { type: "submit" }, "Sign in");
  const form = h(
    "form",
    {
      class: "card door",
      onsubmit: async (event) => {
        event.preventDefault();
        if (!field.value.trim()) return;
        enter.disabled = true;
        keep(field.value.trim());
        try {
          await get("/me");
          await show();
        } catch (error) {
          forget();
          fill(said, note("bad", h("p", {}, error.status === 401 ? "This key is not known here, has expired or was revoked." : sentences(error).join(" "))));
          field.focus();
        } finally {
          enter.disabled = false;
        }
      },
    },
    h("h1", {}, "Sign in"),
    h("p", { class: "quiet" }, "Ask questions of tables that you never see: the price and the error to expect are told before you pay, and every answer comes with a proof of what it protects."),
    h("label", { for: "key" }, "Key"),
    field,
    h("p", { class: "help", id: "key-help" }, "The owner of the data gave it to you. It stays in this tab and is forgotten when you sign out or close it."),
    said,
    enter,
  );
  fill(view, form);
  document.title = "Sign in · discreet";
  field.focus();
}

export async function show(message) {
  const mine = ++turn;
  if (!signedIn()) return door(typeof message === "string" ? message : undefined);
  const here = location.hash.replace(/^#\//, "");
  try {
    const me = await once("/me");
    const found = VIEWS.map(([pattern, load, name]) => ({ match: pattern.exec(here), load, name })).find((entry) => entry.match);
    const rest = found ? found.match.slice(1).map(decodeURIComponent) : [];
    const module = found && (await found.load().catch(() => { throw unreachable(); }));
    const shown = found ? await module[found.name](me, ...rest) : { title: "Not found", body: [h("h1", {}, "There is nothing here"), quiet(h("a", { href: "#/" }, "To the data sets"))] };
    if (mine !== turn) return;
    places(me);
    fill(view, shown.body);
    document.title = `${shown.title} · discreet`;
    say(shown.title);
  } catch (error) {
    if (mine !== turn) return;
    if (error.code === "unauthenticated") {
      forget();
      return door("Your key has expired or was revoked. Sign in with another one.");
    }
    document.title = "That did not work · discreet";
    once("/me").then(places, () => {});
    const next = [403, 404].includes(error.status) ? quiet(h("a", { href: "#/" }, "To the data sets")) : button("Try again", () => show());
    fill(view, h("h1", {}, "That did not work"), explain(error), next);
  }
  if (mine > 1 && document.activeElement === document.body) view.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

window.addEventListener("hashchange", () => {
  document.activeElement?.blur();
  show();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  view.focus();
});
fetch("/v1/health").then((answer) => answer.json()).then((told) => {
  document.getElementById("foot").textContent += ` Version ${told.version}.`;
}).catch(() => {});
show();
