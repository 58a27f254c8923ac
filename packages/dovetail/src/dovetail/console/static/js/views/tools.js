/** Tools: the list, the schema for people, the form, and calls. */
import { html, useEffect, useMemo, useState } from "../../vendor/preact.js";
import { SchemaForm } from "../form.js";
import { Markdown } from "../markdown.js";
import { describeType, initialValue, resolve, validate } from "../schema.js";
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

/** The dialog of mayRun. */
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

const LIMITS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
  "minItems", "maxItems", "uniqueItems", "default", "const", "enum"];

function Schema({ schema, root }) {
  const found = resolve(schema, root) ?? {};
  const parts = [...Object.entries(found.properties ?? {}), ...(found.items ? [["each item", found.items]] : []),
    ...(found.anyOf ?? found.oneOf ?? found.allOf ?? []).map((part, n) => [`option ${n + 1}`, part])];
  return parts.length ? html`<ul class="schema">${parts.map(([name, part]) => html`<${Part} name=${name} schema=${part} root=${root}
    isRequired=${found.required?.includes?.(name)} />`)}</ul>` : html`<p class="muted">No parameters.</p>`;
}

function Part({ name, schema, root, isRequired }) {
  const [open, setOpen] = useState(false);
  const found = (schema instanceof Object && resolve(schema, root)) || {};
  const isDeep = found.properties || found.items || found.anyOf || found.oneOf || found.allOf;
  return html`<li><code>${name}</code> <span class="muted">${describeType(schema, root)}${isRequired && ", required"}</span> ${found.description}
    <div class="muted">${LIMITS.filter((key) => found[key] !== undefined).map((key) => html`${key} <code>${JSON.stringify(found[key])}</code> `)}</div>
    ${isDeep && html`<button class="quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"} the parts of ${name}</button>`}
    ${isDeep && open && html`<${Schema} schema=${schema} root=${root} />`}</li>`;
}

/** The view of all tools, or of one. */
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

/**
 * The reserved place for MCP App views. A view is HTML of the server, so it must run in an
 * <iframe sandbox="allow-scripts"> of another origin, which the Content-Security-Policy names in frame-src,
 * and talk by postMessage with a check of event.source. Until then the page says that there is one.
 */
function AppFrame({ tool: { _meta: meta } }) {
  const uri = meta?.ui?.resourceUri ?? meta?.["ui/resourceUri"];
  return uri && html`<p class="box">This tool has an MCP App view (<code>${String(uri)}</code>). The console shows only its data.</p>`;
}

function Tool({ session, tool, onAgain }) {
  const { client, values, history, state } = session;
  const { name, inputSchema: schema = {}, outputSchema, description, annotations = {} } = tool;
  // The value survives a change of view and a restart of the server.
  const [value, setValue] = useState(() => values.get(name) ?? initialValue(schema, schema));
  const [errors, setErrors] = useState([]);
  const [wantsTask, setTask] = useState(client.traits.modern);
  const support = client.taskSupport(tool);
  const asTask = support === "required" || (support === "optional" && wantsTask);
  const entry = history.find((each) => each.tool === name && (each.result || each.error || each.status === "running"));
  // Not `disabled`, which would take the focus away.
  const canRun = entry?.status !== "running" && state === "ready";
  useEffect(() => void values.set(name, value), [value]);
  const change = (next, found) => {
    setValue(next);
    // Errors are listed when the user runs the tool, and then until they are gone.
    if (errors.length) setErrors(found);
  };
  const run = async (event, isForced) => {
    event.preventDefault();
    const found = isForced === true ? [] : validate(schema, value, schema);
    setErrors(found);
    if (!canRun || found.length || !(await mayRun(session, name))) return;
    // Below a long form the result would not be seen.
    const show = () => setTimeout(() => document.querySelector(".call")?.scrollIntoView({ block: "nearest" }), 50);
    session.run(name, value, { asTask }).then(show);
    show();
  };
  const hints = Object.keys(annotations).filter((key) => annotations[key] === true);
  return html`<article data-tool=${name}><h2>${titleOf(tool)}</h2>
    <p>${titleOf(tool) !== name && html`<code>${name}</code> `}${hints.map((hint) => html`<span class="badge">${hint.replace("Hint", "")}</span> `)}</p>
    ${description && html`<${Markdown} text=${String(description)} />`}<${AppFrame} tool=${tool} />
    <form class="call-form" onSubmit=${run} noValidate><${SchemaForm} schema=${schema} value=${value} onChange=${change} id="args" />
      ${support !== "forbidden" && html`<${Tick} label="Run as a task${client.traits.modern ? " if the server wants" : ""}" checked=${asTask}
        disabled=${support === "required"} onChange=${setTask} />`}
      ${errors.length > 0 && html`<${ErrorBox} title="The arguments do not match the schema">
        <ul>${errors.slice(0, 10).map((error) => html`<li><code>${error.path.join(".")}</code> ${error.message}</li>`)}</ul>
        <button type="button" onClick=${(event) => run(event, true)}>Send anyway</button><//>`}
      <p><button class="primary" aria-disabled=${!canRun}>Run</button></p></form>
    ${entry && html`<${CallView} session=${session} entry=${entry} />${entry.status !== "running" && html`<${CallActions} session=${session} entry=${entry} />`}`}
    <${History} session=${session} tool=${name} onAgain=${onAgain} />
    <details><summary>Input schema</summary><${Schema} schema=${schema} root=${schema} /></details>
    ${outputSchema && html`<details><summary>Output schema</summary><${Schema} schema=${outputSchema} root=${outputSchema} /></details>`}
    <details><summary>Definition</summary><${Json} value=${tool} label="Definition" /></details></article>`;
}
