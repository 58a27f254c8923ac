/** The console's own HTTP API. */
import { parseJson, tryJson } from "./json.js";
import { readEvents } from "./sse.js";

const META = 'meta[name="console-token"]';
let token = document.querySelector(META).content;
let credentials = () => ({});

/** What requests of the page to this address need. */
export const tokenHeader = () => ({ "X-Console-Token": token });

/** Use the key of the server that is shown: its guard protects the API too. */
export const useCredentials = (headers) => (credentials = headers);

async function send(path, { body, signal } = {}, isRetry = false) {
  const response = await fetch(`api/${path}`, {
    method: body ? "POST" : "GET", body: body && JSON.stringify(body), cache: "no-store", signal,
    headers: { ...tokenHeader(), "X-Console-Page": new URL(".", location.href).href, ...credentials(), ...(body && { "Content-Type": "application/json" }) },
  });
  if (response.ok) return response;
  if (response.status === 403 && !isRetry) {
    // The token changes when the server restarts: read it again from the page.
    const page = await (await fetch("./", { cache: "no-store" })).text();
    token = new DOMParser().parseFromString(page, "text/html").querySelector(META)?.content ?? token;
    return send(path, { body, signal }, true);
  }
  throw new Error(await readError(response));
}

/** What a response says that refuses a request. */
export async function readError(response) {
  const text = await response.text();
  return tryJson(text)?.error ?? (text || `HTTP ${response.status}`);
}

export const loadConfig = () => ask("config");

/** Yield {event, data} of an SSE endpoint. */
export async function* stream(path, options) {
  for await (const { event, data } of readEvents((await send(path, options)).body))
    if (data) yield { event, data: JSON.parse(data) };
}

export const post = async (path, body) => (await send(path, { body })).blob();

/** POST and return the JSON of the body, with exact integers. */
export const ask = async (path, body) => parseJson(await (await send(path, { body })).text());
