/**
 * JSON values that are being edited. They are immutable.
 *
 * Integers beyond 2^53 stay exact as JSON.rawJSON objects, which JSON.stringify writes digit by digit; browsers
 * before Chromium 114, Firefox 135 and Safari 18.4 round them. What is not filled in yet is undefined.
 */

/** As a value it removes the property; undefined keeps the key as "not filled in yet". */
export const OMIT = Symbol("omit");

const isRaw = (value) => Boolean(JSON.isRawJSON?.(value));

export const own = (value, key) => isObject(value) && Object.hasOwn(value, key);

/** Text that is not a value yet, such as "12x" in a number field. It is never valid. */
export class Draft {
  constructor(text, message) {
    Object.assign(this, { text, message });
  }

  toJSON() {
    return this.text;
  }
}

/** Return the number that this JSON text stands for, exact if it is an integer. */
export function readNumber(text) {
  const number = Number(text);
  const isExact = Number.isSafeInteger(number) || (Number.isFinite(number) && !/^-?\d+$/.test(text));
  return isExact || !JSON.rawJSON ? number : JSON.rawJSON(text);
}

/** JSON.parse that keeps large integers exact. */
export const parseJson = (text) =>
  JSON.parse(text, (_, value, context) => (typeof value === "number" && context ? readNumber(context.source) : value));

export function attempt(work, otherwise) {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

export const tryJson = (text) => attempt(() => JSON.parse(text));

export const isObject = (value) => value !== null && typeof value === "object";

/** Return the kind of a value: "object", "array", "string", "number", "boolean", "null", "draft" or "undefined". */
export function typeOf(value) {
  if (value === null) return "null";
  if (value instanceof Draft) return "draft";
  return Array.isArray(value) ? "array" : isRaw(value) ? "number" : typeof value;
}

export function isEqual(a, b) {
  if (a === b) return true;
  const type = typeOf(a);
  if (type !== typeOf(b) || !/object|array|number/.test(type)) return false;
  if (type === "number") return isRaw(a) && isRaw(b) && a.rawJSON === b.rawJSON;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => own(b, key) && isEqual(a[key], b[key]));
}

/** Return a copy with another value at a path; an index at the end of an array adds to it. */
export function change(value, [key, ...rest], next) {
  if (key === undefined) return next;
  const inner = rest.length ? change(own(value, key) ? value[key] : undefined, rest, next) : next;
  if (Array.isArray(value)) return value.toSpliced(key, 1, inner);
  if (inner !== OMIT) return { ...value, [key]: inner };
  const { [key]: removed, ...others } = value;
  return others;
}

export const pointer = (path) => path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

export function countParts(value) {
  const inside = Array.isArray(value) ? value.slice(0, 100) : isObject(value) ? Object.values(value) : [];
  return inside.reduce((sum, part) => sum + countParts(part), 1);
}

export const members = (value, path) =>
  Object.keys(value ?? {}).map((key) => [[...path, Array.isArray(value) ? Number(key) : key], value[key]]);

/** Return the places that are not filled in or not readable yet, as errors: [{path: ["a", 0], message}]. */
export function findHoles(value, path = []) {
  const type = typeOf(value);
  if (type === "undefined") return [{ path, message: "is required" }];
  if (type === "draft") return [{ path, message: value.message }];
  return /object|array/.test(type) ? members(value, path).flatMap(([at, member]) => findHoles(member, at)) : [];
}
