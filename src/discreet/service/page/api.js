// The server, asked with the key of whoever signed in. The key is kept in this tab alone.

const PLACE = "discreet.key";
let key = sessionStorage.getItem(PLACE);

export const signedIn = () => key !== null;

export function keep(given) {
  key = given;
  sessionStorage.setItem(PLACE, given);
}

export function forget() {
  key = null;
  sessionStorage.clear();
  for (const name of Object.keys(remembered)) delete remembered[name];
}

export class Refused extends Error {
  constructor(status, error = {}, wait = null) {
    super(error.message || `The server answered ${status}.`);
    this.status = status;
    this.code = error.code || "error";
    this.fields = error;
    this.wait = wait;
  }
}

export const unreachable = () => new Refused(0, { code: "unreachable", message: "The server cannot be reached." });

async function ask(path, { method = "GET", body, headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (key) sent.Authorization = `Bearer ${key}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, signal, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, told.error, answer.headers.get("Retry-After"));
}

export async function get(path, options) {
  return (await ask(`/v1${path}`, options)).json();
}

export async function send(method, path, body, options = {}) {
  const answer = await ask(`/v1${path}`, { ...options, method, body });
  const text = await answer.text();
  return text ? JSON.parse(text) : null;
}

export async function blob(path) {
  return (await ask(`/v1${path}`)).blob();
}

export async function text(path) {
  return (await ask(`/v1${path}`)).text();
}

// What does not change while somebody is signed in is asked for once.
const remembered = {};
export function once(path) {
  remembered[path] ??= get(path).catch((error) => {
    delete remembered[path];
    throw error;
  });
  return remembered[path];
}

export const part = encodeURIComponent;
