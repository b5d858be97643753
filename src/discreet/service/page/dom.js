// Elements by function. Texts are always text nodes: nothing from the server is read as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "css") for (const [key, set] of Object.entries(value)) element.style.setProperty(key, set);
    else if (["value", "checked", "disabled", "selected"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let ids = 0;
export const newId = (start = "x") => `${start}-${++ids}`;

// ``code`` in the texts of declarations.
export function marked(text) {
  return String(text ?? "").split(/``(.+?)``/).map((part, place) => (place % 2 ? h("code", {}, part) : part));
}

export function say(text) {
  const place = document.getElementById("status");
  place.textContent = "";
  requestAnimationFrame(() => (place.textContent = text));
}

export const card = (title, ...children) => h("section", { class: "card" }, title && h("h2", {}, title), ...children);

export const quiet = (...children) => h("p", { class: "quiet" }, ...children);

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

export function note(kind, ...children) {
  return h("div", { class: `note ${kind}`, role: kind === "bad" ? "alert" : undefined }, ...children);
}

// A table that scrolls by itself where it is too wide; the region can then be reached by keyboard.
export function table(caption, head, rows, empty = "Nothing yet.") {
  if (!rows.length) return quiet(empty);
  const cell = (value, place) => h(place === 0 ? "th" : "td", place === 0 ? { scope: "row" } : {}, value ?? "");
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell)))),
    ),
  );
}

export function gauge(label, share, text) {
  const part = Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0));
  return h(
    "div",
    { class: "gauge" },
    h("div", { class: "gauge-words" }, h("span", { class: "gauge-label" }, label), h("span", {}, text)),
    h(
      "div",
      {
        class: `bar${part <= 0.1 ? " low" : ""}`,
        role: "meter",
        "aria-label": label,
        "aria-valuemin": "0",
        "aria-valuemax": "100",
        "aria-valuenow": String(Math.round(100 * part)),
        "aria-valuetext": text,
      },
      h("div", { class: "bar-fill", css: { width: `${100 * part}%` } }),
    ),
  );
}

export function bars(rows, unit) {
  const most = Math.max(...rows.map((row) => row.amount), 0) || 1;
  return h(
    "ul",
    { class: "bars" },
    rows.map((row) =>
      h(
        "li",
        {},
        h("span", { class: "bars-name" }, row.name),
        h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "bar-fill", css: { width: `${(100 * row.amount) / most}%` } })),
        h("span", { class: "bars-told" }, `${unit} ${row.told}`),
      ),
    ),
  );
}

// Asks before something that cannot be undone; resolves to true or false.
export function confirm(title, text, yes) {
  return new Promise((resolve) => {
    const heading = newId("title");
    const dialog = h(
      "dialog",
      { "aria-labelledby": heading },
      h("form", { method: "dialog" },
        h("h2", { id: heading }, title),
        h("p", {}, text),
        h("div", { class: "row end" },
          h("button", { value: "no", class: "plain", autofocus: true }, "Leave it"),
          h("button", { value: "yes", class: "danger" }, yes))),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// The cells of one line of comma separated values; where a comma begins the line, its first cell is empty.
export function cells(line, separators = ",") {
  const cell = new RegExp(`[${separators}](?:"((?:[^"]|"")*)"|([^${separators}]*))`, "g");
  return [...`${separators[0]}${line}`.matchAll(cell)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain.trim());
}

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
