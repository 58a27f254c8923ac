/** Sign-in: an API key, or OAuth with every request and response of the flow. */
import { html, useState } from "../../vendor/preact.js";
import { stream } from "../api.js";
import { ErrorBox, Field, LongText, memory, notices } from "../ui.js";

/** The view. Keys and tokens are kept for this tab only. */
export function SignIn({ session }) {
  const { keys, oauth, key_header: header = "Authorization" } = session.server.guard ?? {};
  const [key, setKey] = useState("");
  const use = async (value, name = header) => {
    memory.set(`key:${session.name}`, value && { key: value, header: name });
    await session.connect();
    if (session.state === "ready") notices.add(value ? "The server accepts it." : "Signed out.");
  };
  const submit = (event) => {
    event.preventDefault();
    use(key.trim());
    setKey("");
  };
  return html`<div class="page"><h2>Sign-in</h2>${!keys && !oauth && html`<p class="muted">This server needs no sign-in.</p>`}
    ${memory.get(`key:${session.name}`) && html`<p class="row"><span class="badge done">A key or token is in use</span>
      <button onClick=${() => use(null)}>Sign out</button></p>`}
    <h3>API key</h3><form onSubmit=${submit}><${Field} id="api-key" label="Key or token" type="password" required value=${key} onInput=${setKey}>
      <p class="muted">Sent as <code>${header}</code>. Kept in this tab until you close it.</p><//><button class="primary">Use the key</button></form>
    ${oauth && html`<${OAuth} session=${session} use=${use} />`}</div>`;
}

function OAuth({ session, use }) {
  const [steps, setSteps] = useState([]);
  const [{ controller, url, done, error }, setState] = useState({});
  const start = async () => {
    const stop = new AbortController();
    setSteps([]);
    setState({ controller: stop });
    // Opened by the click itself, because browsers block windows that are opened later.
    const page = window.open("about:blank", "_blank");
    try {
      for await (const { event, data } of stream("sign-in", { body: { server: session.name }, signal: stop.signal })) {
        if (event === "error") throw new Error(data.message);
        else if (event === "open" && /^https?:/i.test(data.url)) {
          if (page) page.location = data.url;
          setState({ controller: stop, url: data.url });
        } else if (event === "done") {
          setState({ done: data });
          await (data.token ? use(data.token, "Authorization") : session.connect());
        } else setSteps((now) => [...now, { event, ...data }]);
      }
    } catch ({ message }) {
      page?.close();
      setState({ error: stop.signal.aborted ? "Stopped" : message });
    }
  };
  return html`<h3>OAuth</h3><p class="row"><button class="primary" onClick=${start} disabled=${controller}>Sign in</button>
      ${controller && html`<button onClick=${() => controller.abort()}>Stop</button>`}</p>
    <p role="status">${url && html`Sign in in the other window, or <a href=${url} target="_blank" rel="noopener">open it here</a>.`}
      ${done && html`<span class="badge done">Signed in</span> Scopes: ${[done.scopes ?? []].flat().join(" ") || "none"}`}</p>
    ${error && html`<${ErrorBox} title="The sign-in failed"><p>${error}</p><//>`}
    ${steps.map(({ event, step, method, status, url: address, headers, body }) => html`<details><summary><span class="badge ${status >= 400 ? "error" : ""}">
      ${event === "request" ? `→ ${method}` : `← ${status}`}</span> ${step} <code>${address}</code></summary>
      <${LongText} label="Message" text=${`${JSON.stringify(headers, null, 2)}\n\n${typeof body === "string" ? body : JSON.stringify(body, null, 2)}`} /></details>`)}`;
}
