/** Resources and templates: read, complete, subscribe. */
import { html, useEffect, useMemo, useState } from "../../vendor/preact.js";
import { ask } from "../api.js";
import { Failure, Resource } from "../results.js";
import { Panes, clockText, count, notices } from "../ui.js";
import { CompletedInput, useRequest } from "./completion.js";

export function Resources({ session, item }) {
  const { lists: { resources, templates }, listErrors, updates } = session;
  const items = useMemo(() => resources && [...resources, ...(templates ?? [])].map(({ uri, uriTemplate, title, name }) =>
    ({ key: uri ?? uriTemplate, title: title ?? name, text: uri ?? uriTemplate, badge: uri ? null : "template" })), [resources, templates]);
  const template = templates?.find((each) => each.uriTemplate === item);
  const about = template ?? resources?.find((each) => each.uri === item) ?? {};
  return html`<${Panes} session=${session} view="resources" label="Resources" items=${items} item=${item} error=${listErrors.resources ?? listErrors.templates}>
    ${item && html`<article key=${item}><h2>${about.title ?? about.name ?? item}</h2><p><code>${item}</code> ${about.mimeType}</p><p>${about.description}</p>
      ${template ? html`<${Template} session=${session} template=${item} />` : html`<${Reader} session=${session} uri=${item} />`}</article>`}
    ${updates.length > 0 && html`<h3>Updates</h3><ul class="logs">${updates.slice(-20).reverse().map(({ at, uri }) =>
      html`<li><span class="muted">${clockText(at)}</span> <code>${uri}</code></li>`)}</ul>`}<//>`;
}

function Template({ session, template }) {
  const [values, setValues] = useState({});
  const [{ names = [], uri }, setFilled] = useState({});
  const [read, setRead] = useState(null);
  const expand = (use) => ask("uri", { template, values }).then(use, notices.failed("The template cannot be filled in"));
  useEffect(() => {
    let isOld = false;
    expand((filled) => isOld || setFilled(filled));
    return () => (isOld = true);
  }, [values]);
  return html`<form onSubmit=${(event) => (event.preventDefault(), expand((filled) => setRead(filled.uri)))}>
      ${names.map((name) => html`<${CompletedInput} key=${name} session=${session} reference=${{ type: "ref/resource", uri: template }}
        argument=${{ name }} values=${values} onChange=${(text) => setValues({ ...values, [name]: text })} />`)}
      <p class="muted">URI: <code>${uri}</code></p><button class="primary">Read</button></form>
    ${read && html`<${Reader} key=${read} session=${session} uri=${read} />`}`;
}

function Reader({ session, uri }) {
  const [{ result, error, cancel }, start] = useRequest();
  const { client, updates, state } = session;
  const isWatched = client.watched.has(uri);
  const changes = updates.filter((each) => each.uri === uri || each.uri.startsWith(`${uri}/`)).length;
  const read = () => start((signal) => client.request("resources/read", { uri }, { signal }));
  useEffect(() => void (state === "ready" && read()), [state, changes]);
  const toggle = () => client.subscribe(uri, !isWatched).catch(({ message }) => {
    client.watched.delete(uri);
    notices.add(`Not subscribed: ${message}`, "error");
  }).finally(() => session.changed());
  return html`<p class="row"><button onClick=${read}>Read again</button>${cancel && html`<button class="danger" onClick=${cancel}>Cancel</button>`}
      ${client.capabilities.resources?.subscribe && html`<button onClick=${toggle}>${isWatched ? "Unsubscribe" : "Subscribe"}</button>`}
      ${isWatched && html`<span class="badge done" role="status">Live, ${count(changes, "updates")}</span>`}</p>
    ${error && html`<${Failure} error=${error} />`}${result?.contents?.map((contents) => html`<${Resource} contents=${contents} />`)}`;
}
