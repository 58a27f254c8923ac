// A person at the form: looks at what is shown, clicks and types until the form sends a wanted value.
// It never sets the form's state. Its hands are either real input events, sent by the browser for the test,
// or the same actions made in the page, which are a hundred times faster.

const MISSING = Symbol("missing");

class Stuck extends Error {}

const pointer = (path) => path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
const place = (path) => [...document.querySelectorAll("[data-path]")].find((element) => element.dataset.path === pointer(path));

// What belongs to this place of the value and not to a place inside it.
function controls(path) {
  const element = place(path);
  const all = [...(element?.querySelectorAll("input, select, textarea, button") ?? [])];
  return all.filter((control) => control.closest("[data-path]") === element);
}

export const nameOf = (control) => control.ariaLabel ?? control.labels?.[0]?.textContent.trim() ?? control.textContent;

// The middle of a control, if a click there reaches it.
function spot(control) {
  control.scrollIntoView({ block: "center", inline: "nearest" });
  const box = control.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const hit = document.elementFromPoint(x, y);
  if (control !== hit && !control.contains(hit) && hit?.control !== control) throw new Stuck(`${nameOf(control)} is covered`);
  return [x, y];
}

const pageHands = {
  // Where a control is on the screen is left to the real hands: finding out costs a layout each time.
  reach(control) {
    if (!control.checkVisibility({ visibilityProperty: true })) throw new Stuck(`${nameOf(control)} is hidden`);
    control.focus({ preventScroll: true });
  },
  async click(control) {
    this.reach(control);
    if (control.localName === "button" || control.type === "checkbox") control.click();
  },
  async type(text) {
    document.activeElement.select();
    document.execCommand(text ? "insertText" : "delete", false, text);
  },
  async press(key, shiftKey = false) {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));
  },
};

const realHands = {
  reach(control) {
    spot(control);
    control.focus();
  },
  click: (control) => window.clickAt(...spot(control)),
  type: (text) => window.typeText(text),
  press: (key, shiftKey) => window.pressKey(shiftKey ? `Shift+${key}` : key),
};

const KINDS = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number" || JSON.isRawJSON(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value),
  array: Array.isArray,
};
KINDS.integer = KINDS.number;

export class Driver {
  constructor(read, isEqual, pause, isReal) {
    this.read = read;
    this.isEqual = isEqual;
    this.pause = pause;
    this.hands = isReal ? realHands : pageHands;
  }

  current(path) {
    return path.reduce((value, key) => (typeof value === "object" && value !== null && Object.hasOwn(value, key) ? value[key] : MISSING), this.read().value);
  }

  isDone = (path, wanted) => this.isEqual(this.current(path), wanted);

  async click(control) {
    await this.hands.click(control);
    await this.pause();
  }

  async clickNamed(path, start) {
    const found = controls(path).filter((control) => control.localName === "button" && nameOf(control).startsWith(start));
    if (found.length) await this.click(found.at(-1));
    return found.length > 0;
  }

  // A list that drops down is drawn outside of the page, so no hands can click on it.
  async select(control, index) {
    this.hands.reach(control);
    control.selectedIndex = index;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.dispatchEvent(new Event("change", { bubbles: true }));
    await this.pause();
  }

  async type(control, text) {
    await this.click(control);
    await this.hands.type(text);
    await this.pause();
  }

  async fill(wanted, path = []) {
    if (!place(path)) throw new Stuck(`nothing at ${pointer(path)}`);
    if (this.isDone(path, wanted)) return;
    if (!(await this.tryVariants(wanted, path, 0))) throw new Stuck(`no variant at "${pointer(path)}" takes ${JSON.stringify(wanted)}`);
  }

  // A person reads the labels; this one tries the variants, the selected one first.
  async tryVariants(wanted, path, level) {
    const selector = () => controls(path).filter((control) => control.className === "sf-variant")[level];
    if (!selector()) {
      const { kind } = place(path).dataset;
      if (level > 0 && KINDS[kind]?.(wanted) === false) return false;
      await this.fillKind(wanted, path);
      if (level === 0) return true;
      const errors = this.read().errors.filter((error) => pointer(error.path).startsWith(pointer(path)));
      return this.isDone(path, wanted) && errors.length === 0;
    }
    const first = selector().selectedIndex;
    const order = [first, ...Array.from(selector().options, (_, i) => i).filter((i) => i !== first)];
    for (const index of order) {
      await this.select(selector(), index);
      try {
        if (await this.tryVariants(wanted, path, level + 1)) return true;
      } catch (error) {
        if (!(error instanceof Stuck)) throw error;
      }
    }
    return false;
  }

  async fillKind(wanted, path) {
    const fold = controls(path).find((control) => control.ariaExpanded === "false");
    if (fold) await this.click(fold);
    const { kind } = place(path).dataset;
    if (kind === "object" && KINDS.object(wanted)) await this.fillObject(wanted, path);
    else if (kind === "array" && KINDS.array(wanted)) await this.fillArray(wanted, path);
    else if (kind === "choice" || kind === "boolean") await this.choose(wanted, path);
    else if (kind === "null") await this.clickNamed(path, "Send null");
    else if (kind === "string" && wanted === "") await this.clickNamed(path, "Send an empty string");
    else if (KINDS[kind] ? !KINDS[kind](wanted) : kind !== "any") throw new Stuck(`"${pointer(path)}" is drawn as ${kind}`);
    else await this.enter(kind === "string" && typeof wanted === "string" ? wanted : JSON.stringify(wanted), path);
    if (!this.isDone(path, wanted)) throw new Stuck(`"${pointer(path)}" is ${JSON.stringify(this.read())}, not ${JSON.stringify(wanted)}`);
  }

  async fillObject(wanted, path) {
    if (this.current(path) === MISSING || !KINDS.object(this.current(path))) await this.clickNamed(path, "Add ");
    for (const key of Object.keys(wanted)) {
      if (!place([...path, key])) {
        // The variant has said it.
        if (this.isDone([...path, key], wanted[key])) continue;
        const adder = controls(path).find((control) => nameOf(control).startsWith("Name of the new entry"));
        if (!adder) throw new Stuck(`no way to add ${key} at "${pointer(path)}"`);
        await this.type(adder, key);
        await this.hands.press("Enter");
        await this.pause();
      }
      await this.fill(wanted[key], [...path, key]);
    }
    for (const key of Object.keys(this.current(path))) {
      if (Object.hasOwn(wanted, key)) continue;
      (await this.clickNamed([...path, key], "Leave out")) || (await this.clickNamed([...path, key], "Remove"));
    }
  }

  async fillArray(wanted, path) {
    if (!KINDS.array(this.current(path))) await this.clickNamed(path, "Add ");
    const ticks = () => controls(path).filter((control) => control.type === "checkbox");
    for (let i = 0; i < ticks().length; i += 1) {
      const count = () => wanted.filter((item) => this.current(path).some((other) => this.isEqual(item, other))).length - this.current(path).length;
      const before = [wanted.filter((item) => this.current(path).some((other) => this.isEqual(item, other))).length, count()];
      await this.click(ticks()[i]);
      const after = [wanted.filter((item) => this.current(path).some((other) => this.isEqual(item, other))).length, count()];
      if (after[0] < before[0] || after[1] < before[1]) await this.click(ticks()[i]);
    }
    if (ticks().length) return;
    for (let turn = 0; this.current(path).length !== wanted.length; turn += 1) {
      const isShort = this.current(path).length < wanted.length;
      if (turn > 200 || !(await this.clickNamed(path, isShort ? "Add item to" : "Remove"))) throw new Stuck(`cannot change the length of "${pointer(path)}"`);
    }
    for (const [i, item] of wanted.entries()) await this.fill(item, [...path, i]);
  }

  async choose(wanted, path) {
    const list = () => controls(path).find((control) => control.localName === "select" && control.className !== "sf-variant");
    const text = typeof wanted === "string" ? wanted : JSON.stringify(wanted);
    const labels = Array.from(list().options, (option) => option.label);
    // Labels may be titles; then it tries one after the other.
    const known = labels.indexOf(text, 1);
    for (const index of known > 0 ? [known] : labels.keys()) {
      await this.select(list(), index);
      if (this.isDone(path, wanted)) return;
    }
  }

  async enter(text, path) {
    const field = () => controls(path).find((control) => control.localName === "textarea" || (control.localName === "input" && control.type !== "checkbox"));
    if (!field()) throw new Stuck(`nothing to type into at "${pointer(path)}"`);
    if (field().type === "date") {
      // Which keys fill a date depends on the language of the browser.
      this.hands.reach(field());
      field().value = text;
      field().dispatchEvent(new Event("input", { bubbles: true }));
      return this.pause();
    }
    if (text.includes("\n") && field().localName === "input") {
      await this.click(field());
      await this.hands.press("Enter", true);
      await this.pause();
    }
    return this.type(field(), text);
  }
}

export { Stuck };
