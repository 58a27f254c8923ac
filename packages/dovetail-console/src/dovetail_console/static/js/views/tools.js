/** Tools: the list, the schema for people, the form, and calls. */
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { ask } from "../api.js";
import { SchemaForm, useForm } from "../form.js";
import { Markdown } from "../markdown.js";
import { Dialog, ErrorBox, Json, Observable, Panes, Tick, linkTo, memory, useObservable } from "../ui.js";
import { CallActions, CallView, History } from "./history.js";

const pending = Object.assign(new Observable(), { tool: null });
const titleOf = (tool) => tool.title ?? tool.annotations?.title ?? tool.name;

/** Resolves to true if the tool may run: it is read-only, or the user said yes. */
export async function mayRun(session, name) {
  const tool = session.lists.tools.find((each) => each.name === name) ?? { name };
  const key = `allowed:${session.name}:${name}`;
  if (!session.config.confirm || tool.annotations?.readOnlyHint === true || memory.get(key)) return true;
  return new Promise((answer) => {
    Object.assign(pending, { tool, key, answer });
    pending.changed();
  });
}

export function Confirm() {
  const { tool, key, answer } = useObservable(pending);
  const [isAllowed, setAllowed] = useState(false);
  if (!tool) return null;
  const finish = (isYes) => {
    if (isYes && isAllowed) memory.set(key, true);
    pending.tool = null;
    setAllowed(false);
    pending.changed();
    answer(isYes);
  };
  return html`<${Dialog} title="Run ${tool.name}?" onClose=${() => finish(false)}>
    <p>This tool does not declare that it only reads. It may ${tool.annotations?.destructiveHint === false ? "add" : "change or delete"} data.</p>
    <${Tick} label="Do not ask again for this tool" checked=${isAllowed} onChange=${setAllowed} />
    <p class="row"><button class="primary" data-focus onClick=${() => finish(true)}>Run</button><button onClick=${() => finish(false)}>Do not run</button></p><//>`;
}

// One level of a schema for people; `path` has the numbers of the parts that were opened.
function Schema({ schema, path = [] }) {
  const [{ parts, message = "Loading…" }, setAnswer] = useState({});
  useEffect(() => void ask("outline", { schema, path }).then(setAnswer, setAnswer), [schema]);
  if (!parts?.length) return html`<p class="muted">${parts ? "No parameters." : message}</p>`;
  return html`<ul class="schema">${parts.map((part, i) => html`<${Part} part=${part} schema=${schema} path=${[...path, i]} />`)}</ul>`;
}

function Part({ part: { name, type, isRequired, description, limits, hasParts }, ...at }) {
  const [open, setOpen] = useState(false);
  return html`<li><code>${name}</code> <span class="muted">${type}${isRequired && ", required"}</span> ${description}
    <div class="muted">${limits.map(([key, text]) => html`${key} <code>${text}</code> `)}</div>
    ${hasParts && html`<button class="quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"} the parts of ${name}</button>`}
    ${hasParts && open && html`<${Schema} ...${at} />`}</li>`;
}

function SchemaDetails({ title, ...rest }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${({ target }) => setOpen(target.open)}><summary>${title}</summary>${open && html`<${Schema} ...${rest} />`}</details>`;
}

export function Tools({ session, item }) {
  const { lists: { tools }, listErrors } = session;
  const items = useMemo(() => tools?.map((tool) => ({ key: tool.name, title: titleOf(tool), text: String(tool.description ?? "").split("\n")[0] })), [tools]);
  const tool = tools?.find((each) => each.name === item);
  const again = async ({ tool: name, args, asTask }) => {
    location.hash = linkTo(session.name, "tools", name);
    if (await mayRun(session, name)) session.run(name, args, { asTask });
  };
  return html`<${Panes} session=${session} view="tools" label="Tools" items=${items} item=${item} error=${listErrors.tools}>
    ${tool ? html`<${Tool} key=${item} session=${session} tool=${tool} onAgain=${again} />`
      : item && tools ? html`<${ErrorBox} title="There is no tool ${item}" />` : html`<${History} session=${session} onAgain=${again} />`}<//>`;
}

// A view is HTML of the server: it needs an <iframe sandbox="allow-scripts"> of another origin, which frame-src names.
function AppFrame({ tool: { _meta: meta } }) {
  const uri = meta?.ui?.resourceUri ?? meta?.["ui/resourceUri"];
  return uri && html`<p class="box">This tool has an MCP App view (<code>${String(uri)}</code>). The console shows only its data.</p>`;
}

function Tool({ session, tool, onAgain }) {
  const { client, values, history, state } = session;
  const { name, inputSchema: schema = {}, outputSchema, description, annotations = {} } = tool;
  // The value survives a change of view and a restart of the server.
  const form = useForm({ schema, value: values.get(name) });
  const [isRefused, setRefused] = useState(false);
  const errors = isRefused ? form.errors : [];
  const [wantsTask, setTask] = useState(client.traits.modern);
  const support = client.taskSupport(tool);
  const asTask = support === "required" || (support === "optional" && wantsTask);
  // A modern server says only by doing it which tools run as tasks.
  const canBeTask = support !== "forbidden" && (!client.traits.modern || history.some((each) => each.tool === name && each.taskId));
  const entry = history.find((each) => each.tool === name && (each.result || each.error || each.status === "running"));
  // Not `disabled`, which would take the focus away.
  const canRun = entry?.status !== "running" && state === "ready";
  useEffect(() => void values.set(name, form.value), [form.value]);
  // Errors are listed when the user runs the tool, and then until they are gone.
  useEffect(() => form.errors.length || setRefused(false), [form.errors]);
  const isWaiting = useRef(false);
  const run = async (event, isForced) => {
    event.preventDefault();
    if (isWaiting.current) return;
    isWaiting.current = true;
    await form.check();
    isWaiting.current = false;
    const isWrong = isForced !== true && form.errors.length > 0;
    setRefused(isWrong);
    const { value } = form;
    if (!canRun || isWrong || !(await mayRun(session, name))) return;
    // Below a long form the result would not be seen.
    const show = () => setTimeout(() => document.querySelector(".call")?.scrollIntoView({ block: "nearest" }), 50);
    session.run(name, value, { asTask }).then(show);
    show();
  };
  const hints = Object.keys(annotations).filter((key) => annotations[key] === true);
  return html`<article data-tool=${name}><h2>${titleOf(tool)}</h2>
    <p>${titleOf(tool) !== name && html`<code>${name}</code> `}${hints.map((hint) => html`<span class="badge">${hint.replace("Hint", "")}</span> `)}</p>
    ${description && html`<${Markdown} text=${String(description)} />`}<${AppFrame} tool=${tool} />
    <div class=${entry ? "split" : ""}><form class="call-form" onSubmit=${run} noValidate><${SchemaForm} form=${form} id="args" />
      ${canBeTask && html`<${Tick} label="Run as a task" checked=${asTask}
        disabled=${support === "required"} onChange=${setTask} />`}
      ${errors.length > 0 && html`<${ErrorBox} title="The arguments do not match the schema">
        <ul>${errors.slice(0, 10).map((error) => html`<li><code>${error.path.join(".")}</code> ${error.message}</li>`)}</ul>
        <button type="button" onClick=${(event) => run(event, true)}>Send anyway</button><//>`}
      <p class="bar"><button class="primary" aria-disabled=${!canRun}>Run</button></p></form>
    ${entry && html`<div class="side"><${CallView} session=${session} entry=${entry} />${entry.status !== "running" && html`<${CallActions} session=${session} entry=${entry} />`}</div>`}</div>
    <${History} session=${session} tool=${name} onAgain=${onAgain} />
    <${SchemaDetails} title="Input schema" schema=${schema} />
    ${outputSchema && html`<${SchemaDetails} title="Output schema" schema=${outputSchema} />`}
    <details><summary>Definition</summary><${Json} value=${tool} label="Definition" /></details></article>`;
}
