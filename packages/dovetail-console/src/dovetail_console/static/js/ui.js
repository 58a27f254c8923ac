/** Small parts that every view uses. */
import { html, useEffect, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { attempt } from "./json.js";

/** Something that views can watch; several changes are one redraw. */
export class Observable {
  #watchers = new Set();
  #timer = null;

  watch(callback) {
    this.#watchers.add(callback);
    return () => this.#watchers.delete(callback);
  }

  changed() {
    // Not requestAnimationFrame, which stops while the page is hidden.
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      for (const callback of this.#watchers) callback();
    }, 16);
  }
}

export function useObservable(observable) {
  const [, redraw] = useReducer((n) => n + 1, 0);
  useEffect(() => observable.watch(redraw), [observable]);
  return observable;
}

// The browser may forbid a storage or fill it up; then values are kept until the next reload only.
const keepIn = (storage) => ({
  get: (key) => attempt(() => JSON.parse(window[storage].getItem(`dovetail:${key}`)), null),
  set: (key, value) => attempt(() => window[storage].setItem(`dovetail:${key}`, JSON.stringify(value))),
});

export const memory = keepIn("sessionStorage");

export const settings = keepIn("localStorage");

export const notices = Object.assign(new Observable(), {
  list: [],
  add(text, kind = "info") {
    const notice = { text, kind };
    notices.list = [...notices.list.filter((other) => other.text !== text), notice].slice(-4);
    setTimeout(notices.remove, kind === "error" ? 15_000 : 6000, notice);
    notices.changed();
  },
  failed: (what) => ({ message }) => notices.add(`${what}: ${message}`, "error"),
  remove(notice) {
    notices.list = notices.list.filter((other) => other !== notice);
    notices.changed();
  },
});

export function Notices() {
  useObservable(notices);
  return html`<div class="notices" role="status">${notices.list.map((notice) => html`<div class="row ${notice.kind}">
    <span>${notice.text}</span><button class="quiet" aria-label="Dismiss" onClick=${() => notices.remove(notice)}>×</button></div>`)}</div>`;
}

/** A modal dialog. Escape calls `onClose`; the focus moves in, and back when it closes. */
export function Dialog({ title, onClose, children }) {
  const element = useRef();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog.showModal();
    (dialog.querySelector("[data-focus]") ?? dialog.querySelector("input, textarea, select"))?.focus();
    return () => {
      dialog.close();
      before.focus();
      // The button that opened it may be gone.
      if (document.activeElement === document.body) document.getElementById("main")?.focus();
    };
  }, []);
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onCancel=${(event) => (event.preventDefault(), onClose())}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}

/** Copy text, or show it where the page may not use the clipboard (neither HTTPS nor loopback). */
export const copy = (text, what = "Copied") => navigator.clipboard ? navigator.clipboard.writeText(text).then(() => notices.add(what))
  : prompt("Copy this text", text);

export function download(name, content) {
  const href = URL.createObjectURL(new Blob([content]));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(URL.revokeObjectURL, 10_000, href);
}

export const sizeText = (bytes) => bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

export const msText = (ms) => ms == null ? "" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

export const count = (number, plural) => `${number} ${number === 1 ? plural.slice(0, -1) : plural}`;

export const clockText = (ms) => `${new Date(ms).toTimeString().slice(0, 8)}.${String(Math.floor(ms % 1000)).padStart(3, "0")}`;

export const linkTo = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

const PART = 200_000;

/** Preformatted text, cut at 200 kB until the user wants all of it. */
export function LongText({ text, label = "Text" }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > PART && !isWhole;
  return html`<pre tabindex="0" role="region" aria-label=${label}>${isCut ? text.slice(0, PART) : text}</pre>
    ${text.length > PART && html`<p class="row">${isCut && html`The first ${sizeText(PART)} of ${sizeText(text.length)}.
      <button onClick=${() => setWhole(true)}>Show all</button>`}<button onClick=${() => download("text.txt", text)}>Download</button></p>`}`;
}

export const Json = ({ value, label }) => html`<${LongText} text=${JSON.stringify(value, null, 2)} label=${label} />`;

/** A choice of [value, text] or of texts. */
export const Select = ({ label, options, onChange, isBare, ...rest }) => html`<label>${!isBare && `${label} `}<select aria-label=${label}
  ...${rest} onChange=${(event) => onChange(event.target.value)}>${options.map((each) => [each].flat()).map(([value, text = value]) =>
    html`<option value=${value}>${text}</option>`)}</select></label>`;

export const Tick = ({ label, onChange, ...rest }) => html`<p><label><input type="checkbox" ...${rest}
  onChange=${(event) => onChange(event.target.checked)} /> ${label}</label></p>`;

/** A text field with its label; `rows` makes it a larger one. */
export const Field = ({ id, label, rows, onInput, children, ...rest }) => html`<div class="field"><label for=${id}>${label}</label>
  <${rows ? "textarea" : "input"} id=${id} rows=${rows} autocomplete="off" ...${rest} onInput=${(event) => onInput(event.target.value)} />${children}</div>`;

/** A field that filters a list; the key / focuses it. */
export const Search = ({ label, value, onInput }) => html`<input type="search" aria-label=${label} placeholder="${label} (press /)"
  value=${value} onInput=${(event) => onInput(event.target.value)} />`;

export const hasWords = (text, query) => query.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

/** A choice between a few panels; arrow keys move between the tabs. */
export function Tabs({ label, tabs, selected, onSelect }) {
  const move = ({ key, currentTarget }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    const next = step && (tabs.findIndex(([each]) => each === selected) + step + tabs.length) % tabs.length;
    if (!step) return;
    onSelect(tabs[next][0]);
    currentTarget.children[next].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>${tabs.map(([key, text]) => html`<button
    type="button" role="tab" aria-selected=${key === selected} tabindex=${key === selected ? 0 : -1} onClick=${() => onSelect(key)}>${text}</button>`)}</div>`;
}

/**
 * Two panes: a list of {key, title, text, badge} with a search field, and what is chosen.
 *
 * The first rows are drawn at once and the others after the first paint, so a thousand are quick.
 */
export function Panes({ session, view, label, items, item, error, footer, children }) {
  const [query, setQuery] = useState("");
  const [limit, setLimit] = useState(80);
  const list = useRef();
  const found = useMemo(() => items?.filter(({ key, title, text }) => hasWords(`${key} ${title} ${text}`, query)) ?? [], [items, query]);
  useEffect(() => void (limit < found.length && setTimeout(setLimit, 30, limit * 4)), [limit, found.length]);
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -1e6, End: 1e6 }[event.key];
    const links = [...list.current.querySelectorAll("a")];
    if (!step || !links.length || (event.target.type === "search" && step !== 1)) return;
    event.preventDefault();
    links[Math.max(0, Math.min(links.indexOf(document.activeElement) + step, links.length - 1))].focus();
  };
  // The session redraws the page often; the rows are drawn again only if they change.
  const rows = useMemo(() => {
    const entry = found.some(({ key }) => key === item) ? item : found[0]?.key;
    return found.slice(0, limit).map(({ key, title, text, badge }) => html`<li key=${key}><a href=${linkTo(session.name, view, key)}
      tabindex=${key === entry ? 0 : -1} aria-current=${key === item ? "page" : undefined}><strong>${title}</strong>
      ${badge && html`<span class="badge ${badge}">${badge}</span>`}<span class="muted">${text}</span></a></li>`);
  }, [found, limit, item]);
  const kinds = label.toLowerCase();
  return html`<div class="panes"><nav class="list-pane" aria-label=${label} onKeyDown=${move}>
      <${Search} label="Search ${kinds}" value=${query} onInput=${setQuery} />
      <p class="count muted" role="status">${items ? `${query ? `${found.length} of ` : ""}${count(items.length, kinds)}` : "Loading…"}</p>
      <ul ref=${list}>${rows}</ul>${footer}</nav>
    <div class="detail">${error && html`<${ErrorBox} title="The ${kinds} cannot be listed"><p>${error}</p><//>`}
      ${item && html`<a class="back" href=${linkTo(session.name, view)}>All ${kinds}</a>`}${!item && items?.length > 0 && html`<p class="muted">Choose one of the ${kinds}.</p>`}${children}</div></div>`;
}

export const ErrorBox = ({ title, children }) => html`<div class="box error-box" role="alert"><strong>${title}</strong>${children}</div>`;
