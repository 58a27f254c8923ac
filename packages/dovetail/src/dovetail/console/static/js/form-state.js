/** The state of a form. The server knows the schema: it describes the form, checks the value and starts new parts. */
import { ask } from "./api.js";
import { OMIT, change, findHoles, members } from "./json.js";

// What is not filled in or not readable is sent as null and listed.
function sendable(value) {
  const holes = findHoles(value).map(({ path }) => path);
  return { value: holes.reduce((at, path) => change(at, path, null), value), holes };
}

const applied = (value, { path, value: next, holes, isLeftOut }) =>
  change(value, path, isLeftOut ? OMIT : holes.reduce((at, hole) => change(at, hole, undefined), next));

// What the person chose in the nodes: variants, and how many items are shown.
const statesOf = (node, path = []) => [...(node?.state ? [[path, node.state]] : []),
  ...members(node?.children, path).flatMap(([at, child]) => statesOf(child, at))];

/** The value of a form, which changes at once, and its tree of nodes and errors, which follow. */
export class FormState {
  node = null;
  // [{path: ["a", 0], message: "must be at least 1"}], of the previous value until this one is checked.
  errors = [];
  isChecked = false;
  #edits = [];
  #version = 0;

  /** `value` is what the form starts with, otherwise the initial value, with all `defaults` if that is set. */
  constructor(given) {
    Object.assign(this, given);
  }

  /** Change the value at a path. */
  set(path, next) {
    this.value = change(this.value, path, next);
    this.#version += 1;
    this.check();
  }

  /** Change what is drawn at a path, until the next answer. */
  setNode(path, next) {
    this.node = change(this.node, path.flatMap((key) => ["children", key]), next);
    this.#version += 1;
  }

  /** Have the server change the value; resolves to the reason if it does not. */
  async edit(action, path, more) {
    const waiting = { edit: { action, path, ...more } };
    this.#edits.push(waiting);
    await this.check();
    return waiting.refused;
  }

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
      const [waiting] = this.#edits;
      const hasValue = this.node || this.value !== undefined;
      const answer = await ask("form", { schema: this.schema, ...(hasValue && sendable(this.value)), defaults: this.defaults, edit: waiting?.edit,
        states: this.isForm ? statesOf(this.node) : [] }).catch((error) => ({ error }));
      if (version === this.#version) this.#take(answer, waiting);
    }
    this.checking = null;
    this.onChange();
  }

  #take({ node, errors, change: made, refused, error }, waiting) {
    this.problem = error && `could not be checked: ${error.message}`;
    this.node = node ?? this.node;
    if (made) this.value = applied(this.value, made);
    if (waiting) this.#edits.shift().refused = refused ?? this.problem;
    this.isChecked = !this.#edits.length;
    this.errors = [...findHoles(this.value), ...(errors ?? [{ path: [], message: this.problem }])];
  }
}
