/** A live time line of every message, of this page or (with --watch) of all clients. */
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { post, stream } from "../api.js";
import { ErrorBox, LongText, Search, Select, clockText, download, hasWords, msText, notices, sizeText } from "../ui.js";

function useWatched(session, isOn) {
  const frames = useRef([]);
  const [state, setState] = useState({});
  useEffect(() => {
    if (!isOn) return undefined;
    const controller = new AbortController();
    (async () => {
      frames.current = [];
      for await (const { data } of stream("traffic", { signal: controller.signal })) {
        frames.current = [...frames.current.slice(-2000), data];
        setState({});
      }
    })().catch((error) => controller.signal.aborted || setState({ error: error.message }));
    return () => controller.abort();
  }, [isOn, session.restarts]);
  return [frames, state.error];
}

export function Traffic({ session, config: { watch } }) {
  const [source, setSource] = useState(watch ? "all" : "own");
  const [query, setQuery] = useState("");
  const [direction, setDirection] = useState("");
  const [paused, setPaused] = useState(null);
  const [open, setOpen] = useState(null);
  const [watched, error] = useWatched(session, source === "all");
  const frames = paused ?? (source === "all" ? watched.current : session.frames);
  const found = frames.filter((frame) => (!direction || frame.direction === direction)
    && hasWords(`${frame.method} ${frame.target} ${frame.kind} ${frame.id} ${frame.principal} ${frame.http?.method} ${frame.text}`, query));
  const save = () => post("evidence", { frames: found, revision: session.client.revision })
    .then((file) => download("evidence.zip", file), notices.failed("Not exported"));
  const clear = () => {
    Object.assign(session, { frames: [], frameText: 0 });
    watched.current = [];
    session.changed();
  };
  return html`<div class="page"><div class="row">
      ${watch && html`<${Select} label="Show" value=${source} onChange=${setSource} options=${[["all", "All clients"], ["own", "This page"]]} />`}
      <${Select} label="Direction" value=${direction} onChange=${setDirection} options=${[["", "Both"], ["out", "To the server"], ["in", "From the server"]]} />
      <${Search} label="Filter messages" value=${query} onInput=${setQuery} />
      <button aria-pressed=${paused !== null} onClick=${() => setPaused(paused ? null : [...frames])}>Pause</button>
      <button onClick=${clear}>Clear</button><button onClick=${save}>Export</button></div>
    ${error && html`<${ErrorBox} title="The traffic of other clients is not available"><p>${error}</p><//>`}
    <p class="muted" role="status">${found.length} of ${frames.length} messages</p>
    <ol class="frames">${found.slice(-300).reverse().map((frame) => html`<${Row} key=${source + frame.n} frame=${frame} isOpen=${open === frame.n}
      onOpen=${() => setOpen(open === frame.n ? null : frame.n)} />`)}</ol></div>`;
}

function Row({ frame: { at, direction, kind, method, target, id, principal, http, text, ms }, isOpen, onOpen }) {
  return html`<li><button class="quiet row-button" aria-expanded=${isOpen} onClick=${onOpen}><span class="muted">${clockText(at * 1000)}</span>
      ${direction === "out" ? " → " : " ← "}<span class="badge ${kind}">${kind}</span> <code>${method ?? http?.method ?? http?.status}</code> ${target}
      ${principal && html` <span class="badge">${principal}</span>`} <span class="muted">${id !== null && `#${id} `}${sizeText(text.length)} ${msText(ms)}</span></button>
    ${isOpen && http && html`<${LongText} label="HTTP" text=${[`${http.method ?? http.status} ${http.url}`, ...(http.headers ?? []).map((pair) => pair.join(": "))].join("\n")} />`}
    ${isOpen && html`<${LongText} label="Raw bytes" text=${text} />`}</li>`;
}
