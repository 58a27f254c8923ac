/** The state of a form, and which variant of a union a value is. */
import { ask } from "./api.js";
import { change, findHoles, isEqual, own, pointer, typeOf } from "./json.js";

const MISFIT = 1000;
const OTHER_VALUE = 100;

// How far the shape of a value is from what a field describes; 0 if it fits.
function misfit(field, value) {
  const type = typeOf(value);
  const { kind, choices, fields = {}, required = [], extra } = field;
  if (/undefined|draft/.test(type)) return 0;
  if (kind === "any") return 0.5;
  if (kind === "union") return Math.min(...field.variants.map((each) => misfit(each, value)));
  if (kind === "choice") return choices.some((choice) => isEqual(choice.value, value)) ? 0 : OTHER_VALUE;
  if (type !== (kind === "integer" ? "number" : kind)) return MISFIT;
  if (kind === "integer") return Number(value % 1 > 0);
  if (!/array|object/.test(kind)) return 0;
  const inside = (name) => (kind === "array" ? field.item : own(fields, name) ? fields[name] : extra);
  const scores = Object.keys(value).slice(0, 100).map((name) => (inside(name) ? Math.min(misfit(inside(name), value[name]), OTHER_VALUE) : 1));
  return scores.reduce((sum, score) => sum + score, required.filter((name) => !own(value, name)).length);
}

// Another variant keeps what it understands of a value.
function converted({ start, fields = {}, ...variant }, value) {
  if (value !== undefined && misfit({ fields, ...variant }, value) < 1) return value;
  if (typeOf(start) !== "object" || typeOf(value) !== "object") return start;
  return { ...start, ...Object.fromEntries(Object.entries(value).filter(([name, part]) => own(fields, name) && misfit(fields[name], part) < 1)) };
}

/** The value of a form, which changes at once, and its errors, which follow when the server has checked it. */
export class FormState {
  // A DrawnField of forms.py.
  field = null;
  // [{path: ["a", 0], message: "must be at least 1"}], of the previous value until this one is checked.
  errors = [];
  isChecked = false;
  #version = 0;
  #picks = new Map();
  #messages = new Map();

  /** `value` is what the form starts with; without one, `defaults` also gives optional properties theirs. */
  constructor(given) {
    Object.assign(this, given);
  }

  set(path, next) {
    this.value = change(this.value, path, next);
    this.#version += 1;
    this.check();
  }

  /** Return the unions at a place, each with the index of its variant, and the field inside of them. */
  open(field, path, value) {
    const unions = [];
    for (; field.kind === "union"; field = field.variants[unions.at(-1).index]) {
      const scores = field.variants.map((each) => misfit(each, value));
      const least = Math.min(...scores);
      const picked = this.#picks.get(unions.length + pointer(path));
      unions.push({ field, index: scores[picked] - least < OTHER_VALUE ? picked : value === undefined ? (field.first ?? 0) : scores.indexOf(least) });
    }
    return { field, unions };
  }

  /** Pick a variant of a union at a place; returns the value that it starts with. */
  pick({ variants }, path, level, index, value) {
    this.forget(path, level);
    this.#picks.set(level + pointer(path), index);
    return converted(variants[index], value);
  }

  forget(path, level = 0) {
    while (this.#picks.delete(level + pointer(path))) level += 1;
  }

  errorsAt = (path) => this.#messages.get(pointer(path)) ?? [];

  /** Resolves when the errors are those of the value. */
  check() {
    this.isChecked = false;
    this.onChange();
    return (this.checking ??= this.#ask());
  }

  // One question at a time; an answer counts only if the value is still the same.
  async #ask() {
    while (!this.isChecked) {
      const version = this.#version;
      const answer = await this.#answer().catch((error) => ({ error }));
      if (version === this.#version) this.#take(answer);
    }
    this.checking = null;
    this.onChange();
  }

  async #answer() {
    if (!this.field) {
      this.field = (await ask("form", { schema: this.schema, defaults: this.defaults })).field;
      if (this.value === undefined) this.value = this.field.start;
      this.onChange();
    }
    // What is not filled in or not readable is sent as null.
    const holes = findHoles(this.value);
    const value = holes.reduce((at, { path }) => change(at, path, null), this.value);
    const answer = await ask("form", { schema: this.schema, value });
    // The places of holes, and what is around them, are not judged.
    const isOpen = ({ path }) => holes.some((hole) => path.every((key, i) => key === hole.path[i]));
    return { ...answer, errors: answer.errors.filter((error) => !isOpen(error)) };
  }

  #take({ errors, unchecked, error }) {
    this.problem = error && `could not be checked: ${error.message}`;
    this.note = unchecked && `The server checks the value when it gets it, because ${unchecked}.`;
    this.isChecked = true;
    this.errors = [...findHoles(this.value), ...(errors ?? [{ path: [], message: this.problem }])];
    this.#messages = new Map();
    for (const { path, message } of this.errors) {
      const place = pointer(path);
      this.#messages.set(place, [...(this.#messages.get(place) ?? []), message]);
    }
  }
}
