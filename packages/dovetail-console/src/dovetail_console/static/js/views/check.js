/** Compliance: run `dovetail check`, show verdicts as they come, the report, and what changed since the previous run. */
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { stream } from "../api.js";
import { ErrorBox, Observable, Search, Select, Tick, download, hasWords, memory, useObservable } from "../ui.js";

const ORDER = ["fail", "warn", "info", "pass"];

class CheckRun extends Observable {
  async start({ name }, body) {
    const controller = new AbortController();
    Object.assign(this, { controller, before: memory.get(`verdicts:${name}`), progress: {}, verdicts: new Map(), report: null, error: null });
    this.changed();
    try {
      for await (const { event, data } of stream("check", { body, signal: controller.signal })) {
        if (event === "verdict") this.verdicts.set(data.id, data.verdict);
        else this[event] = event === "error" ? data.message : data;
        if (event === "report") memory.set(`verdicts:${name}`, Object.fromEntries(data.rows.map((row) => [row.id, row.verdict])));
        this.changed();
      }
    } catch ({ message }) {
      this.error = controller.signal.aborted ? "Stopped" : message;
    }
    this.controller = null;
    this.changed();
  }
}

const runs = new WeakMap();

export function Check({ session, config: { check, revisions } }) {
  if (!runs.has(session)) runs.set(session, new CheckRun());
  const run = useObservable(runs.get(session));
  const [revision, setRevision] = useState("all");
  const [calls, setCalls] = useState("readonly");
  const [isRepeated, setRepeated] = useState(memory.get("repeat"));
  const restarts = useRef(session.restarts);
  const start = () => run.start(session, { server: session.name, revision, calls });
  useEffect(() => {
    // The server was restarted, for example by `dovetail dev`.
    if (restarts.current !== session.restarts && isRepeated) start();
    restarts.current = session.restarts;
  }, [session.restarts]);
  const { controller, progress = {}, verdicts, error, report, before } = run;
  return html`<div class="page"><h2>Compliance</h2>${check !== true ? html`<p>Install the checker and restart the server: <code>${check}</code></p>` : html`<div class="row toolbar">
      <${Select} label="Revision" value=${revision} onChange=${setRevision} options=${["all", ...revisions]} />
      <${Select} label="Call" value=${calls} onChange=${setCalls} options=${[["readonly", "read-only tools"], ["none", "no tools"]]} />
      <button class="primary" onClick=${start} disabled=${controller}>${report ? "Run again" : "Run the check"}</button>
      ${controller && html`<button class="danger" onClick=${() => controller.abort()}>Stop</button>`}
      <${Tick} label="Run again when the server restarts" checked=${isRepeated} onChange=${(is) => (setRepeated(is), memory.set("repeat", is))} /></div>
    ${controller && html`<p role="status"><progress aria-label="Progress of the check" max=${progress.total || 1} value=${progress.done ?? 0}></progress>
      ${" "}${progress.done} of ${progress.total} ${progress.text}</p>
      <${Counts} verdicts=${[...verdicts.values()]} />
      <ul class="rules" aria-label="Verdicts so far">${[...verdicts].reverse().slice(0, 20).map(([id, verdict]) => html`<li key=${id}>
        <${Verdict} verdict=${verdict} /> <code>${id}</code></li>`)}</ul>`}
    ${error && html`<${ErrorBox} title="The check did not finish"><p>${error}</p><//>`}${report && html`<${Report} report=${report} before=${before} />`}`}</div>`;
}

const Verdict = ({ verdict, count }) => html`<span class="badge ${verdict}">${count} ${verdict}</span>`;
const kindsOf = (verdicts) => [...new Set([...ORDER, ...verdicts])].filter((kind) => verdicts.includes(kind));
const Counts = ({ verdicts, children }) => html`<p class="row">${kindsOf(verdicts).map((kind) => html`<${Verdict} verdict=${kind}
  count=${verdicts.filter((each) => each === kind).length} />`)}${children}</p>`;

function Report({ report, before }) {
  const { rows } = report;
  const [query, setQuery] = useState("");
  const [verdict, setVerdict] = useState("");
  const all = rows.map((row) => row.verdict);
  const verdicts = kindsOf(all);
  const changed = rows.filter((row) => before && before[row.id] !== row.verdict);
  const found = rows.filter((row) => (!verdict || row.verdict === verdict) && hasWords(`${row.id} ${row.paraphrase} ${row.level}`, query))
    .sort((one, other) => verdicts.indexOf(one.verdict) - verdicts.indexOf(other.verdict));
  return html`<${Counts} verdicts=${all}><button onClick=${() => download("report.json", JSON.stringify(report))}>Download the report</button><//>
    ${before && html`<section aria-label="Difference"><h3>Difference to the previous run</h3>${changed.length ? html`<ul>${changed.map((row) => html`<li>
      <code>${row.id}</code>: ${before[row.id] ?? "not checked"} → <${Verdict} verdict=${row.verdict} /></li>`)}</ul>` : html`<p>No verdict changed.</p>`}</section>`}
    <div class="row"><${Select} label="Verdict" value=${verdict} onChange=${setVerdict} options=${[["", "all"], ...verdicts]} />
      <${Search} label="Search rules" value=${query} onInput=${setQuery} /></div>
    <ul class="rules">${found.slice(0, 300).map((row) => html`<li key=${row.id}><${Verdict} verdict=${row.verdict} /> <code>${row.id}</code> ${row.level}
      <div>${row.paraphrase} ${/^https:/.test(row.url) && html`<a href=${row.url} target="_blank" rel="noopener noreferrer">${row.clause}</a>`}</div>
      <div class="muted">${row.reason} ${["fail", "warn"].includes(row.verdict) && row.findings.flatMap((each) => each.notes).map((note) => note.text).join(" ")}</div></li>`)}</ul>
    ${found.length > 300 && html`<p class="muted">300 of ${found.length} rules; search to see others.</p>`}`;
}
