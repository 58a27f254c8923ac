/** The same call at all revisions, side by side. */
import { html, useState } from "../../vendor/preact.js";
import { isObject } from "../json.js";
import { Failure, Result } from "../results.js";
import { Select, linkTo, msText } from "../ui.js";
import { mayRun } from "./tools.js";

function differences(one, other, path = "") {
  if (JSON.stringify(one) === JSON.stringify(other)) return [];
  if (!isObject(one) || !isObject(other)) return [path];
  return Object.keys({ ...one, ...other }).flatMap((key) => differences(one[key], other[key], path ? `${path}.${key}` : key));
}

/** The view; the item is the id of a call in the history. */
export function Revisions({ session, config: { revisions }, item }) {
  const { history } = session;
  const [id, setId] = useState(item);
  const [columns, setColumns] = useState({});
  const [running, setRunning] = useState(null);
  const call = history.find((entry) => entry.id === id) ?? history[0];
  const run = async () => {
    if (!(await mayRun(session, call.tool))) return;
    setColumns({});
    // One after the other: a server may ask questions, and a browser has six connections per host.
    for (const revision of revisions) {
      setRunning(revision);
      const client = session.makeClient(revision);
      const made = await (async () => {
        await client.connect();
        const tool = (await client.list("tools/list", "tools")).find((each) => each.name === call.tool);
        if (!tool) throw new Error("The tool is not listed at this revision");
        const support = client.taskSupport(tool);
        return session.run(call.tool, call.args, { client, asTask: support === "required" || (call.asTask && support === "optional") });
      })().catch((error) => ({ error }));
      client.close();
      setColumns((now) => ({ ...now, [revision]: made }));
    }
    setRunning(null);
  };
  const first = Object.values(columns).find((each) => each.result)?.result;
  return html`<h2>The same call at all revisions</h2>${call ? html`<div class="row"><${Select} label="Call" value=${call.id} onChange=${setId}
      options=${history.map((entry) => [entry.id, `${entry.tool} ${JSON.stringify(entry.args)}`.slice(0, 80)])} />
      <button class="primary" onClick=${run} disabled=${running !== null}>Run at all revisions</button></div>
    <div class="columns">${revisions.map((revision) => html`<section class="box" aria-label=${revision}><h3>${revision}</h3>
      ${columns[revision] ? html`<${Column} made=${columns[revision]} first=${first} session=${session} />`
        : html`<p class="muted">${running === revision ? "Running…" : "Not run yet."}</p>`}</section>`)}</div>`
    : html`<p class="muted">Run a <a href=${linkTo(session.name, "tools")}>tool</a> first, then compare it here.</p>`}`;
}

function Column({ made: { result, error, ms }, first, session }) {
  const paths = result ? differences(first, result).slice(0, 20) : [];
  const word = result === first ? "first" : paths.length ? "differs" : "same";
  return html`<p>${msText(ms)} ${result && html`<span class="badge ${word}">${word}</span>`} ${paths.map((path) => html`<code>${path}</code> `)}</p>
    ${error && html`<${Failure} error=${error} />`}${result && html`<${Result} result=${result} session=${session} />`}`;
}
