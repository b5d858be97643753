// Keys, for owners: who may come in, new ones, revocation.

import { explain, show } from "./app.js";
import { get, part, send } from "./api.js";
import { button, card, confirm, fill, h, newId, note, quiet, say, table } from "./dom.js";
import { asNumber } from "./form.js";
import { when } from "./words.js";

function state(key) {
  if (key.revoked) return h("span", { class: "state failed" }, "revoked");
  if (key.expires && new Date(key.expires) < new Date()) return h("span", { class: "state failed" }, "expired");
  return h("span", { class: "state done" }, "valid");
}

function revoke(me, key, said) {
  if (key.revoked) return "";
  const whose = key.analyst ?? key.role;
  return button("Revoke", async () => {
    const own = key.key === me.key ? " It is the key you are signed in with." : "";
    if (!(await confirm("Revoke this key?", `The key ${key.key} of ${whose} opens nothing from now on. That cannot be undone.${own}`, "Revoke"))) return;
    try {
      await send("DELETE", `/keys/${part(key.key)}`);
      say("The key is revoked.");
      show();
    } catch (error) {
      fill(said, explain(error));
    }
  }, { class: "plain", "aria-label": `Revoke the key of ${whose}` });
}

function fresh(made) {
  const text = h("input", { type: "text", readonly: true, value: made.key, id: newId("new-key"), class: "secret" });
  const copied = h("span", { role: "status", class: "quiet" });
  return note("good",
    h("p", {}, h("label", { for: text.id }, "The new key. Copy it now: it is not kept, and never shown again.")),
    h("div", { class: "row" }, text, button("Copy", async () => {
      text.select();
      try {
        await navigator.clipboard.writeText(made.key);
      } catch {
        document.execCommand("copy");
      }
      copied.textContent = "copied";
    }), copied));
}

export async function list(me) {
  const [all, datasets] = await Promise.all([get("/keys"), get("/datasets")]);
  const said = h("div", { "aria-live": "polite" });
  const role = h("select", { id: newId("role") }, ["analyst", "auditor", "owner"].map((name) => h("option", { value: name }, name)));
  const analyst = h("input", { type: "text", id: newId("analyst"), autocomplete: "off" });
  const days = h("input", { type: "text", inputmode: "numeric", value: "90", id: newId("days"), class: "short" });
  const remark = h("input", { type: "text", id: newId("note"), autocomplete: "off", maxlength: "200" });
  const boxes = datasets.map((one) => h("input", { type: "checkbox", value: one.dataset }));
  const whose = h("div", {}, h("label", { for: analyst.id }, "Analyst"), analyst);
  role.addEventListener("change", () => (whose.hidden = role.value !== "analyst"));
  const table_ = (keys) => table("Keys", ["Key", "Role", "Analyst", "Data sets", "Note", "Made", "Expires", "State", ""],
    keys.map((key) => [h("code", { class: "nowrap" }, key.key), key.role, key.analyst ?? "", key.datasets?.join(", ") ?? "all", key.note ?? "", when(key.created), key.expires ? when(key.expires) : "never", state(key), revoke(me, key, said)]));
  const listed = h("div", {}, table_(all));
  async function make(event) {
    event.preventDefault();
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    try {
      const body = { role: role.value, ...(role.value === "analyst" ? { analyst: analyst.value.trim() } : {}), ...(chosen.length ? { datasets: chosen } : {}), days: asNumber(days.value, "Valid for days"), ...(remark.value.trim() ? { note: remark.value.trim() } : {}) };
      fill(said, fresh(await send("POST", "/keys", body)));
      fill(listed, table_(await get("/keys")));
      say("A new key was made.");
    } catch (error) {
      fill(said, explain(error));
    }
  }
  return {
    title: "Keys",
    body: [h("h1", {}, "Keys"),
      card("New key", h("form", { onsubmit: make },
        h("div", { class: "row fields" },
          h("div", {}, h("label", { for: role.id }, "Role"), role), whose,
          h("div", {}, h("label", { for: days.id }, "Valid for days"), days),
          h("div", {}, h("label", { for: remark.id }, "Note"), remark)),
        h("fieldset", {}, h("legend", {}, "Only these data sets (none ticked: all)"), h("div", { class: "checks" }, boxes.map((box) => h("label", {}, box, box.value)))),
        h("button", { type: "submit" }, "Make a key")), said),
      card("All keys", quiet("Secrets are not kept: a lost key is replaced by a new one."), listed)],
  };
}
