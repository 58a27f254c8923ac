/**
 * A form for any JSON Schema: fields on one tab, the same value as JSON on the other.
 *
 * The server describes what to draw as a tree of nodes (see forms/nodes.py). A property that is left out is
 * undefined, which differs from an empty string. Every place of the value carries its JSON pointer in data-path.
 */

import { html, createContext, useContext, useLayoutEffect, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { FormState } from "./form-state.js";
import { Draft, OMIT, isEqual, own, parseJson, readNumber, typeOf } from "./json.js";
import { Tabs } from "./ui.js";

const Form = createContext(null);
const PAGE = 100;

let lastId = 0;
const useId = () => useMemo(() => `sf${++lastId}`, []);
const pointer = (path) => path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
const print = (value) => (value instanceof Draft ? value.text : (JSON.stringify(value, null, 2) ?? ""));

const Button = ({ text, of, ...rest }) => html`<button type="button" aria-label=${of} ...${rest}>${text}</button>`;

// --- Controls of single values: they get {node, kind, value, set, attributes, name}

function readTyped(text) {
  if (/^\s*-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?\s*$/i.test(text)) return readNumber(text.trim());
  return text.trim() ? new Draft(text, "must be a number") : undefined;
}

function readJson(text) {
  try {
    return text.trim() ? parseJson(text) : undefined;
  } catch (error) {
    return new Draft(text, `is not JSON: ${error.message}`);
  }
}

function InputControl({ node, kind, value, set, attributes, name }) {
  const isText = kind === "string";
  const read = isText ? (text) => text || undefined : kind === "json" ? readJson : readTyped;
  const [typed, setTyped] = useState(null);
  const [isTall, setTall] = useState(kind === "json" || node.isTall);
  // Show what was typed as long as it means the value: "1.50" must not turn into "1.5" under the cursor.
  const text = typed !== null && isEqual(read(typed), value) ? typed : isText ? (value ?? "") : print(value);
  const onInput = ({ target }) => {
    setTyped(target.value);
    set(read(target.value));
  };
  const props = { ...attributes, value: text, onInput, spellcheck: isText, autocomplete: "off" };
  // A single line drops line breaks.
  if (isTall || /[\n\r]/.test(text)) {
    return html`<textarea ...${props} rows=${Math.min(16, text.split("\n").length + 2)} />
      ${value instanceof Draft && html`<${Button} text="Use as text" of="Use as text: ${name}" onClick=${() => set(value.text)} />`}`;
  }
  const grow = (event) => {
    const isBreak = event.key === "Enter" && event.shiftKey;
    if (isBreak) event.preventDefault();
    if (isText && (isBreak || event.clipboardData?.getData("text").includes("\n"))) setTall(true);
  };
  return html`<input ...${props} type=${(isText && node.input) || "text"} onKeyDown=${grow} onPaste=${grow} />`;
}

function SelectControl({ node: { choices }, value, set, attributes: { placeholder, ...rest } }) {
  const index = choices.findIndex((choice) => isEqual(choice.value, value));
  return html`<select ...${rest} value=${index < 0 ? "" : String(index)} onChange=${({ target }) => set(choices[target.value]?.value)}>
    <option value="">${placeholder ? `(${placeholder})` : rest["aria-required"] ? "(choose)" : "(not sent)"}</option>
    ${choices.map(({ label }, i) => html`<option value=${String(i)}>${label}</option>`)}
  </select>`;
}

function Control(props) {
  const { node: { kind, choices }, value } = props;
  const type = typeOf(value);
  const fits = /draft|undefined/.test(type) || type === (kind === "integer" ? "number" : kind);
  if (choices && (fits || kind === "choice")) return html`<${SelectControl} ...${props} />`;
  return html`<${InputControl} ...${props} kind=${fits && /string|number|integer/.test(kind) ? kind : "json"} />`;
}

// --- Containers: they get {node, value, path, name}

function ObjectFields({ node: { children, canAdd }, value, path, name }) {
  return html`
    ${Object.keys(children).map((key) => html`<${Node} key=${key} node=${children[key]} value=${own(value, key) ? value[key] : undefined}
      path=${[...path, key]} name=${key} />`)}
    ${canAdd ? html`<${Adder} path=${path} name=${name} />` : !Object.keys(children).length && html`<p class="muted">Nothing to fill in.</p>`}
  `;
}

function Adder({ path, name }) {
  const form = useContext(Form);
  const [key, setKey] = useState("");
  const [message, setMessage] = useState("");
  const id = useId();
  const submit = async () => {
    const refused = await form.edit("entry", path, { name: key });
    setMessage(refused);
    if (!refused) setKey("");
  };
  const onKeyDown = (event) => event.key === "Enter" && (event.preventDefault(), submit());
  return html`<div class="row">
    <input placeholder="new name" aria-label="Name of the new entry in ${name}" aria-invalid=${message ? "true" : undefined} aria-describedby=${id}
      value=${key} onInput=${({ target }) => setKey(target.value)} onKeyDown=${onKeyDown} autocomplete="off" />
    <${Button} text="Add" of="Add the new entry to ${name}" onClick=${submit} />
    <p class="error-text" id=${id} role="status">${message}</p>
  </div>`;
}

function ArrayItems({ node, value, path, name }) {
  const form = useContext(Form);
  const list = useRef(null);
  // What to focus when it is drawn; a new item is drawn when the server has answered.
  const wanted = useRef([]);
  const { children, fixed = 0, state } = node;
  const shown = state?.shown ?? PAGE;
  useLayoutEffect(() => {
    const found = wanted.current.map((selector) => list.current.querySelector(selector)).find(Boolean);
    found?.focus();
    if (found) wanted.current = [];
  });
  const update = (order, ...labels) => {
    wanted.current = labels.map((label) => `[aria-label="${CSS.escape(label)}"]`);
    form.setNode(path, { ...node, children: order.map((i) => children[i]) });
    form.set(path, order.map((i) => value[i]));
  };
  const show = (count) => form.setNode(path, { ...node, state: { ...state, shown: count } });
  const all = [...value.keys()];
  const add = () => {
    const item = `:scope > ol > li:nth-child(${value.length + 1})`;
    wanted.current = [`${item} :is(input, select, textarea)`, `${item} button`];
    if (value.length >= shown) show(value.length + 1);
    form.edit("item", path);
  };
  const addLabel = `Add item to ${name}`;
  const removeLabel = (i) => `Remove ${name} ${i + 1}`;
  const remove = (i) => update(all.filter((k) => k !== i), removeLabel(Math.min(i, value.length - 2)), addLabel);
  const move = (i, j, text, way) => {
    const canMove = own(value, j) && j >= fixed;
    const swap = () => canMove && update(all.map((k) => (k === i ? j : k === j ? i : k)), `Move ${name} ${j + 1} ${way}`);
    return html`<${Button} text=${text} of="Move ${name} ${i + 1} ${way}" aria-disabled=${!canMove} onClick=${swap} />`;
  };
  return html`<div ref=${list}>
    <ol class="sf-items">
      ${value.slice(0, shown).map((item, i) => html`<li>
        <span class="muted" aria-hidden="true">${i + 1}</span>
        <${Node} node=${children[i]} value=${item} path=${[...path, i]} name="${name} ${i + 1}" isBare />
        <span class="sf-buttons">
          ${i >= fixed && value.length - fixed > 1 && [move(i, i - 1, "↑", "up"), move(i, i + 1, "↓", "down")]}
          ${(i >= fixed || i === value.length - 1) && html`<${Button} text="✕" of=${removeLabel(i)} onClick=${() => remove(i)} />`}
        </span>
      </li>`)}
    </ol>
    ${value.length > shown && html`<${Button} text="Show more (${value.length - shown})" onClick=${() => (show(shown + PAGE), form.check())} />`}
    ${node.canAdd && html`<${Button} text="Add item" of=${addLabel} onClick=${add} />`}
  </div>`;
}

function Ticks({ node: { ticks }, value, set }) {
  const isOn = (option) => value.some((entry) => isEqual(entry, option.value));
  const toggle = (option) => set(ticks.filter((other) => isOn(other) !== (other === option)).map((other) => other.value));
  return html`<div class="row">
    ${ticks.map((option) => html`<label><input type="checkbox" checked=${isOn(option)} onChange=${() => toggle(option)} /> ${option.label}</label>`)}
  </div>`;
}

// --- One place of the value

function Node({ node, value, path, name, isBare }) {
  const form = useContext(Form);
  const [isTouched, setTouched] = useState(false);
  const id = useId();
  // Wait for the description of what was just added.
  if (!node) return html`<p class="muted">…</p>`;
  const { kind, type, title = name || '""', about, example, isRequired, isListed, placeholder, ticks, variants = [], state } = node;
  const set = (next) => form.set(path, next === undefined && isListed ? OMIT : next);
  const pick = (level, index) => {
    const picked = [...variants.slice(0, level).map((union) => union.index), index];
    form.setNode(path, { ...node, state: { ...state, picked } });
    form.edit("pick", path, { level });
  };
  const leaveOut = () => {
    form.setNode(path, { ...node, state: undefined });
    set(undefined);
  };
  const remove = () => {
    form.setNode(path, OMIT);
    form.set(path, OMIT);
  };

  const isContainer = kind === "object" || kind === "array";
  const isGroup = isContainer && typeOf(value) === kind;
  const isFramed = isGroup || variants.length > 0;
  const errors = value instanceof Draft ? [value.message] : form.problem ? [] : (node.errors ?? []);
  const isWrong = errors.length > 0 && (value !== undefined || isTouched);
  const described = [about && `${id}d`, isWrong && `${id}e`].filter(Boolean).join(" ") || undefined;
  const attributes = {
    id,
    placeholder,
    "aria-label": isBare || isFramed ? name : undefined,
    "aria-describedby": described,
    "aria-invalid": isWrong ? "true" : undefined,
    "aria-required": isRequired ? "true" : undefined,
  };
  const Body = ticks && isGroup ? Ticks : !isGroup ? Control : kind === "object" ? ObjectFields : ArrayItems;
  const body = isContainer && value === undefined
    ? html`<${Button} id=${id} text="Add" of="Add ${name}" aria-describedby=${described} onClick=${() => form.edit("start", path)} />`
    : isGroup && !node.children ? html`<p class="muted">…</p>`
      : html`<${Body} ...${{ node, value, path, name, set, attributes }} />`;
  const action = (text, words, onClick) => html`<${Button} text=${text} of="${words} ${name}" onClick=${onClick} />`;
  const head = html`${title !== name && html`<code>${name}</code> `}<span class="muted">${type}</span>
    ${isRequired && html` <span class="muted">required</span>`}`;
  return html`<div class="sf-node ${isContainer ? "sf-wide" : ""} ${isFramed && !isBare ? "sf-frame" : ""}" role=${isFramed ? "group" : undefined}
      aria-label=${isFramed ? name || '""' : undefined} aria-describedby=${isFramed ? described : undefined}
      data-path=${pointer(path)} data-kind=${kind} onfocusout=${() => setTouched(true)}>
    ${!isBare && html`<div class="sf-head"><label for=${isFramed ? undefined : id}>${title}</label> ${head}</div>`}
    <span class="sf-buttons">
      ${value === undefined && node.canBeEmpty && action('Send ""', "Send an empty string:", () => set(""))}
      ${value === undefined && example !== undefined && action("Use example", "Use example:", () => set(example))}
      ${value !== undefined && isListed && !isRequired && action("Leave out", "Leave out", leaveOut)}
      ${node.isExtra && action("Remove", "Remove", remove)}
    </span>
    ${about && html`<p class="muted about" id="${id}d">${about}</p>`}
    ${variants.map(({ labels, index }, level) => html`<select class="sf-variant" aria-label="Variant of ${name}" value=${String(index)} onChange=${({ target }) => pick(level, Number(target.value))}>
      ${labels.map((label, i) => html`<option value=${String(i)}>${label}</option>`)}
    </select>`)}
    ${body}
    <p class="error-text" id="${id}e" role="status">${isWrong && errors.join("; ")}</p>
  </div>`;
}

/** Return the FormState of a schema; it starts again if the schema changes. */
export function useForm(given) {
  const [, draw] = useReducer((n) => n + 1, 0);
  // A caller may build the schema anew for every drawing; what was typed stays if it is the same.
  const form = useMemo(() => new FormState({ ...given, onChange: draw, key: ++lastId }), [JSON.stringify(given.schema)]);
  useLayoutEffect(() => {
    form.check();
    return () => (form.onChange = () => {});
  }, [form]);
  return form;
}

/** The form. Send its value only if it is checked and has no errors, with JSON.stringify (see json.js). */
export function SchemaForm({ form, takesFocus, id = "form" }) {
  const [tab, setTab] = useState("form");
  const element = useRef(null);
  const { node, problem, errors } = form;
  form.isForm = tab === "form";
  useLayoutEffect(() => {
    if (takesFocus && node) element.current.querySelector("input, textarea, select")?.focus();
  }, [!node]);
  // Broken JSON cannot be shown as fields.
  const show = (name) => (form.value instanceof Draft && tab === "json") || setTab(name);
  const attributes = { "aria-label": "Value as JSON", "aria-describedby": `${id}-problems`, "aria-invalid": errors.length ? "true" : undefined };
  return html`<div class="sf" id=${id} aria-busy=${!form.isChecked} ref=${element}>
    <${Tabs} label="Input as" tabs=${[["form", "Form"], ["json", "JSON"]]} selected=${tab} onSelect=${show} />
    ${problem && html`<p class="error-text" role="status">The value ${problem}</p>`}
    ${tab === "json" ? html`<${InputControl} key=${form.key} kind="json" node=${{}} value=${form.value} set=${(next) => form.set([], next)} attributes=${attributes} name="value" />
        <ul class="sf-problems error-text" id="${id}-problems" role="status">
          ${errors.slice(0, 20).map(({ path, message }) => html`<li><code>${pointer(path)}</code> ${message}</li>`)}
        </ul>`
      : node && html`<${Form.Provider} value=${form}>
          <${Node} key=${form.key} node=${node} value=${form.value} path=${[]} name="arguments" isBare />
        <//>`}
  </div>`;
}
