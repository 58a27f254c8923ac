/**
 * A form for any JSON Schema: fields on one tab, the same value as JSON on the other.
 *
 * A property that is left out is undefined, which differs from an empty string. Optional containers are drawn
 * when they are added, so recursive schemas stay cheap. Every place of the value carries its JSON pointer in
 * data-path.
 */

import { html, createContext, useContext, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import * as js from "./schema.js";
import { Tabs } from "./ui.js";

const Form = createContext(null);
// As a value it removes the property; undefined keeps the key as "not filled in yet".
const OMIT = Symbol("omit");
const PAGE = 100;

let lastId = 0;
const useId = () => useMemo(() => `sf${++lastId}`, []);
const pointer = (path) => path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
const own = (value, key) => typeof value === "object" && value !== null && Object.hasOwn(value, key);
const print = (value) => (value instanceof js.Draft ? value.text : (JSON.stringify(value, null, 2) ?? ""));

function change(value, [key, ...rest], next) {
  if (key === undefined) return next;
  const inner = rest.length ? change(own(value, key) ? value[key] : undefined, rest, next) : next;
  if (Array.isArray(value)) return value.map((item, i) => (i === key ? inner : item));
  if (inner !== OMIT) return { ...value, [key]: inner };
  const { [key]: removed, ...others } = value;
  return others;
}

// Errors as a tree: {own: [message], below: Map of key to tree}.
const newTree = () => ({ own: [], below: new Map() });
const NONE = newTree();

function treeOf(errors) {
  const tree = newTree();
  for (const { path, message } of errors) {
    const node = path.reduce((at, key) => at.below.get(key) ?? (at.below.set(key, newTree()), at.below.get(key)), tree);
    node.own.push(message);
  }
  return tree;
}

const Button = ({ text, of, kind, ...rest }) => html`<button type="button" class=${kind} aria-label=${of} ...${rest}>${text}</button>`;

// --- Controls of single values: they get {schema, kind, value, set, attributes, name}

function readNumber(text) {
  if (/^\s*-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?\s*$/i.test(text)) return js.readNumber(text.trim());
  return text.trim() ? new js.Draft(text, "must be a number") : undefined;
}

function readJson(text) {
  try {
    return text.trim() ? js.parseJson(text) : undefined;
  } catch (error) {
    return new js.Draft(text, `is not JSON: ${error.message}`);
  }
}

const INPUTS = { email: "email", uri: "url", date: "date", password: "password" };
const LONG = /(^|[_\W])(content|body|text|code|markdown|message|prompt|script|thought|html|css|sql)s?$/i;

function InputControl({ schema, kind, value, set, attributes, name }) {
  const isText = kind === "string";
  const read = isText ? (text) => text || undefined : kind === "json" ? readJson : readNumber;
  const [typed, setTyped] = useState(null);
  const [isTall, setTall] = useState(kind === "json" || (isText && !schema.format && (schema.contentMediaType || LONG.test(name))));
  // Show what was typed as long as it means the value: "1.50" must not turn into "1.5" under the cursor.
  const text = typed !== null && js.isEqual(read(typed), value) ? typed : isText ? (value ?? "") : print(value);
  const onInput = ({ target }) => {
    setTyped(target.value);
    set(read(target.value));
  };
  const props = { ...attributes, value: text, onInput, spellcheck: isText, autocomplete: "off" };
  // A single line drops line breaks.
  if (isTall || /[\n\r]/.test(text)) {
    return html`<textarea ...${props} rows=${Math.min(16, text.split("\n").length + 2)} />
      ${value instanceof js.Draft && html`<${Button} text="Use as text" of="Use as text: ${name}" onClick=${() => set(value.text)} />`}`;
  }
  const grow = (event) => {
    const isBreak = event.key === "Enter" && event.shiftKey;
    if (isBreak) event.preventDefault();
    if (isText && (isBreak || event.clipboardData?.getData("text").includes("\n"))) setTall(true);
  };
  const isOdd = !isText || (text && js.validate({ format: schema.format }, text).length);
  return html`<input ...${props} type=${(!isOdd && INPUTS[schema.format]) || "text"} onKeyDown=${grow} onPaste=${grow} />`;
}

const BOOLEANS = [true, false].map((value) => ({ value, label: String(value) }));

function SelectControl({ options, value, set, attributes: { placeholder, ...rest } }) {
  const index = options.findIndex((option) => js.isEqual(option.value, value));
  return html`<select ...${rest} value=${index < 0 ? "" : String(index)} onChange=${({ target }) => set(options[target.value]?.value)}>
    <option value="">${placeholder ? `(${placeholder})` : rest["aria-required"] ? "(choose)" : "(not sent)"}</option>
    ${options.map(({ label }, i) => html`<option value=${String(i)}>${label}</option>`)}
  </select>`;
}

function Control(props) {
  const { kind, schema, root, value } = props;
  const fits = value === undefined || value instanceof js.Draft || js.isType(value, kind);
  if (kind === "choice") return html`<${SelectControl} ...${props} options=${js.choicesOf(schema, root)} />`;
  if (kind === "boolean" && fits) return html`<${SelectControl} ...${props} options=${BOOLEANS} />`;
  return html`<${InputControl} ...${props} kind=${fits && /string|number|integer/.test(kind) ? kind : "json"} />`;
}

// --- Containers: they get {schema, value, path, errors, depth, name}

function ObjectFields({ schema, value, path, errors, depth, name }) {
  const { edit, root } = useContext(Form);
  const { properties, required = [], patternProperties, propertyNames, minProperties } = schema;
  const names = [...new Set([...Object.keys(properties ?? {}), ...required])];
  const shown = names.filter((key) => own(value, key) || js.propertySchema(schema, key) !== false);
  const extra = Object.keys(value).filter((key) => !names.includes(key));
  const canAdd = patternProperties || (schema.additionalProperties ?? (propertyNames || !properties || minProperties > names.length));
  const node = (key, more) => html`<${Node} key=${key} schema=${js.propertySchema(schema, key)} value=${own(value, key) ? value[key] : undefined}
    path=${[...path, key]} errors=${errors.below.get(key)} depth=${depth + 1} name=${key} ...${more} />`;
  const add = (key) => edit([...path, key], js.initialValue(js.propertySchema(schema, key), root));
  return html`
    ${shown.map((key) => node(key, { isRequired: required.includes(key), isProperty: true }))}
    ${extra.map((key) => node(key, { remove: () => edit([...path, key], OMIT) }))}
    ${canAdd ? html`<${Adder} schema=${schema} value=${value} name=${name} add=${add} />` : !names.length && html`<p class="muted">Nothing to fill in.</p>`}
  `;
}

function Adder({ schema, value, name, add }) {
  const { root } = useContext(Form);
  const [key, setKey] = useState("");
  const [message, setMessage] = useState("");
  const id = useId();
  const submit = () => {
    const [error] = js.validate({ propertyNames: schema.propertyNames ?? true }, { [key]: true }, root);
    const isTaken = own(value, key) || own(schema.properties, key);
    const problem = isTaken ? "is there already" : js.propertySchema(schema, key) === false ? "is not an allowed name" : error?.message;
    setMessage(problem ? `${JSON.stringify(key)} ${problem}` : "");
    if (problem) return;
    add(key);
    setKey("");
  };
  const onKeyDown = (event) => event.key === "Enter" && (event.preventDefault(), submit());
  return html`<div class="row">
    <input placeholder="new name" aria-label="Name of the new entry in ${name}" aria-invalid=${message ? "true" : undefined} aria-describedby=${id}
      value=${key} onInput=${({ target }) => setKey(target.value)} onKeyDown=${onKeyDown} autocomplete="off" />
    <${Button} text="Add" of="Add the new entry to ${name}" onClick=${submit} />
    <p class="error-text" id=${id} role="status">${message}</p>
  </div>`;
}

function ArrayItems({ schema, value, path, errors, depth, name }) {
  const { edit, root } = useContext(Form);
  const [shown, setShown] = useState(PAGE);
  const list = useRef(null);
  const memory = useRef({ keys: [], last: 0, focus: null }).current;
  // Items keep their keys when they move, so that half-typed text moves with them.
  const keys = (memory.keys = value.map((_, i) => memory.keys[i] ?? ++memory.last));
  useLayoutEffect(() => {
    memory.focus?.map((selector) => list.current.querySelector(selector)).find(Boolean)?.focus();
    memory.focus = null;
  });
  const update = (order, ...focus) => {
    memory.focus = focus;
    memory.keys = order.map((i) => keys[i]);
    edit(path, order.map((i) => (i < value.length ? value[i] : js.initialValue(js.itemSchema(schema, i), root))));
  };
  const all = [...value.keys()];
  const { length: fixed } = js.tupleOf(schema);
  const at = (i, rest) => `:scope > ol > li:nth-child(${i + 1}) ${rest}`;
  const swap = (i, j) => own(value, j) && j >= fixed && update(all.map((k) => (k === i ? j : k === j ? i : k)), at(j, `> .sf-buttons > .${i > j ? "sf-up" : "sf-down"}`));
  const remove = (i) => update(all.filter((k) => k !== i), at(Math.min(i, value.length - 2), "> .sf-buttons > .sf-remove"), ":scope > .sf-add");
  const add = () => {
    setShown(Math.max(shown, value.length + 1));
    update([...all, value.length], at(value.length, ":is(input, select, textarea)"), at(value.length, "button"));
  };
  const canAdd = js.itemSchema(schema, value.length) !== false && !(value.length >= schema.maxItems);
  const move = (i, j, kind, text) => html`<${Button} kind=${kind} text=${text} of="Move ${name} ${i + 1} ${j < i ? "up" : "down"}" aria-disabled=${!own(value, j) || j < fixed} onClick=${() => swap(i, j)} />`;
  return html`<div ref=${list}>
    <ol class="sf-items">
      ${value.slice(0, shown).map((item, i) => html`<li key=${keys[i]}>
        <span class="muted" aria-hidden="true">${i + 1}</span>
        <${Node} schema=${js.itemSchema(schema, i)} value=${item} path=${[...path, i]} errors=${errors.below.get(i)} depth=${depth + 1} name="${name} ${i + 1}" isBare />
        <span class="sf-buttons">
          ${i >= fixed && value.length - fixed > 1 && [move(i, i - 1, "sf-up", "↑"), move(i, i + 1, "sf-down", "↓")]}
          ${(i >= fixed || i === value.length - 1) && html`<${Button} kind="sf-remove" text="✕" of="Remove ${name} ${i + 1}" onClick=${() => remove(i)} />`}
        </span>
      </li>`)}
    </ol>
    ${value.length > shown && html`<${Button} text="Show more (${value.length - shown})" onClick=${() => setShown(shown + PAGE)} />`}
    ${canAdd && html`<${Button} kind="sf-add" text="Add item" of="Add item to ${name}" onClick=${add} />`}
  </div>`;
}

// Several values out of a short list are boxes to tick, unless order or repetition matters in the value.
function ticksOf(schema, value, root) {
  const options = schema.items && !js.tupleOf(schema).length && js.choicesOf(js.resolve(schema.items, root), root);
  if (!options || options.length > 12 || schema.minItems > options.length) return null;
  const places = value.map((entry) => options.findIndex((option) => js.isEqual(option.value, entry)));
  return places.every((place, i) => place > (places[i - 1] ?? -1)) ? options : null;
}

function Ticks({ options, value, set }) {
  const isOn = (option) => value.some((entry) => js.isEqual(entry, option.value));
  const toggle = (option) => set(options.filter((other) => isOn(other) !== (other === option)).map((other) => other.value));
  return html`<div class="row">
    ${options.map((option) => html`<label><input type="checkbox" checked=${isOn(option)} onChange=${() => toggle(option)} /> ${option.label}</label>`)}
  </div>`;
}

// --- One place of the value

// Keep what another branch understands, such as the properties that both have.
function carryOver(value, branch, root) {
  const fits = (schema, part) => js.validate(schema, part, root).length === 0;
  if (value !== undefined && fits(branch, value)) return value;
  const start = js.initialValue(branch, root);
  const { properties = {} } = js.resolve(branch, root);
  const kept = Object.keys(properties).filter((key) => own(value, key) && fits(properties[key], value[key]));
  return js.isType(start, "object") ? { ...start, ...Object.fromEntries(kept.map((key) => [key, value[key]])) } : start;
}

function Node({ schema: source, value, path, errors = NONE, depth, name, isRequired, isProperty, isBare, remove }) {
  const { edit, root } = useContext(Form);
  const [picked, setPicked] = useState([]);
  const [isTouched, setTouched] = useState(false);
  const id = useId();
  const set = (next) => edit(path, next === undefined && isProperty ? OMIT : next);

  // A union in a union gives a selector each; `schema` is what the choices lead to.
  const outer = js.resolve(source, root, value);
  const selectors = [];
  let schema = outer;
  while (js.kindOf(schema, root) === "union" && selectors.length < 8) {
    const branches = js.branchesOf(schema, root);
    const wanted = picked[selectors.length];
    const index = wanted < branches.length ? wanted : js.findBranch(branches, value, root);
    const branch = branches[index].schema;
    // The errors of the chosen branch help more than those of the closest one.
    const better = errors === NONE || value === undefined ? [] : js.validate(branch, value, root);
    if (better.length) errors = treeOf(better);
    selectors.push({ branches, index });
    schema = js.resolve(branch, root, value);
  }
  const pick = (level, index) => {
    setPicked([...selectors.slice(0, level).map((selector) => selector.index), index]);
    set(carryOver(value, selectors[level].branches[index].schema, root));
  };

  const kind = js.kindOf(schema, root);
  const isContainer = kind === "object" || kind === "array";
  const isGroup = isContainer && js.isType(value, kind);
  const isFramed = isGroup || selectors.length > 0;
  const title = outer.title || name || '""';
  const about = [...new Set([outer.description, schema.description, js.describeLimits(schema)])].filter(Boolean).join("\n");
  const example = [outer, schema].map((part) => part.examples?.[0] ?? part.example).find((entry) => entry !== undefined);
  const initial = outer.default ?? schema.default ?? null;
  const isWrong = errors.own.length > 0 && (value !== undefined || isTouched);
  const described = [about && `${id}d`, isWrong && `${id}e`].filter(Boolean).join(" ") || undefined;
  const attributes = {
    id,
    placeholder: initial !== null ? `default: ${js.textOf(initial)}` : example !== undefined ? `e.g. ${js.textOf(example)}` : undefined,
    "aria-label": isBare || isFramed ? name : undefined,
    "aria-describedby": described,
    "aria-invalid": isWrong ? "true" : undefined,
    "aria-required": isRequired ? "true" : undefined,
  };

  const ticks = isGroup && kind === "array" && ticksOf(schema, value, root);
  const Body = ticks ? Ticks : !isGroup ? Control : kind === "object" ? ObjectFields : ArrayItems;
  const start = () => set(js.initialValue(schema, root) ?? (kind === "array" ? [] : {}));
  const body = isContainer && value === undefined
    ? html`<${Button} id=${id} text="Add" of="Add ${name}" aria-describedby=${described} onClick=${start} />`
    : html`<${Body} ...${{ schema, kind, root, value, path, errors, depth, name, set, attributes }} options=${ticks} />`;
  const action = (text, words, onClick) => html`<${Button} text=${text} of="${words} ${name}" onClick=${onClick} />`;
  const head = html`${title !== name && html`<code>${name}</code> `}<span class="muted">${js.describeType(source, root)}${outer.deprecated && ", deprecated"}</span>
    ${isRequired && html` <span class="muted">required</span>`}`;
  const isFieldset = isFramed && !isBare;
  return html`<${isFieldset ? "fieldset" : "div"} class="sf-node ${isContainer ? "sf-wide" : ""}" role=${isFramed && isBare ? "group" : undefined}
      aria-label=${isFramed && isBare ? name : undefined} aria-describedby=${isFieldset ? described : undefined}
      data-path=${pointer(path)} data-kind=${kind} onfocusout=${() => setTouched(true)}>
    ${isFieldset ? html`<legend>${title} ${head}</legend>` : !isBare && html`<div class="sf-head"><label for=${id}>${title}</label> ${head}</div>`}
    <span class="sf-buttons">
      ${value === undefined && kind === "string" && !js.validate(schema, "", root).length && action('Send ""', "Send an empty string:", () => set(""))}
      ${value === undefined && example !== undefined && action("Use example", "Use example:", () => set(example))}
      ${value !== undefined && isProperty && !isRequired && action("Leave out", "Leave out", () => (setPicked([]), set(undefined)))}
      ${remove && action("Remove", "Remove", remove)}
    </span>
    ${about && html`<p class="muted about" id="${id}d">${about}</p>`}
    ${selectors.map(({ branches, index }, level) => html`<select class="sf-variant" aria-label="Variant of ${name}" value=${String(index)} onChange=${({ target }) => pick(level, Number(target.value))}>
      ${branches.map((branch, i) => html`<option value=${String(i)}>${branch.label}</option>`)}
    </select>`)}
    ${body}
    <p class="error-text" id="${id}e" role="status">${isWrong && errors.own.join("; ")}</p>
  <//>`;
}

/**
 * The form. Send the value only if there are no errors, with JSON.stringify (see schema.js on large integers).
 *
 * `value` is what the form starts with, otherwise `initialValue(schema)`; it starts again if the schema changes.
 * `onChange(value, errors)` is called after the first drawing and after every change; errors are those of
 * `validate`.
 */
export function SchemaForm({ schema, value, onChange, id = "form" }) {
  const [, draw] = useState(0);
  const [tab, setTab] = useState("form");
  // A caller may build the schema anew for every drawing; what was typed stays if it is the same.
  const now = useMemo(() => ({ schema, value: value === undefined ? js.initialValue(schema) : value, key: ++lastId }), [JSON.stringify(schema)]);
  const errors = js.validate(now.schema, now.value);
  const report = () => onChange?.(now.value, js.validate(now.schema, now.value));
  useLayoutEffect(report, [now]);
  const update = (next) => {
    now.value = next;
    draw((n) => n + 1);
    report();
  };
  // Broken JSON cannot be shown as fields.
  const show = (name) => (now.value instanceof js.Draft && tab === "json") || setTab(name);
  const attributes = { "aria-label": "Value as JSON", "aria-describedby": `${id}-problems`, "aria-invalid": errors.length ? "true" : undefined };
  const context = { edit: (path, next) => update(change(now.value, path, next)), root: now.schema };
  return html`<div class="sf" id=${id}>
    <${Tabs} label="Input as" tabs=${[["form", "Form"], ["json", "JSON"]]} selected=${tab} onSelect=${show} />
    ${tab === "json" ? html`<${InputControl} key=${now.key} kind="json" schema=${{}} value=${now.value} set=${update} attributes=${attributes} name="value" />
        <ul class="sf-problems error-text" id="${id}-problems" role="status">
          ${errors.slice(0, 20).map(({ path, message }) => html`<li><code>${pointer(path)}</code> ${message}</li>`)}
        </ul>`
      : html`<${Form.Provider} value=${context}>
          <${Node} key=${now.key} schema=${now.schema} value=${now.value} path=${[]} errors=${errors.length ? treeOf(errors) : NONE} depth=${0} name="arguments" isBare />
        <//>`}
  </div>`;
}
