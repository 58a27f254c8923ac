/**
 * JSON Schema for forms: references, merged schemas, type names, first values, validation.
 *
 * 2020-12, with the forms of draft-07 and `nullable` of OpenAPI. Not evaluated: unevaluated*, dynamic scopes
 * ($dynamicRef is read as $ref), references to other documents (they accept anything). Schemas and values are
 * immutable. Integers beyond 2^53 stay exact as JSON.rawJSON objects, which JSON.stringify writes digit by
 * digit; browsers before Chromium 114, Firefox 135 and Safari 18.4 round them. The numbers in a schema are as
 * exact as the JSON.parse that read it.
 */

const own = (object, key) => Object.hasOwn(object, key);
const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isRaw = (value) => Boolean(JSON.isRawJSON?.(value));
const listOf = (value) => (Array.isArray(value) ? value : [value]);
const each = (object, make) => Object.keys(object ?? {}).flatMap(make);
const fault = (message, path = [], rank = 1) => ({ path, message, rank });

// Results that depend only on a schema object are computed once.
function cached(compute) {
  const results = new WeakMap();
  return (schema, root) => {
    if (!results.has(schema)) results.set(schema, compute(schema, root));
    return results.get(schema);
  };
}

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

// Comparisons of BigInt with Number are exact.
function toNumber(value) {
  if (!isRaw(value)) return value;
  return /^-?\d+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : Number(value.rawJSON);
}

function isMultiple(value, step) {
  if (typeof value === "bigint" && Number.isInteger(step)) return value % BigInt(step) === 0n;
  // 0.3 / 0.1 is not 3 in doubles.
  const ratio = Number(value) / step;
  return Math.abs(ratio - Math.round(ratio)) <= Math.abs(ratio) * 1e-15;
}

/** Return whether two JSON values are equal; the order of properties does not count. */
export function isEqual(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isRaw(a) || isRaw(b)) return a.rawJSON === b.rawJSON;
  if (a instanceof Draft || b instanceof Draft || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => own(b, key) && isEqual(a[key], b[key]));
}

/** Return whether a value has a JSON Schema type. */
export function isType(value, type) {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isMap(value) && !isRaw(value) && !(value instanceof Draft);
  if (type === "number") return typeof value === "number" || isRaw(value);
  if (type === "integer") return Number.isInteger(value) || typeof toNumber(value) === "bigint";
  return typeof value === type;
}

// --- References

const NAMED = /^(properties|patternProperties|\$defs|definitions|dependentSchemas|dependencies)$/;
const DATA = /^(enum|const|default|examples?)$/;

// Every $id starts a document, against which the references below it are resolved.
const indexOf = cached((root) => {
  const index = { targets: new Map(), bases: new WeakMap() };
  const todo = [[root, "schema:///", false]];
  while (todo.length) {
    let [node, base, isNames] = todo.pop();
    if (typeof node !== "object" || node === null) continue;
    const { $id, $anchor, $dynamicAnchor } = isNames ? {} : node;
    const id = URL.parse($id ?? "", base)?.href ?? base;
    if ($id || node === root) index.targets.set(id.replace(/#$/, ""), node);
    base = id.split("#")[0];
    for (const name of [$anchor, $dynamicAnchor]) if (name) index.targets.set(`${base}#${name}`, node);
    index.bases.set(node, base);
    for (const key of Object.keys(node)) if (isNames || !DATA.test(key)) todo.push([node[key], base, !isNames && NAMED.test(key)]);
  }
  return index;
});

const referenceOf = (schema) => schema.$ref ?? schema.$dynamicRef ?? schema.$recursiveRef;

// The schema that a reference points to; undefined if it is not in this document.
function lookUp(schema, root) {
  const { targets, bases } = indexOf(root);
  const uri = URL.parse(referenceOf(schema), bases.get(schema) ?? bases.get(root))?.href.replace(/#$/, "");
  if (!uri?.includes("#/")) return targets.get(uri);
  const [document, pointer] = uri.split("#/");
  return pointer.split("/").reduce((node, part) => {
    const key = unescape(part).replaceAll("~1", "/").replaceAll("~0", "~");
    return typeof node === "object" && node !== null && own(node, key) ? node[key] : undefined;
  }, targets.get(document));
}

function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// --- One schema out of $ref, allOf and conditions

const PARTS = /^(\$.*|allOf|if|then|else|dependent.*|dependencies|definitions)$/;
const both = (a, b) => (a === false || b === false ? false : a === true ? b : b === true ? a : { allOf: [a, b] });
const mergeMaps = (a, b) =>
  Object.fromEntries(Object.keys({ ...a, ...b }).map((key) => [key, both(own(a, key) ? a[key] : true, own(b, key) ? b[key] : true)]));
// Two unions become the union of all pairs, unless there are too many to choose from.
const cross = (a, b) => (a.length * b.length > 24 ? a : a.flatMap((x) => b.map((y) => both(x, y))));

const COMBINE = {
  type: (a, b) => {
    const fits = (types) => (type) => types.includes(type) || (type === "integer" && types.includes("number"));
    return [...new Set([...listOf(a).filter(fits(listOf(b))), ...listOf(b).filter(fits(listOf(a)))])];
  },
  properties: mergeMaps,
  patternProperties: mergeMaps,
  required: (a, b) => [...new Set([...a, ...b])],
  enum: (a, b) => a.filter((x) => b.some((y) => isEqual(x, y))),
  prefixItems: (a, b) => Array.from({ length: Math.max(a.length, b.length) }, (_, i) => both(a[i] ?? true, b[i] ?? true)),
  anyOf: cross,
  oneOf: cross,
};
for (const key of ["items", "additionalProperties", "propertyNames", "contains"]) COMBINE[key] = both;
for (const key of ["Length", "Items", "Properties", "imum"]) Object.assign(COMBINE, { [`min${key}`]: Math.max, [`max${key}`]: Math.min });
Object.assign(COMBINE, { exclusiveMinimum: Math.max, exclusiveMaximum: Math.min });

const requirement = cached((names) => ({ required: names }));
const NEVER = { not: {} };

function collect(schema, root, value, parts) {
  if (schema === false) parts.add(NEVER);
  if (!isMap(schema) || parts.has(schema)) return;
  parts.add(schema);
  const add = (part) => collect(part, root, value, parts);
  if (referenceOf(schema) !== undefined) add(lookUp(schema, root));
  schema.allOf?.forEach(add);
  if (value === undefined) return;
  if (own(schema, "if")) add(fits(schema.if, value, root) ? schema.then : schema.else);
  for (const rules of [schema.dependentSchemas, schema.dependentRequired, schema.dependencies]) {
    for (const key of Object.keys((isMap(value) && rules) || {})) {
      if (own(value, key)) add(Array.isArray(rules[key]) ? requirement(rules[key]) : rules[key]);
    }
  }
}

function merge(parts) {
  const merged = {};
  for (const part of parts) {
    for (const key of Object.keys(part)) {
      if (!PARTS.test(key)) merged[key] = own(merged, key) ? (COMBINE[key]?.(merged[key], part[key]) ?? merged[key]) : part[key];
    }
  }
  if (Array.isArray(merged.items)) Object.assign(merged, { prefixItems: merged.items, items: merged.additionalItems ?? true });
  if (merged.nullable === true && merged.type) merged.type = [...new Set([...listOf(merged.type), "null"])];
  if (merged.type && listOf(merged.type).length === 1) [merged.type] = listOf(merged.type);
  return merged;
}

const numberOf = cached(() => ++lastNumber);
const mergesOf = cached(() => new Map());
let lastNumber = 0;

/**
 * Return one schema without $ref, allOf and conditions, for drawing (validate with the original). With a
 * value, conditions are those that apply to it. The same parts give the same object again.
 */
export function resolve(schema, root = schema, value = undefined) {
  const parts = new Set();
  collect(schema, root, value, parts);
  const merges = mergesOf([...parts][0] ?? COMBINE);
  const key = [...parts].map(numberOf).join();
  if (!merges.has(key)) merges.set(key, merge(parts));
  return merges.get(key);
}

// --- What a schema is drawn as

const HINTS = {
  object: /^(.*[pP]roperties|required|propertyNames)$/,
  array: /^(.*[iI]tems|contains)$/,
  string: /^(m..Length|pattern|format|contentMediaType)$/,
  number: /^(.*[mM](in|ax)imum|multipleOf)$/,
};

/** Return what a resolved schema is drawn as: a type, or "choice", "union", "any", "never". */
export function kindOf(schema, root) {
  if (choicesOf(schema, root)) return "choice";
  if (schema.anyOf?.length || schema.oneOf?.length || (Array.isArray(schema.type) && schema.type.length)) return "union";
  if (schema.type) return schema.type.length ? schema.type : "never";
  if (schema.not && !Object.keys(schema.not).length) return "never";
  return Object.keys(HINTS).find((type) => Object.keys(schema).some((key) => HINTS[type].test(key))) ?? "any";
}

/** Return [{value, label}] if a resolved schema allows only listed values, otherwise null. */
export const choicesOf = cached((schema, root) => {
  if (own(schema, "const")) return [{ value: schema.const, label: schema.title ?? textOf(schema.const) }];
  if (Array.isArray(schema.enum)) {
    const names = schema.enumNames ?? schema["x-enumNames"];
    const all = schema.enum.map((value, i) => ({ value, label: String(names?.[i] ?? textOf(value)) }));
    const usable = all.filter(({ value }) => fits(schema, value, root));
    return usable.length ? usable : all;
  }
  const lists = (schema.anyOf ?? schema.oneOf ?? []).map((branch) => {
    const inner = resolve(branch, root);
    if (inner.type === "null") return [{ value: null, label: inner.title ?? "null" }];
    return inner.anyOf || inner.oneOf ? null : choicesOf(inner, root);
  });
  return lists.length && lists.every(Boolean) ? lists.flat() : null;
});

/** Return [{schema, label}], the branches of a resolved schema of kind "union". */
export const branchesOf = cached((schema, root) => {
  const key = ["anyOf", "oneOf", "type"].find((name) => schema[name]?.length);
  const { [key]: list, default: _default, title, description, examples, nullable, ...rest } = schema;
  const isType = key === "type";
  const labels = list.map((branch) => (isType ? branch : branchLabel(branch, root)));
  return list.map((branch, i) => ({
    schema: isType ? { ...rest, type: branch } : { allOf: [branch, rest] },
    label: labels.indexOf(labels[i]) === labels.lastIndexOf(labels[i]) ? labels[i] : `${labels[i]} (${i + 1})`,
  }));
});

function branchLabel(branch, root) {
  const resolved = resolve(branch, root);
  if (resolved.title) return resolved.title;
  for (const [name, property] of Object.entries(resolved.properties ?? {})) {
    const only = choicesOf(resolve(property, root), root);
    if (only?.length === 1) return `${name}: ${only[0].label}`;
  }
  const [name] = /[\w.-]+$/.exec(branch.$ref) ?? [];
  if (name && branch.$ref) return name;
  return resolved.required?.length && !resolved.type ? `with ${resolved.required.join(", ")}` : describeType(branch, root);
}

function closest(results) {
  const scores = results.map((errors) => errors.reduce((sum, { rank }) => sum + rank, 0));
  return scores.indexOf(Math.min(...scores));
}

/** Return the index of the branch that fits the value or comes closest; without a value the first that is not null. */
export function findBranch(branches, value, root) {
  if (value !== undefined) return closest(branches.map((branch) => check(branch.schema, value, startRun(root))));
  return Math.max(0, branches.findIndex((branch) => resolve(branch.schema, root).type !== "null"));
}

/** Return the schema of a property, listed or not; false if it is not allowed. */
export function propertySchema(schema, name) {
  if (own(schema.properties ?? {}, name)) return schema.properties[name];
  const found = each(schema.patternProperties, (pattern) => (matches(pattern, name) ? [schema.patternProperties[pattern]] : []));
  return found.length ? found.reduce(both) : (schema.additionalProperties ?? true);
}

/** Return the schema of an array's item; false if there can be none at this position. */
export const itemSchema = (schema, i) => schema.prefixItems?.[i] ?? schema.items ?? true;

/** Return a value as short text: strings as they are, everything else as JSON. */
export const textOf = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const listed = (list, most) => list.slice(0, most).map(textOf).join(", ") + (list.length > most ? `, … (${list.length})` : "");

/** Return the type in words: "string, email", "array of integer", "one of a, b". */
export function describeType(schema, root = schema, depth = 0) {
  const resolved = resolve(schema, root);
  const kind = kindOf(resolved, root);
  const inner = (part) => (depth > 2 ? "…" : describeType(part, root, depth + 1));
  const of = (part) => (isMap(part) ? ` of ${inner(part).replace(/^.* or .*$/, "($&)")}` : "");
  if (kind === "choice") {
    const labels = choicesOf(resolved, root).map(({ label }) => label);
    return labels.length === 1 ? labels[0] || '""' : `one of ${listed(labels, 6)}`;
  }
  if (kind === "union") return [...new Set(branchesOf(resolved, root).map((branch) => inner(branch.schema)))].join(" or ");
  if (kind === "array") return resolved.prefixItems ? `array of [${resolved.prefixItems.map(inner).join(", ")}]` : `array${of(resolved.items)}`;
  if (kind === "object") return `object${resolved.properties ? "" : of(resolved.additionalProperties)}`;
  if (kind === "string" && resolved.format) return `string, ${resolved.format}`;
  return kind === "any" ? "any JSON" : kind;
}

/** Return the limits in words ("at least 1, at most 10"), or "". */
export function describeLimits(schema) {
  const words = each(LIMITS, (key) => (typeof schema[key] === "number" && schema[key] !== 0 ? [LIMITS[key][1](schema[key])] : []));
  if (schema.pattern) words.push(`matches ${schema.pattern}`);
  // Generated schemas state the bounds of 64-bit numbers, which tell a person nothing.
  return words.filter((text) => !/\d{16}/.test(text)).join(", ");
}

/**
 * Return the value that a form starts with: constants, defaults of required properties, empty containers.
 * What a person has to fill in and what is optional is left out (undefined).
 */
export function initialValue(schema, root = schema, path = []) {
  const resolved = resolve(schema, root);
  // A required property that contains itself has no finite first value.
  if (path.includes(resolved) || path.length > 80) return undefined;
  const inside = (part) => initialValue(part, root, [...path, resolved]);
  if (own(resolved, "default")) return resolved.default;
  const kind = kindOf(resolved, root);
  if (kind === "null") return null;
  if (kind === "choice" && choicesOf(resolved, root).length === 1) return choicesOf(resolved, root)[0].value;
  if (kind === "union") return inside(branchesOf(resolved, root)[findBranch(branchesOf(resolved, root), undefined, root)].schema);
  if (kind === "array") {
    const { minItems = 0, maxItems = Infinity, prefixItems = [] } = resolved;
    const length = Math.min(Math.max(minItems, prefixItems.length), maxItems, 100);
    const items = Array.from({ length }, (_, i) => inside(itemSchema(resolved, i)));
    // Nothing is ticked yet in a list of choices.
    return prefixItems.length || kindOf(resolve(itemSchema(resolved, 0), root), root) !== "choice" ? items : items.filter((item) => item !== undefined);
  }
  if (kind !== "object") return undefined;
  const entries = (resolved.required ?? []).map((name) => [name, inside(propertySchema(resolved, name))]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

// --- Validation

const expressions = new Map();
function matches(pattern, text) {
  if (!expressions.has(pattern)) {
    // Patterns come in many dialects: unicode mode if it compiles, else the lenient mode, else none.
    for (const flags of ["", "u"]) {
      try {
        expressions.set(pattern, new RegExp(pattern, flags));
      } catch {
        if (!flags) expressions.set(pattern, null);
      }
    }
  }
  // A slow pattern on a long text would block the page.
  return text.length > 100_000 || (expressions.get(pattern)?.test(text) ?? true);
}

function isDate(text) {
  const [, year, month, day] = /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)$/.exec(text) ?? [];
  return day >= 1 && day <= new Date(Date.UTC(+year || 400, month, 0)).getUTCDate();
}

const isTime = (text) => /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i.test(text);
const isUrl = (text) => /^[a-z][a-z\d+.-]*:[^\s\\<>"{}|^`]*$/i.test(text) && URL.canParse(text);
const pattern = (expression) => (text) => expression.test(text);

const FORMATS = {
  date: [isDate, "a date such as 2026-01-31"],
  time: [isTime, "a time such as 14:30:00Z"],
  "date-time": [(text) => isDate(text.slice(0, 10)) && /[t ]/i.test(text[10]) && isTime(text.slice(11)), "a time such as 2026-01-31T14:30:00Z"],
  email: [pattern(/^[^\s@]+@[^\s@]+$/), "an email address"],
  uri: [isUrl, "a URL with a scheme, such as https://example.com"],
  uuid: [pattern(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i), "a UUID"],
  ipv4: [pattern(/^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/), "an IPv4 address"],
  ipv6: [(text) => /^[\da-f:.]*:[\da-f:.]*$/i.test(text) && URL.canParse(`http://[${text}]`), "an IPv6 address"],
  hostname: [pattern(/^(?=.{1,253}$)[a-z\d]([a-z\d-]{0,61}[a-z\d])?(\.[a-z\d]([a-z\d-]{0,61}[a-z\d])?)*$/i), "a host name"],
};
Object.assign(FORMATS, { url: FORMATS.uri, "idn-email": FORMATS.email });

const some = (word) => (count) => `${count} ${count === 1 ? word : word.replace(/y$/, "ie") + "s"}`;
const length = (text) => [...text].length;

// keyword: [is it broken?, the limit in words]
const LIMITS = {
  minimum: [(value, limit, schema) => value < limit || (schema.exclusiveMinimum === true && value == limit), (n) => `at least ${n}`],
  exclusiveMinimum: [(value, limit) => value <= limit && limit !== true, (n) => `more than ${n}`],
  maximum: [(value, limit, schema) => value > limit || (schema.exclusiveMaximum === true && value == limit), (n) => `at most ${n}`],
  exclusiveMaximum: [(value, limit) => value >= limit && limit !== true, (n) => `less than ${n}`],
  multipleOf: [(value, step) => !isMultiple(value, step), (n) => `a multiple of ${n}`],
};
for (const [key, word, measure] of [["Length", "character", length], ["Items", "item", (list) => list.length], ["Properties", "entry", (map) => Object.keys(map).length]]) {
  LIMITS[`min${key}`] = [(value, limit) => measure(value) < limit, (n) => `at least ${some(word)(n)}`];
  LIMITS[`max${key}`] = [(value, limit) => measure(value) > limit, (n) => `at most ${some(word)(n)}`];
}
const limit = (verb, ...keys) =>
  Object.fromEntries(keys.map((key) => [key, (bound, value, schema) => LIMITS[key][0](value, bound, schema) && `must ${verb} ${LIMITS[key][1](bound)}`]));

const checkItems = (part, value, start, run) => value.slice(start).flatMap((item, i) => below(start + i, check(part, item, run)));
const checkTuple = (list, value, run) => list.slice(0, value.length).flatMap((part, i) => below(i, check(part, value[i], run)));
const missing = (names, value, message) => listOf(names).flatMap((name) => (own(value, name) ? [] : [fault(message, [name])]));
const dependent = (map, value, schema, run) =>
  each(map, (name) => {
    if (!own(value, name)) return [];
    return Array.isArray(map[name]) ? missing(map[name], value, `is required together with ${name}`) : check(map[name], value, run);
  });
const reference = (_, value, schema, run) => checkReference(schema, value, run);

// Each rule returns a message, a list of errors, or a false value. Rules of a type ignore other types.
const RULES = {
  number: limit("be", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
  string: {
    ...limit("have", "minLength", "maxLength"),
    pattern: (expression, value) => !matches(expression, value) && `must match the pattern ${expression}`,
    format: (format, value) => own(FORMATS, format) && !FORMATS[format][0](value) && `must be ${FORMATS[format][1]}`,
  },
  array: {
    ...limit("have", "minItems", "maxItems"),
    uniqueItems: (isOn, value) =>
      isOn && value.flatMap((item, i) => (value.findIndex((other) => isEqual(item, other)) < i ? [fault("is there twice", [i])] : [])),
    prefixItems: (list, value, schema, run) => checkTuple(list, value, run),
    items: (part, value, schema, run) =>
      Array.isArray(part) ? checkTuple(part, value, run) : checkItems(part, value, schema.prefixItems?.length ?? 0, run),
    additionalItems: (part, value, { items }, run) => Array.isArray(items) && checkItems(part, value, items.length, run),
    contains: (part, value, { minContains = 1, maxContains = Infinity }, run) => {
      const count = value.filter((item) => !check(part, item, run).length).length;
      const words = (most) => `${some("item")(most)} of this kind: ${describeType(part, run.root)}`;
      return count < minContains ? `must have at least ${words(minContains)}` : count > maxContains && `must have at most ${words(maxContains)}`;
    },
  },
  object: {
    ...limit("have", "minProperties", "maxProperties"),
    required: (names, value) => Array.isArray(names) && missing(names, value, "is required"),
    properties: (map, value, schema, run) => each(map, (name) => (own(value, name) ? below(name, check(map[name], value[name], run)) : [])),
    patternProperties: (map, value, schema, run) =>
      each(map, (key) => each(value, (name) => (matches(key, name) ? below(name, check(map[key], value[name], run)) : []))),
    additionalProperties: (part, value, { properties = {}, patternProperties = {} }, run) =>
      each(value, (name) => {
        const isKnown = own(properties, name) || Object.keys(patternProperties).some((key) => matches(key, name));
        return isKnown ? [] : below(name, check(part, value[name], run));
      }),
    propertyNames: (part, value, schema, run) =>
      each(value, (name) => check(part, name, run).map(({ message }) => fault(`has a name that ${message}`, [name]))),
    dependentRequired: dependent,
    dependentSchemas: dependent,
    dependencies: dependent,
  },
  any: {
    $ref: reference,
    $dynamicRef: reference,
    $recursiveRef: reference,
    type: (type, value) => !listOf(type).some((name) => isType(value, name)) && [fault(`must be ${listOf(type).join(" or ")}`, [], 1000)],
    enum: (list, value) => !list.some((item) => isEqual(item, value)) && [fault(`must be one of ${listed(list, 8)}`, [], 100)],
    const: (only, value) => !isEqual(only, value) && [fault(`must be ${textOf(only) || "empty"}`, [], 100)],
    allOf: (list, value, schema, run) => list.flatMap((part) => check(part, value, run)),
    anyOf: (list, value, schema, run) => checkUnion(list, value, schema, run, Infinity),
    oneOf: (list, value, schema, run) => checkUnion(list, value, schema, run, 1),
    not: (part, value, schema, { root }) => fits(part, value, root) && `must not be this: ${describeType(part, root)}`,
    if: (part, value, schema, run) => check(check(part, value, run).length ? schema.else : schema.then, value, run),
  },
};

const below = (key, errors) => errors.map(({ path, message, rank }) => fault(message, [key, ...path], Math.min(rank, 100)));

function checkUnion(list, value, schema, run, most) {
  const results = list.map((part) => check(part, value, run));
  const fitting = list.filter((_, i) => !results[i].length);
  if (fitting.length > most) return `must fit only one of: ${fitting.map((part) => branchLabel(part, run.root)).join(", ")}`;
  if (fitting.length) return null;
  // Report the closest branch, or all of their types if none has the type of the value.
  const errors = results[closest(results)];
  const isMisfit = errors.some(({ rank, path }) => rank >= 100 && !path.length);
  return isMisfit ? [fault(`must be ${describeType({ anyOf: list }, run.root)}`, [], errors[0].rank)] : errors;
}

// Recursion enters through references: results are kept so that alternatives which share a part do not
// multiply, and a reference that leads to itself on the same value adds nothing.
function checkReference(schema, value, run) {
  const target = lookUp(schema, run.root);
  if (!run.results.has(target)) run.results.set(target, new Map());
  const results = run.results.get(target);
  if (!results.has(value)) {
    results.set(value, []);
    results.set(value, check(target, value, run));
  }
  return results.get(value);
}

const startRun = (root) => ({ root, results: new Map(), isOld: /draft-0[3-7]/.test(root.$schema) });
const fits = (schema, value, root) => check(schema, value, startRun(root)).length === 0;

function check(schema, value, run) {
  if (schema === false) return [fault("is not allowed", [], 1000)];
  if (!isMap(schema) || value === undefined || value instanceof Draft || (value === null && schema.nullable === true)) return [];
  const kind = Object.keys(HINTS).find((type) => isType(value, type));
  // Before 2019, what stands next to $ref has no meaning.
  return (run.isOld && own(schema, "$ref") ? ["$ref"] : Object.keys(schema)).flatMap((key) => {
    const isAny = own(RULES.any, key);
    if (!isAny && !(kind && own(RULES[kind], key))) return [];
    const found = RULES[isAny ? "any" : kind][key](schema[key], !isAny && kind === "number" ? toNumber(value) : value, schema, run);
    return typeof found === "string" ? [fault(found)] : found || [];
  });
}

// What is not filled in or not readable yet is wrong whatever the schema says.
function unfinished(value) {
  if (value === undefined) return [fault("is required")];
  if (value instanceof Draft) return [fault(value.message)];
  if (typeof value !== "object" || value === null || isRaw(value)) return [];
  return each(value, (key) => below(Array.isArray(value) ? Number(key) : key, unfinished(value[key])));
}

/** Return the errors of a value as [{path: ["a", 0], message: "must be at least 1"}]; empty if it is valid. */
export function validate(schema, value, root = schema) {
  const errors = [...unfinished(value), ...check(schema, value, startRun(root))];
  const unique = new Map(errors.map(({ path, message }) => [JSON.stringify([path, message]), { path, message }]));
  return [...unique.values()];
}
