/** The start page with all servers, and the overview of one. */
import { html } from "../../vendor/preact.js";
import { Markdown } from "../markdown.js";
import { Data } from "../results.js";
import { LongText, clockText, copy, count, linkTo, useObservable } from "../ui.js";

const urlOf = ({ endpoint }) => new URL(endpoint, location.href).href;

export const Start = ({ servers, sessionOf }) => html`<div class="page"><h1>Servers</h1>
  ${servers.map(({ name }) => html`<${Card} key=${name} session=${sessionOf(name)} />`)}</div>`;

function Card({ session }) {
  const { name, server, state, error, lists: { tools } } = useObservable(session);
  return html`<section class="box"><h2><a href=${linkTo(name, "tools")}>${server.title}</a> <span class="muted">${server.version}</span></h2>
    <p class="row"><span class="status ${state}">${error ?? state}</span>${tools && html`<span>${count(tools.length, "tools")}</span>`}<code>${urlOf(server)}</code></p>
    <${Snippets} server=${server} /></section>`;
}

const Snippets = ({ server }) => html`<details><summary>Use it in a client</summary>${server.clients.map(({ name, text }) => html`
  <p class="row"><strong>${name}</strong><button onClick=${() => copy(text)} aria-label="Copy for ${name}">Copy</button></p>
  <${LongText} text=${text} label="Settings for ${name}" />`)}</details>`;

export function Overview({ session: { client, server, logs }, config: { mode, revisions } }) {
  const { serverInfo = {}, instructions, excluded, capabilities, supported } = client;
  return html`<div class="page"><h2>${serverInfo.title ?? serverInfo.name ?? server.title} <span class="muted">${serverInfo.version}</span></h2>
    <p><code>${urlOf(server)}</code> ${client.revision}${mode === "server" ? `, supports ${revisions.join(", ")}` : supported && `, modern revisions: ${supported.join(", ")}`}</p>
    ${instructions && html`<${Markdown} text=${instructions} />`}
    ${excluded.length > 0 && html`<h3>Tools left out</h3>${excluded.map((tool) => html`<p><code>${tool.name}</code>: x-mcp-header: ${tool.message}</p>`)}`}
    <h3>Capabilities</h3><${Data} value=${capabilities} />
    <h3>Messages from the server</h3>${logs.length ? html`<${Logs} logs=${logs} />` : html`<p class="muted">None so far.</p>`}
    <h3>Clients</h3><${Snippets} server=${server} /></div>`;
}

export const Logs = ({ logs }) => html`<ul class="logs">${logs.map(({ level, at, logger, data }) => html`<li><span class="badge ${level}">${level}</span>
  ${" "}<span class="muted">${at && clockText(at)} ${logger}</span> ${typeof data === "string" ? data : JSON.stringify(data)}</li>`)}</ul>`;
