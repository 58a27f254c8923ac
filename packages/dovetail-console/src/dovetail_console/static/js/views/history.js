/** The calls of this tab: result, run again, copy, save as test, compare. */
import { html, useState } from "../../vendor/preact.js";
import { post } from "../api.js";
import { Failure, Result } from "../results.js";
import { clockText, copy, download, linkTo, msText, notices } from "../ui.js";
import { Logs } from "./start.js";

const STATES = { running: "Running", started: "Started", done: "Done", error: "Error", cancelled: "Cancelled" };
const State = ({ status }) => html`<span class="badge ${status}">${STATES[status]}</span>`;

export function CallActions({ session, entry }) {
  const { tool, args, revision, result } = entry;
  const send = (path, more) => post(path, { server: session.name, tool, arguments: args, revision, ...more });
  const saveTest = () => send("test", { result })
    .then((file) => download(`test_${tool.replace(/\W/g, "_")}.py`, file), notices.failed("No test was made"));
  const copyAs = (name) => send("copy", { as: name, request: session.client.describe("tools/call", { name: tool, arguments: args }) })
    .then((file) => file.text()).then((text) => copy(text, `Copied as ${name}`)).catch(notices.failed("Not copied"));
  return html`<p class="row">${["dovetail call", "Python", "curl"].map((name) => html`<button onClick=${() => copyAs(name)}>Copy as ${name}</button>`)}
    <button onClick=${saveTest} disabled=${!result}>Save as test</button>
    <a class="button" href=${linkTo(session.name, "revisions", entry.id)}>All revisions</a></p>`;
}

export function CallView({ session, entry }) {
  const { status, tool, taskId, progress: { progress, total, message } = {}, logs, result, error } = entry;
  return html`<section class="call box" aria-label="Call of ${tool}"><p class="row" role="status"><${State} status=${status} />${msText(entry.ms)}
      ${taskId && html`<a href=${linkTo(session.name, "tasks", taskId)}>Task ${taskId.slice(0, 12)}</a>`}
      ${status === "running" && html`<button class="danger" onClick=${() => session.cancel(entry)}>Cancel</button>`}</p>
    ${taskId && status === "running" && html`<p role="status">${session.tasks.get(taskId)?.statusMessage}</p>`}
    ${progress !== undefined && html`<p><progress aria-label="Progress" max=${total ?? 1} value=${total && progress}></progress> ${progress}
      ${total && ` of ${total}`} ${message}</p>`}
    ${logs.length > 0 && html`<${Logs} logs=${logs} />`}${error && html`<${Failure} error=${error} />`}
    ${result ? html`<${Result} result=${result} session=${session} />` : status !== "running" && !error
      && html`<p class="muted">The result was kept until the page was loaded again.</p>`}</section>`;
}

export function History({ session, tool, onAgain }) {
  const [open, setOpen] = useState(null);
  const entries = session.history.filter((entry) => !tool || entry.tool === tool).slice(0, 50);
  return entries.length > 0 && html`<h3>History</h3><ul class="history">${entries.map((entry) => html`<li key=${entry.id}><div class="row">
      <button class="quiet row-button" aria-expanded=${open === entry.id} onClick=${() => setOpen(open === entry.id ? null : entry.id)}>
        <${State} status=${entry.status} /> <span class="muted">${clockText(entry.at).slice(0, 8)}</span> ${!tool && entry.tool}
        ${" "}<code>${JSON.stringify(entry.args).slice(0, 80)}</code> ${msText(entry.ms)}</button>
      <button onClick=${() => onAgain(entry)}>Run again</button></div>
    ${open === entry.id && html`<div class="history-detail"><${CallActions} session=${session} entry=${entry} /><${CallView} session=${session} entry=${entry} /></div>`}</li>`)}</ul>`;
}
