/**
 * JSON Schema for forms: references, merged schemas, type names, first values, validation.
 *
 * 2020-12, with the forms of draft-07 and `nullable` of OpenAPI. Not evaluated: unevaluated*, dynamic scopes
 * ($dynamicRef is read as $ref), references to other documents (they accept anything). Schemas and values are
 * immutable. Integers beyond 2^53 stay exact as JSON.rawJSON objects, which JSON.stringify writes digit by
 * digit; browsers before Chromium 114, Firefox 135 and Safari 18.4 round them.
 */

const own = (object, key) => Object.hasOwn(object, key);
const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isRaw = (value) => Boolean(JSON.isRawJSON?.(value));
const listOf = (value) => (Array.isArray(value) ? value : [value]);
const unique = (list) => [...new Set(list)];
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

/** Return a value as short text: strings as they are, everything else as JSON. */
export const textOf = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
const listed = (list, most) => list.slice(0, most).map(textOf).join(", ") + (list.length > most ? `, … (${list.length})` : "");

// --- References

// Every $id starts a document, against which the references below it are resolved.
const indexOf = cached((root) => {
  const targets = new Map();
  const bases = new WeakMap();
  const visit = (node, base) => {
    if (typeof node !== "object" || node === null) return;
    const { $id, $anchor, $dynamicAnchor } = node;
    const id = (typeof $id === "string" && URL.parse($id, base)?.href) || base;
    if (id !== base || node === root) targets.set(id.replace(/#$/, ""), node);
    const [document] = id.split("#");
    for (const name of [$anchor, $dynamicAnchor]) if (typeof name === "string") targets.set(`${document}#${name}`, node);
    bases.set(node, document);
    Object.values(node).forEach((inner) => visit(inner, document));
  };
  visit(root, "schema:///");
  return { targets, bases };
});

// The schema that a reference points to; undefined if it is not in this document, or not a reference.
function lookUp(schema, root) {
  const { targets, bases } = indexOf(root);
  try {
    const uri = new URL(schema.$ref ?? schema.$dynamicRef, bases.get(schema) ?? bases.get(root)).href.replace(/#$/, "");
    const [document, pointer] = uri.split("#/");
    if (pointer === undefined) return targets.get(uri);
    const keys = pointer.split("/").map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
    return keys.reduce((node, key) => (own(node, key) ? node[key] : undefined), targets.get(document));
  } catch {
    return undefined;
  }
}

// --- One schema out of $ref, allOf and conditions

// The parts of a schema that describe the same value: of $ref and allOf, and of conditions that the value meets.
function partsOf(schema, root, value) {
  const parts = [...(schema.allOf ?? [])];
  if (own(schema, "$ref") || own(schema, "$dynamicRef")) parts.push(lookUp(schema, root));
  if (own(schema, "if") && value !== undefined) parts.push(fits(schema.if, value, root) ? schema.then : schema.else);
  for (const rules of [schema.dependentSchemas, schema.dependentRequired, schema.dependencies]) {
    const met = Object.keys(rules ?? {}).filter((key) => isMap(value) && own(value, key));
    parts.push(...met.map((key) => (Array.isArray(rules[key]) ? requirement(rules[key]) : rules[key])));
  }
  return parts;
}

const requirement = cached((names) => ({ required: names }));
const PARTS = /^(\$.*|allOf|if|then|else|depend.*|definitions)$/;
const both = (a, b) => (a === false || b === false ? false : a === true ? b : b === true ? a : { allOf: [a, b] });
const mergeMaps = (a, b) =>
  Object.fromEntries(Object.keys({ ...a, ...b }).map((key) => [key, both(own(a, key) ? a[key] : true, own(b, key) ? b[key] : true)]));
// Two unions become the union of all pairs, unless there are too many to choose from.
const cross = (a, b) => (a.length * b.length > 24 ? a : a.flatMap((x) => b.map((y) => both(x, y))));

const COMBINE = {
  type: (a, b) => {
    const fits = (types) => (type) => types.includes(type) || (type === "integer" && types.includes("number"));
    return unique([...listOf(a).filter(fits(listOf(b))), ...listOf(b).filter(fits(listOf(a)))]);
  },
  properties: mergeMaps,
  patternProperties: mergeMaps,
  required: (a, b) => unique([...a, ...b]),
  enum: (a, b) => a.filter((x) => b.some((y) => isEqual(x, y))),
  items: both,
  additionalProperties: both,
  propertyNames: both,
  anyOf: cross,
  oneOf: cross,
};

function merge(parts) {
  const merged = {};
  for (const part of parts) {
    for (const key of Object.keys(part).filter((name) => !PARTS.test(name))) {
      // Of two limits, the tighter one.
      const combine = COMBINE[key] ?? (/^(exclusiveM|m)in/.test(key) ? Math.max : /^(exclusiveM|m)ax/.test(key) ? Math.min : (first) => first);
      merged[key] = own(merged, key) ? combine(merged[key], part[key]) : part[key];
    }
  }
  if (merged.nullable === true && merged.type) merged.type = unique([...listOf(merged.type), "null"]);
  if (merged.type && listOf(merged.type).length === 1) [merged.type] = listOf(merged.type);
  return merged;
}

const NEVER = { not: {} };
const merges = new Map();
const numberOf = cached(() => ++lastNumber);
let lastNumber = 0;

/**
 * Return one schema without $ref, allOf and conditions, for drawing (validate with the original). With a
 * value, conditions are those that apply to it. The same parts give the same object again.
 */
export function resolve(schema, root = schema, value = undefined) {
  const parts = new Set();
  const add = (part) => {
    if (part === false) parts.add(NEVER);
    if (!isMap(part) || parts.has(part)) return;
    parts.add(part);
    partsOf(part, root, value).forEach(add);
  };
  add(schema);
  const key = [...parts].map(numberOf).join();
  if (!merges.has(key)) merges.set(key, merge(parts));
  return merges.get(key);
}

// --- What a schema is drawn as

// The keywords that apply to one type.
const KEYWORDS = {
  object: /^(.*[pP]roperties|required|propertyNames|depend.*)$/,
  array: /^(.*[iI]tems|contains)$/,
  string: /^(m..Length|pattern|format|contentMediaType)$/,
  number: /^(.*[mM](in|ax)imum|multipleOf)$/,
};
const typeOfKeyword = (key) => Object.keys(KEYWORDS).find((type) => KEYWORDS[type].test(key));

/** Return what a resolved schema is drawn as: a type, or "choice", "union", "any", "never". */
export function kindOf(schema, root) {
  if (choicesOf(schema, root)) return "choice";
  if (schema.anyOf?.length || schema.oneOf?.length || (Array.isArray(schema.type) && schema.type.length)) return "union";
  if (schema.type) return schema.type.length ? schema.type : "never";
  if (schema.not && !Object.keys(schema.not).length) return "never";
  return Object.keys(schema).map(typeOfKeyword).find(Boolean) ?? "any";
}

/** Return [{value, label}] if a resolved schema allows only listed values, otherwise null. */
export const choicesOf = cached((schema, root) => {
  if (schema.type === "null") return [{ value: null, label: schema.title ?? "null" }];
  if (own(schema, "const")) return [{ value: schema.const, label: schema.title ?? textOf(schema.const) }];
  if (Array.isArray(schema.enum)) {
    const all = schema.enum.map((value, i) => ({ value, label: String(schema.enumNames?.[i] ?? textOf(value)) }));
    const usable = all.filter(({ value }) => fits(schema, value, root));
    return usable.length ? usable : all;
  }
  const lists = (schema.anyOf ?? schema.oneOf ?? []).map((branch) => {
    const inner = resolve(branch, root);
    return inner.anyOf || inner.oneOf ? null : choicesOf(inner, root);
  });
  return lists.length && lists.every(Boolean) ? lists.flat() : null;
});

/** Return [{schema, label}], the branches of a resolved schema of kind "union". */
export const branchesOf = cached((schema, root) => {
  const key = ["anyOf", "oneOf", "type"].find((name) => schema[name]?.length);
  const { [key]: list, default: _default, title, description, examples, nullable, ...rest } = schema;
  const labels = list.map((branch) => (key === "type" ? branch : branchLabel(branch, root)));
  return list.map((branch, i) => ({
    schema: key === "type" ? { ...rest, type: branch } : { allOf: [branch, rest] },
    label: labels.indexOf(labels[i]) === labels.lastIndexOf(labels[i]) ? labels[i] : `${labels[i]} (${i + 1})`,
  }));
});

function branchLabel(branch, root) {
  const { title, properties, required, type } = resolve(branch, root);
  const constants = each(properties, (name) => {
    const only = choicesOf(resolve(properties[name], root), root);
    return only?.length === 1 ? [`${name}: ${only[0].label}`] : [];
  });
  const [name] = (branch.$ref && /[\w.-]+$/.exec(branch.$ref)) || constants;
  return title ?? constants[0] ?? name ?? (required?.length && !type ? `with ${required.join(", ")}` : describeType(branch, root));
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
export function propertySchema({ properties = {}, patternProperties, additionalProperties = true }, name) {
  const found = each(patternProperties, (pattern) => (matches(pattern, name) ? [patternProperties[pattern]] : []));
  if (own(properties, name)) found.push(properties[name]);
  return found.length ? found.reduce(both) : additionalProperties;
}

/** Return the schemas of the first items of an array; draft-07 lists them in `items`. */
export const tupleOf = ({ prefixItems, items }) => prefixItems ?? (Array.isArray(items) ? items : []);

/** Return the schema of an array's item; false if there can be none at this position. */
export const itemSchema = (schema, i) => tupleOf(schema)[i] ?? (Array.isArray(schema.items) ? schema.additionalItems : schema.items) ?? true;

/** Return the type in words: "string, email", "array of integer", "one of a, b". */
export function describeType(schema, root = schema, depth = 0) {
  const resolved = resolve(schema, root);
  const { items, properties, additionalProperties, format } = resolved;
  const tuple = tupleOf(resolved);
  const kind = kindOf(resolved, root);
  const inner = (part) => (depth > 2 ? "…" : describeType(part, root, depth + 1));
  const of = (part) => (isMap(part) ? ` of ${inner(part).replace(/^.* or .*$/, "($&)")}` : "");
  if (kind === "choice") {
    const labels = choicesOf(resolved, root).map(({ label }) => label);
    return labels.length === 1 ? labels[0] || '""' : `one of ${listed(labels, 6)}`;
  }
  if (kind === "union") return unique(branchesOf(resolved, root).map((branch) => inner(branch.schema))).join(" or ");
  if (kind === "array") return tuple.length ? `array of [${tuple.map(inner).join(", ")}]` : `array${of(items)}`;
  if (kind === "object") return `object${properties ? "" : of(additionalProperties)}`;
  return kind === "any" ? "any JSON" : kind === "string" && format ? `string, ${format}` : kind;
}

/** Return the limits in words ("at least 1, at most 10"), or "". */
export function describeLimits(schema) {
  const words = each(LIMITS, (key) => (typeof schema[key] === "number" && schema[key] !== 0 ? [limitText(key, schema[key])] : []));
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
  const { minItems = 0, maxItems = Infinity, required = [] } = resolved;
  if (own(resolved, "default")) return resolved.default;
  const kind = kindOf(resolved, root);
  const choices = choicesOf(resolved, root);
  if (choices?.length === 1) return choices[0].value;
  if (kind === "union") {
    const branches = branchesOf(resolved, root);
    return inside(branches[findBranch(branches, undefined, root)].schema);
  }
  if (kind === "array") {
    const { length: fixed } = tupleOf(resolved);
    const length = Math.min(Math.max(minItems, fixed), maxItems, 100);
    const items = Array.from({ length }, (_, i) => inside(itemSchema(resolved, i)));
    // Nothing is ticked yet in a list of choices.
    const isTicks = !fixed && kindOf(resolve(itemSchema(resolved, 0), root), root) === "choice";
    return isTicks ? items.filter((item) => item !== undefined) : items;
  }
  if (kind !== "object") return undefined;
  const entries = required.map((name) => [name, inside(propertySchema(resolved, name))]);
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

// A date that does not exist, such as February 30, becomes another one.
const isDate = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.startsWith(text);
const isTime = (text) => /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i.test(text);
const isUrl = (text) => /^[a-z][a-z\d+.-]*:[^\s\\<>"{}|^`]*$/i.test(text) && URL.canParse(text);
const FORMATS = {
  date: [isDate, "a date such as 2026-01-31"],
  time: [isTime, "a time such as 14:30:00Z"],
  "date-time": [(text) => isDate(text.slice(0, 10)) && /[t ]/i.test(text[10]) && isTime(text.slice(11)), "a time such as 2026-01-31T14:30:00Z"],
  email: [(text) => /^[^\s@]+@[^\s@]+$/.test(text), "an email address"],
  uri: [isUrl, "a URL with a scheme, such as https://example.com"],
  uuid: [(text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text), "a UUID"],
  ipv4: [(text) => /^[\d.]+$/.test(text) && URL.parse(`http://${text}`)?.hostname === text, "an IPv4 address"],
  ipv6: [(text) => /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`), "an IPv6 address"],
  hostname: [(text) => /^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/i.test(text), "a host name"],
};

function isMultiple(value, step) {
  // 0.3 / 0.1 is not 3 in doubles.
  const ratio = Number(value) / step;
  return Math.abs(ratio - Math.round(ratio)) <= Math.abs(ratio) * 1e-15;
}

// keyword: [is it broken?, the limit in words, what is counted]
const MINIMUM = [(size, limit) => size < limit, "at least"];
const MAXIMUM = [(size, limit) => size > limit, "at most"];
const LIMITS = {
  minimum: MINIMUM,
  exclusiveMinimum: [(size, limit) => size <= limit, "more than"],
  maximum: MAXIMUM,
  exclusiveMaximum: [(size, limit) => size >= limit, "less than"],
  multipleOf: [(size, step) => !isMultiple(size, step), "a multiple of"],
};
for (const [key, unit] of [["Length", "character"], ["Items", "item"], ["Properties", "member"]]) {
  Object.assign(LIMITS, { [`min${key}`]: [...MINIMUM, unit], [`max${key}`]: [...MAXIMUM, unit] });
}

const withUnit = (limit, unit) => (unit ? `${limit} ${unit}${limit === 1 ? "" : "s"}` : limit);
const limitText = (key, limit) => `${LIMITS[key][1]} ${withUnit(limit, LIMITS[key][2])}`;

function sizeOf(value) {
  if (typeof value === "string") return [...value].length;
  return isType(value, "number") ? toNumber(value) : Object.keys(value).length;
}

const checkLimit = (key) => (given, value, schema) => {
  // In draft-04, `exclusiveMinimum` says how `minimum` is meant.
  const limit = given === true ? schema[key.replace("exclusiveM", "m")] : given;
  const [isBroken, , unit] = LIMITS[key];
  return typeof limit === "number" && isBroken(sizeOf(value), limit) && `must ${unit ? "have" : "be"} ${limitText(key, limit)}`;
};

// Each rule returns a message, a list of errors, or a false value. Rules of a type ignore other types.
const RULES = {
  ...Object.fromEntries(Object.keys(LIMITS).map((key) => [key, checkLimit(key)])),
  pattern: (expression, value) => !matches(expression, value) && `must match the pattern ${expression}`,
  format: (format, value) => own(FORMATS, format) && !FORMATS[format][0](value) && `must be ${FORMATS[format][1]}`,
  uniqueItems: (isOn, value) =>
    isOn && value.flatMap((item, i) => (value.findIndex((other) => isEqual(item, other)) < i ? [fault("is there twice", [i])] : [])),
  contains: (part, value, { minContains = 1, maxContains = Infinity }, { root }) => {
    const count = value.filter((item) => fits(part, item, root)).length;
    const text = count < minContains ? limitText("minItems", minContains) : count > maxContains && limitText("maxItems", maxContains);
    return text && `must have ${text} of this kind: ${describeType(part, root)}`;
  },
  required: (names, value) => Array.isArray(names) && names.flatMap((name) => (own(value, name) ? [] : [fault("is required", [name])])),
  propertyNames: (part, value, schema, run) =>
    each(value, (name) => check(part, name, run).map(({ message }) => fault(`has a name that ${message}`, [name]))),
  type: (type, value) => !listOf(type).some((name) => isType(value, name)) && [fault(`must be ${listOf(type).join(" or ")}`, [], 1000)],
  enum: (list, value) => !list.some((item) => isEqual(item, value)) && [fault(`must be one of ${listed(list, 8)}`, [], 100)],
  const: (only, value) => !isEqual(only, value) && [fault(`must be ${textOf(only) || "empty"}`, [], 100)],
  anyOf: (list, value, schema, run) => checkUnion(list, value, run, Infinity),
  oneOf: (list, value, schema, run) => checkUnion(list, value, run, 1),
  not: (part, value, schema, { root }) => fits(part, value, root) && `must not be this: ${describeType(part, root)}`,
};
const TYPES = Object.fromEntries(Object.keys(RULES).map((key) => [key, typeOfKeyword(key)]));

function checkUnion(list, value, run, most) {
  const results = list.map((part) => check(part, value, run));
  const fitting = list.filter((_, i) => !results[i].length);
  if (fitting.length > most) return `must fit only one of: ${fitting.map((part) => branchLabel(part, run.root)).join(", ")}`;
  if (fitting.length) return null;
  // Report the closest branch, or all of their types if none has the type of the value.
  const errors = results[closest(results)];
  const isMisfit = errors.some(({ rank, path }) => rank >= 100 && !path.length);
  return isMisfit ? [fault(`must be ${describeType({ anyOf: list }, run.root)}`, [], errors[0].rank)] : errors;
}

const startRun = (root) => ({ root, results: new Map(), isOld: /draft-0[3-7]/.test(root.$schema) });
const fits = (schema, value, root) => check(schema, value, startRun(root)).length === 0;
const below = (key, errors) => errors.map(({ path, message, rank }) => fault(message, [key, ...path], Math.min(rank, 100)));

// Results are kept so that alternatives which share a part do not multiply, and a reference that leads to
// itself on the same value adds nothing.
function check(schema, value, run) {
  if (schema === false) return [fault("is not allowed", [], 1000)];
  if (!isMap(schema) || value === undefined || value instanceof Draft || (value === null && schema.nullable === true)) return [];
  if (!run.results.has(schema)) run.results.set(schema, new Map());
  const results = run.results.get(schema);
  if (!results.has(value)) {
    results.set(value, []);
    results.set(value, checkAll(schema, value, run));
  }
  return results.get(value);
}

function checkAll(schema, value, run) {
  const inPlace = partsOf(schema, run.root, value).flatMap((part) => check(part, value, run));
  // Before 2019, what stands next to $ref has no meaning.
  if (run.isOld && own(schema, "$ref")) return inPlace;
  const rules = Object.keys(schema).filter((key) => own(RULES, key) && (!TYPES[key] || isType(value, TYPES[key])));
  const found = rules.map((key) => RULES[key](schema[key], value, schema, run) || []);
  const children = isType(value, "array") ? value.map((_, i) => [i, itemSchema(schema, i)])
    : isType(value, "object") ? Object.keys(value).map((name) => [name, propertySchema(schema, name)]) : [];
  return [...inPlace, ...found.flatMap((each) => (typeof each === "string" ? [fault(each)] : each)),
    ...children.flatMap(([key, part]) => below(key, check(part, value[key], run)))];
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
  const found = new Map(errors.map(({ path, message }) => [JSON.stringify([path, message]), { path, message }]));
  return [...found.values()];
}
