// The page of test_forms.py: shows forms of the console and lets the driver fill them.
import { html, render } from "./vendor/preact.js";
import { SchemaForm, useForm } from "./js/form.js";
import { isEqual, parseJson } from "./js/json.js";
import { Driver, Stuck, nameOf } from "./form_driver.js";

let current = null;
let number = 0;

function Page({ schema, value }) {
  current = useForm({ schema, value });
  return html`<${SchemaForm} form=${current} id="form" />`;
}

// Resolves when the value on the page is checked, and drawn as the server describes it.
async function settled() {
  await current.checking;
  // Preact draws in a microtask, so this waits for the drawing without a frame on the screen, which costs more.
  for (let i = 0; i < 5; i += 1) await null;
}

function show(text, value) {
  number += 1;
  render(html`<${Page} key=${number} schema=${parseJson(text)} value=${value === undefined ? undefined : parseJson(value)} />`, document.querySelector("#place"));
  return settled();
}

// As text, so that large integers reach the test as they are sent.
const sent = () => ({ text: JSON.stringify(current.value) ?? null, errors: current.errors.map(({ path, message }) => `/${path.join("/")} ${message}`) });

async function fill(text, value, isReal) {
  await show(text);
  try {
    await new Driver(() => current, isEqual, settled, isReal).fill(parseJson(value));
    return sent();
  } catch (error) {
    if (!(error instanceof Stuck)) throw error;
    return { stuck: error.message };
  }
}

// Write the value as JSON, look at the fields and go back: what is sent and shown on the way.
async function passThroughTabs(text, value) {
  await show(text);
  const driver = new Driver(() => current, isEqual, settled, false);
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

// Controls that a screen reader cannot name, and references to elements that are not there.
function unnamed() {
  const all = [...document.querySelectorAll("#place :is(input, select, textarea, button, [role=group])")];
  const ids = all.flatMap((control) => (control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean));
  const nameless = all.filter((control) => !nameOf(control)?.trim());
  return [...nameless.map((control) => control.outerHTML), ...ids.filter((id) => !document.getElementById(id))];
}

Object.assign(window, { show, settled, sent, fill, passThroughTabs, unnamed });
