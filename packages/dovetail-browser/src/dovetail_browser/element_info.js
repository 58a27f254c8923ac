const ROLES = {
  A: "link", BUTTON: "button", SELECT: "combobox", TEXTAREA: "textbox", SUMMARY: "button",
  OPTION: "option", IMG: "img", FORM: "form", LABEL: "label", NAV: "navigation", MAIN: "main",
  H1: "heading", H2: "heading", H3: "heading", H4: "heading", H5: "heading", H6: "heading",
  LI: "listitem", TD: "cell", TH: "columnheader", TABLE: "table", IFRAME: "iframe",
};
const INPUTS = {
  checkbox: "checkbox", radio: "radio", button: "button", submit: "button", reset: "button",
  image: "button", range: "slider", number: "spinbutton", search: "searchbox", file: "button",
  hidden: "hidden",
};
const INTERACTIVE =
  "a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link]," +
  "[role=tab],[role=menuitem],[role=checkbox],[role=radio],[role=switch],[role=option]," +
  "[role=textbox],[role=combobox],[contenteditable=''],[contenteditable=true],[onclick]";

function roleOf(element) {
  const given = element.getAttribute("role");
  if (given) return given.trim().split(/\s+/)[0];
  if (element.tagName === "INPUT") return INPUTS[element.type] || "textbox";
  return ROLES[element.tagName] || element.tagName.toLowerCase();
}

function squeeze(text) {
  return (text || "").slice(0, 2000).replace(/\s+/g, " ").trim().slice(0, 120);
}

// The text of a label without the fields in it.
function labelText(label) {
  const copy = label.cloneNode(true);
  for (const field of copy.querySelectorAll("select,textarea,input,button")) field.remove();
  return squeeze(copy.textContent);
}

function nameOf(element) {
  const root = element.getRootNode();
  const by = element.getAttribute("aria-labelledby");
  if (by) {
    const texts = by.split(/\s+/).map((id) => root.getElementById && root.getElementById(id));
    const joined = squeeze(texts.filter(Boolean).map((one) => one.textContent).join(" "));
    if (joined) return joined;
  }
  const label = element.getAttribute("aria-label");
  if (label) return squeeze(label);
  if (element.labels && element.labels.length) return labelText(element.labels[0]);
  if (element.tagName === "INPUT" && /^(submit|button|reset)$/.test(element.type))
    return squeeze(element.value || element.type);
  const other = element.getAttribute("placeholder") || element.getAttribute("alt") ||
    element.getAttribute("title") || element.getAttribute("name");
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)) return squeeze(other);
  return squeeze(element.innerText || element.textContent) || squeeze(other);
}

function isUnique(root, selector) {
  try { return root.querySelectorAll(selector).length === 1; } catch { return false; }
}

function selectorOf(element) {
  const root = element.getRootNode();
  if (!root.querySelectorAll) return element.tagName.toLowerCase();
  const tag = CSS.escape(element.tagName.toLowerCase());
  const tries = [];
  if (element.id) tries.push(`#${CSS.escape(element.id)}`);
  for (const key of ["data-testid", "data-test-id", "data-test", "name", "aria-label", "href"]) {
    const value = element.getAttribute(key);
    if (value && value.length < 120) tries.push(`${tag}[${key}=${JSON.stringify(value)}]`);
  }
  for (const one of tries) if (isUnique(root, one)) return one;
  const steps = [];
  for (let at = element; at && at.parentNode && steps.length < 8; at = at.parentNode) {
    if (at.nodeType !== 1) break;
    if (at.id && isUnique(root, `#${CSS.escape(at.id)}`)) {
      steps.unshift(`#${CSS.escape(at.id)}`);
      break;
    }
    const name = CSS.escape(at.tagName.toLowerCase());
    const same = at.parentNode.children
      ? [...at.parentNode.children].filter((one) => one.tagName === at.tagName) : [at];
    steps.unshift(same.length > 1 ? `${name}:nth-of-type(${same.indexOf(at) + 1})` : name);
    if (isUnique(root, steps.join(" > "))) break;
  }
  return steps.join(" > ");
}

function isVisible(element) {
  const style = getComputedStyle(element);
  if (style.visibility !== "visible" || style.display === "none") return false;
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

function describe(element) {
  const host = element.closest ? element.closest(INTERACTIVE) : null;
  return {
    tag: element.tagName.toLowerCase(),
    kind: element.type && typeof element.type === "string" ? element.type : "",
    role: roleOf(host && host !== element && roleOf(element) === element.tagName.toLowerCase()
      ? host : element),
    name: nameOf(element),
    selector: selectorOf(element),
    disabled: Boolean(element.disabled) || element.getAttribute("aria-disabled") === "true",
    visible: isVisible(element),
    interactive: Boolean(host),
    editable: Boolean(element.isContentEditable) || element.tagName === "TEXTAREA" ||
      (element.tagName === "INPUT" &&
        !/^(checkbox|radio|button|submit|reset|image|file|range|color|hidden)$/.test(element.type)),
  };
}

function listInteractive(most) {
  const found = [];
  const roots = [document];
  while (roots.length && found.length < most) {
    const root = roots.shift();
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      if (found.length < most && element.matches(INTERACTIVE) && isVisible(element))
        found.push(describe(element));
    }
  }
  return found;
}
