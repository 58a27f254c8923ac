// The page of test_forms.py: shows forms and lets the driver fill them.
import { html, render } from "/static/vendor/preact.js";
import { SchemaForm } from "/static/js/form.js";
import * as library from "/static/js/schema.js";
import { Driver, Stuck, nameOf } from "/page/form_driver.js";

let latest = null;
let number = 0;

function show(text, value, more = {}) {
  number += 1;
  const props = { schema: JSON.parse(text), value: value === undefined ? undefined : library.parseJson(value), ...more };
  const onChange = (next, errors) => (latest = { value: next, errors });
  render(html`<${SchemaForm} key=${number} id="form" ...${props} onChange=${onChange} />`, document.querySelector("#place"));
}

// As text, so that large integers reach the test as they are sent.
const sent = () => ({ text: JSON.stringify(latest.value) ?? null, errors: latest.errors.map(({ path, message }) => `/${path.join("/")} ${message}`) });

async function fill(text, value, isReal) {
  show(text);
  try {
    await new Driver(() => latest, library.isEqual, isReal).fill(library.parseJson(value));
    return sent();
  } catch (error) {
    if (!(error instanceof Stuck)) throw error;
    return { stuck: error.message };
  }
}

// Write the value as JSON, look at the fields and go back: what is sent and shown on the way.
async function passThroughTabs(text, value) {
  show(text);
  const driver = new Driver(() => latest, library.isEqual, false);
  const open = (name) => driver.click([...document.querySelectorAll("#form [role=tab]")].find((tab) => tab.textContent === name));
  const field = () => document.querySelector("[aria-label='Value as JSON']");
  await open("JSON");
  await driver.type(field(), value);
  const written = sent();
  await open("Form");
  const found = { sent: [written, sent()], wrong: document.querySelectorAll("#form [aria-invalid]").length };
  await open("JSON");
  return { ...found, shown: field().value };
}

// [[schema, [value, ...]], ...] as text -> the errors that the page's validator finds in each.
const judge = (text) =>
  library.parseJson(text).map(([schema, values]) => values.map((value) => library.validate(schema, value).map(({ path, message }) => `/${path.join("/")} ${message}`)));

// Controls that a screen reader cannot name, and references to elements that are not there.
function unnamed() {
  const all = [...document.querySelectorAll("#place :is(input, select, textarea, button, fieldset, [role=group])")];
  const ids = all.flatMap((control) => (control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean));
  const legend = (control) => control.localName === "fieldset" && control.querySelector("legend").textContent.trim();
  const nameless = all.filter((control) => !(legend(control) || nameOf(control)?.trim()));
  return [...nameless.map((control) => control.outerHTML), ...ids.filter((id) => !document.getElementById(id))];
}

Object.assign(window, { show, sent, fill, passThroughTabs, judge, unnamed, library });
