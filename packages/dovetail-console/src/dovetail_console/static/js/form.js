/**
 * A form for a JSON Schema: fields on one tab, the same value as JSON on the other.
 *
 * The server describes what to draw (see forms.py). A property that is left out is undefined, which differs from
 * an empty string. Every place of the value carries its JSON pointer in data-path.
 */

import { html, createContext, useContext, useLayoutEffect, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { FormState } from "./form-state.js";
import { Draft, OMIT, countParts, isEqual, own, parseJson, pointer, readNumber, typeOf } from "./json.js";
import { Tabs } from "./ui.js";

const Form = createContext(null);
const PAGE = 100;
// A part of a value with more parts than this is drawn as JSON.
const MAX_PARTS = 2000;

let lastId = 0;
const useId = () => useMemo(() => `sf${++lastId}`, []);
const print = (value) => (value instanceof Draft ? value.text : (JSON.stringify(value, null, 2) ?? ""));
const asText = (value) => (value && typeof value === "string" ? value : JSON.stringify(value));

const Button = ({ text, of, ...rest }) => html`<button type="button" aria-label=${of} ...${rest}>${text}</button>`;

// --- Controls of single values: they get {field, kind, value, set, attributes, name}

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

// A date field cannot show what is not a date.
const isDate = (value) => value === undefined || /^\d{4}-\d\d-\d\d$/.test(value);

function InputControl({ field, kind, value, set, attributes, name }) {
  const isText = kind === "string";
  const read = isText ? (text) => text || undefined : kind === "json" ? readJson : readTyped;
  const [typed, setTyped] = useState(null);
  const [isTall, setTall] = useState(kind === "json" || field.isTall);
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
  const load = ({ target: { files: [file] } }) => {
    const reader = new FileReader();
    reader.onload = () => set(reader.result.replace(/^.*,/, ""));
    if (file) reader.readAsDataURL(file);
  };
  return html`${field.isFile && html`<input type="file" aria-label="File for ${name}" onChange=${load} />`}<input ...${props} type=${(isText && (field.input !== "date" || isDate(value)) && field.input) || "text"} onKeyDown=${grow} onPaste=${grow} />`;
}

function SelectControl({ field: { choices }, value, set, attributes: { placeholder, ...rest } }) {
  const index = choices.findIndex((choice) => isEqual(choice.value, value));
  return html`<select ...${rest} value=${index < 0 ? "" : String(index)} onChange=${({ target }) => set(choices[target.value]?.value)}>
    <option value="">${placeholder ? `(${placeholder})` : rest["aria-required"] ? "(choose)" : "(not sent)"}</option>
    ${choices.map(({ label }, i) => html`<option value=${String(i)}>${label}</option>`)}
  </select>`;
}

function Control(props) {
  const { field: { kind, choices }, value } = props;
  const type = typeOf(value);
  const fits = /draft|undefined/.test(type) || type === (kind === "integer" ? "number" : kind);
  if (choices && (fits || kind === "choice")) return html`<${SelectControl} ...${props} />`;
  return html`<${InputControl} ...${props} kind=${fits && /string|number|integer/.test(kind) ? kind : "json"} />`;
}

// --- Containers: they get {field, value, path, name}

function ObjectFields({ field: { fields = {}, required = [], extra }, value, path, name, isVariant }) {
  const form = useContext(Form);
  const others = Object.keys(value).filter((key) => !own(fields, key));
  // The variant says what a constant is.
  const isFixed = (key) => isVariant && fields[key].choices?.length === 1 && required.includes(key) && isEqual(value[key], fields[key].choices[0].value);
  const member = (key, field, rest) => html`<${Node} key=${key} field=${field} value=${own(value, key) ? value[key] : undefined} path=${[...path, key]} name=${key} ...${rest} />`;
  const isEmpty = !others.length && !Object.keys(fields).length;
  const add = (key) => form.set([...path, key], extra.start);
  return html`
    ${Object.keys(fields).filter((key) => !isFixed(key)).map((key) => member(key, fields[key], { isListed: true, isRequired: required.includes(key) }))}
    ${others.map((key) => member(key, extra ?? ANY, { isExtra: true }))}
    ${extra ? html`<${Adder} name=${name} add=${add} isThere=${(key) => own(value, key) || own(fields, key)} />` : isEmpty && html`<p class="muted">Nothing to fill in.</p>`}
  `;
}

function Adder({ name, add, isThere }) {
  const [key, setKey] = useState("");
  const [message, setMessage] = useState("");
  const id = useId();
  const submit = () => {
    setMessage(isThere(key) ? `${JSON.stringify(key)} is there already` : "");
    if (isThere(key)) return;
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

function ArrayItems({ field, value, path, name }) {
  const form = useContext(Form);
  const list = useRef(null);
  // What to focus when it is drawn.
  const wanted = useRef([]);
  const [shown, setShown] = useState(PAGE);
  useLayoutEffect(() => {
    const found = wanted.current.map((selector) => list.current.querySelector(selector)).find(Boolean);
    found?.focus();
    wanted.current = [];
  });
  const update = (order, ...labels) => {
    wanted.current = labels.map((label) => `[aria-label="${CSS.escape(label)}"]`);
    form.set(path, order.map((i) => value[i]));
  };
  const all = [...value.keys()];
  const add = () => {
    const item = `:scope > ol > li:nth-child(${value.length + 1})`;
    wanted.current = [`${item} :is(input, select, textarea)`, `${item} button`];
    if (value.length >= shown) setShown(value.length + 1);
    form.set([...path, value.length], field.item.start);
  };
  const addLabel = `Add item to ${name}`;
  const removeLabel = (i) => `Remove ${name} ${i + 1}`;
  const remove = (i) => update(all.filter((k) => k !== i), removeLabel(Math.min(i, value.length - 2)), addLabel);
  const move = (i, j, text, way) => {
    const canMove = own(value, j);
    const swap = () => canMove && update(all.map((k) => (k === i ? j : k === j ? i : k)), `Move ${name} ${j + 1} ${way}`);
    return html`<${Button} text=${text} of="Move ${name} ${i + 1} ${way}" aria-disabled=${!canMove} onClick=${swap} />`;
  };
  return html`<div ref=${list}>
    <ol class="sf-items">
      ${value.slice(0, shown).map((item, i) => html`<li>
        <span class="muted" aria-hidden="true">${i + 1}</span>
        <${Node} field=${field.item} value=${item} path=${[...path, i]} name="${name} ${i + 1}" isBare />
        <span class="sf-buttons">
          ${value.length > 1 && [move(i, i - 1, "↑", "up"), move(i, i + 1, "↓", "down")]}
          <${Button} text="✕" of=${removeLabel(i)} onClick=${() => remove(i)} />
        </span>
      </li>`)}
    </ol>
    ${value.length > shown && html`<${Button} text="Show more (${value.length - shown})" onClick=${() => setShown(shown + PAGE)} />`}
    ${value.length < (field.maxItems ?? Infinity) && html`<${Button} text="Add item" of=${addLabel} onClick=${add} />`}
  </div>`;
}

// Several values out of a short list, unless order or repetition matters in the value.
function canTick({ hasTicks, item }, value) {
  const place = (entry) => item.choices.findIndex((choice) => isEqual(choice.value, entry));
  return hasTicks && value.map(place).every((at, i, places) => at > (i ? places[i - 1] : -1));
}

function Ticks({ field: { item: { choices } }, value, set }) {
  const isOn = (option) => value.some((entry) => isEqual(entry, option.value));
  const toggle = (option) => set(choices.filter((other) => isOn(other) !== (other === option)).map((other) => other.value));
  return html`<div class="row">
    ${choices.map((option) => html`<label><input type="checkbox" checked=${isOn(option)} onChange=${() => toggle(option)} /> ${option.label}</label>`)}
  </div>`;
}

const ANY = { kind: "any", type: "any JSON" };

function Node({ field: outer, value, path, name, isBare, isListed, isRequired, isExtra }) {
  const form = useContext(Form);
  const [isTouched, setTouched] = useState(false);
  const id = useId();
  const { unions, field: inner } = form.open(outer, path, value);
  const { type, title = name || '""' } = outer;
  const about = [...new Set([outer.about, inner.about].filter(Boolean))].join("\n");
  const example = outer.example ?? inner.example;
  const preset = outer.default ?? inner.default;
  const placeholder = preset != null ? `default: ${asText(preset)}` : example !== undefined ? `e.g. ${asText(example)}` : "";
  const set = (next) => form.set(path, next === undefined && isListed ? OMIT : next);
  const pick = (level, index) => set(form.pick(unions[level].field, path, level, index, value));
  const leaveOut = () => {
    form.forget(path);
    set(undefined);
  };

  const field = countParts(value) > MAX_PARTS ? ANY : inner;
  const { kind } = field;
  const isContainer = kind === "object" || kind === "array";
  const isGroup = isContainer && typeOf(value) === kind;
  const isFramed = isGroup || unions.length > 0;
  const errors = value instanceof Draft ? [value.message] : form.problem ? [] : form.errorsAt(path);
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
  const Body = !isGroup ? Control : kind === "object" ? ObjectFields : canTick(field, value) ? Ticks : ArrayItems;
  const body = isContainer && value === undefined
    ? html`<${Button} id=${id} text="Add" of="Add ${name}" aria-describedby=${described} onClick=${() => set(field.start)} />`
    : html`<${Body} ...${{ field, value, path, name, set, attributes, isVariant: unions.length > 0 }} />`;
  const action = (text, words, onClick) => html`<${Button} text=${text} of="${words} ${name}" onClick=${onClick} />`;
  const head = html`${title !== name && html`<code>${name}</code> `}<span class="muted">${type}</span>
    ${isRequired && html` <span class="muted">required</span>`}`;
  return html`<div class="sf-node ${isContainer ? "sf-wide" : ""} ${isFramed && !isBare ? "sf-frame" : ""}" role=${isFramed ? "group" : undefined}
      aria-label=${isFramed ? name || '""' : undefined} aria-describedby=${isFramed ? described : undefined}
      data-path=${pointer(path)} data-kind=${kind} onfocusout=${() => setTouched(true)}>
    ${!isBare && html`<div class="sf-head"><label for=${isFramed ? undefined : id}>${title}</label> ${head}</div>`}
    <span class="sf-buttons">
      ${value === undefined && field.canBeEmpty && action('Send ""', "Send an empty string:", () => set(""))}
      ${value === undefined && example !== undefined && action("Use example", "Use example:", () => set(example))}
      ${value !== undefined && isListed && !isRequired && action("Leave out", "Leave out", leaveOut)}
      ${isExtra && action("Remove", "Remove", () => form.set(path, OMIT))}
    </span>
    ${about && html`<p class="muted about" id="${id}d">${about}</p>`}
    ${unions.map(({ field: { variants }, index }, level) => html`<select class="sf-variant" aria-label="Variant of ${name}" value=${String(index)} onChange=${({ target }) => pick(level, Number(target.value))}>
      ${variants.map(({ label }, i) => html`<option value=${String(i)}>${label}</option>`)}
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
  const { field, problem, note, errors } = form;
  useLayoutEffect(() => {
    if (takesFocus && field) element.current.querySelector("input, textarea, select")?.focus();
  }, [!field]);
  // Broken JSON cannot be shown as fields.
  const show = (name) => (form.value instanceof Draft && tab === "json") || setTab(name);
  const attributes = { "aria-label": "Value as JSON", "aria-describedby": `${id}-problems`, "aria-invalid": errors.length ? "true" : undefined };
  return html`<div class="sf" id=${id} aria-busy=${!form.isChecked} ref=${element}>
    <${Tabs} label="Input as" tabs=${[["form", "Form"], ["json", "JSON"]]} selected=${tab} onSelect=${show} />
    ${problem && html`<p class="error-text" role="status">The value ${problem}</p>`}
    ${note && html`<p class="muted" role="status">${note}</p>`}
    ${tab === "json" ? html`<${InputControl} key=${form.key} kind="json" field=${{}} value=${form.value} set=${(next) => form.set([], next)} attributes=${attributes} name="value" />
        <ul class="sf-problems error-text" id="${id}-problems" role="status">
          ${errors.slice(0, 20).map(({ path, message }) => html`<li><code>${pointer(path)}</code> ${message}</li>`)}
        </ul>`
      : field && html`<${Form.Provider} value=${form}>
          <${Node} key=${form.key} field=${field} value=${form.value} path=${[]} name="arguments" isBare />
        <//>`}
  </div>`;
}
