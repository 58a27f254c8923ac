/** Results drawn by kind: text, Markdown, JSON, pictures, sound, resources, tables, errors. */
import { html, useState } from "../vendor/preact.js";
import { isObject, tryJson } from "./json.js";
import { Markdown, isMarkdown } from "./markdown.js";
import { ErrorBox, Json, LongText, Tabs, linkTo, sizeText } from "./ui.js";

const isTable = (value) => Array.isArray(value) && value.length > 0 && value.every((row) => isObject(row) && !Array.isArray(row));

const parseJson = (text) => (/^\s*[[{]/.test(text) && text.length < 5e6 ? tryJson(text) : undefined);

function Text({ text }) {
  const json = parseJson(text);
  const kind = json ? "Data" : text.length < 2e5 && isMarkdown(text) ? "Markdown" : "Text";
  const [chosen, choose] = useState(null);
  const shown = chosen ?? kind;
  return html`${kind !== "Text" && html`<${Tabs} label="Show as" selected=${shown} onSelect=${choose} tabs=${[[kind, kind], ["Text", "Text"]]} />`}
    ${shown === "Text" ? html`<${LongText} text=${text} />` : json ? html`<${Data} value=${json} />` : html`<${Markdown} text=${text} />`}`;
}

function Media({ data, mimeType = "" }) {
  const [type] = /^(image|audio)(?=\/[\w.+-]+$)/.exec(mimeType) ?? [];
  const url = `data:${mimeType};base64,${data}`;
  return html`${type === "image" && html`<img src=${url} alt="Picture in the result" />`}${type === "audio" && html`<audio controls src=${url}></audio>`}
    <p class="row muted">${mimeType} ${sizeText(Math.floor(String(data).length * 0.75))}<a class="button" href=${url} download="file">Download</a></p>`;
}

export const Resource = ({ contents = {} }) => html`<div class="resource"><p class="muted"><code>${contents.uri}</code> ${contents.mimeType}</p>
  ${contents.blob ? html`<${Media} data=${contents.blob} mimeType=${contents.mimeType} />` : html`<${Text} text=${String(contents.text ?? "")} />`}</div>`;

export function Block({ block, session }) {
  const { type, text, resource, uri, title, name, description } = block ?? {};
  if (type === "text") return html`<${Text} text=${String(text)} />`;
  if (type === "image" || type === "audio") return html`<${Media} ...${block} />`;
  if (type === "resource") return html`<${Resource} contents=${resource} />`;
  if (type === "resource_link") return html`<p><a href=${linkTo(session.name, "resources", uri)}>${title ?? name ?? uri}</a> <span class="muted">${description}</span></p>`;
  return html`<${Data} value=${block} />`;
}

export const Data = ({ value }) => isTable(value) ? html`<${Table} rows=${value} />` : html`<${Tree} value=${value} />`;

function Table({ rows }) {
  const [limit, setLimit] = useState(200);
  const names = [...new Set(rows.slice(0, 100).flatMap(Object.keys))].slice(0, 50);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>
    <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.slice(0, limit).map((row) => html`<tr>${names.map((name) => html`<td>
      ${isObject(row[name]) ? html`<${Tree} value=${row[name]} depth=${9} />` : String(row[name] ?? "")}</td>`)}</tr>`)}</tbody></table></div>
    ${rows.length > limit && html`<button onClick=${() => setLimit(limit * 10)}>Show more of ${rows.length} rows</button>`}`;
}

// The inner parts are drawn when they are opened, so deep data costs nothing.
function Tree({ value, name, depth = 0 }) {
  const [open, setOpen] = useState(depth < 2);
  const [limit, setLimit] = useState(200);
  const label = name !== undefined && html`<span class="key">${name}: </span>`;
  if (!isObject(value)) return html`<div class="leaf">${label}${String(JSON.stringify(value)).slice(0, 5000)}</div>`;
  const keys = Object.keys(value);
  return html`<details class="tree" open=${open} onToggle=${(event) => setOpen(event.target.open)}>
    <summary>${label}${Array.isArray(value) ? `[${keys.length}]` : `{${keys.length}}`}</summary>
    ${open && (isTable(value) ? html`<${Table} rows=${value} />`
      : keys.slice(0, limit).map((key) => html`<${Tree} key=${key} name=${key} value=${value[key]} depth=${depth + 1} />`))}
    ${open && !isTable(value) && keys.length > limit && html`<button onClick=${() => setLimit(limit * 10)}>Show more</button>`}</details>`;
}

export function Result({ result, session }) {
  const [tab, setTab] = useState("Result");
  const { content = [], structuredContent: structured, isError } = result;
  // Servers repeat structured content as text for older clients: show it once.
  const text = content.length === 1 && JSON.stringify(parseJson(content[0].text ?? ""));
  const isRepeated = isObject(structured) && text && [structured, structured.result].some((value) => JSON.stringify(value) === text);
  return html`<div class="result"><${Tabs} label="Parts of the result" tabs=${[["Result", "Result"], ["Raw", "Raw"]]} selected=${tab} onSelect=${setTab} />
    ${tab === "Raw" ? html`<${Json} value=${result} />` : html`<div class=${isError ? "box error-box" : ""}>
      ${isError && html`<strong>The tool reports an error</strong>`}
      ${!isRepeated && content.map((block) => html`<div class="block"><${Block} block=${block} session=${session} /></div>`)}
      ${structured !== undefined && html`<div class="block">${!isRepeated && html`<h4>Structured content</h4>`}<${Data} value=${structured} /></div>`}
      ${!content.length && structured === undefined && html`<p class="muted">The result is empty.</p>`}</div>`}</div>`;
}

export function Failure({ error: { kind, code, message, data } }) {
  const links = code === -32042 ? data?.elicitations ?? [] : [];
  return html`<${ErrorBox} title=${{ rpc: `Error ${code}`, cancelled: "Cancelled", network: "No connection" }[kind] ?? "Error"}><p>${message}</p>
    ${links.map(({ url, message: text }) => html`<${Markdown} text=${`${text} ${url}`} />`)}${data !== undefined && !links.length && html`<${Data} value=${data} />`}<//>`;
}
