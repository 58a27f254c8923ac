/** What a server asks while it works (elicitation, sampling, roots), answered by hand. */
import { html, useState } from "../../vendor/preact.js";
import { SchemaForm, useForm } from "../form.js";
import { questions } from "../session.js";
import { Dialog, Field, Tick, useObservable } from "../ui.js";
import { Messages } from "./prompts.js";

const KINDS = { "elicitation/create": Elicitation, "sampling/createMessage": Sampling, "roots/list": Roots };
const numbers = new WeakMap();
let count = 0;

export function Questions() {
  const { list: [question] } = useObservable(questions);
  if (!question) return null;
  // A new key for each question: the previous answer must not be in its form.
  if (!numbers.has(question)) numbers.set(question, ++count);
  return html`<${question.params.mode === "url" ? UrlElicitation : KINDS[question.method]} key=${numbers.get(question)} question=${question} />`;
}

const Ask = ({ question, what, onSend, send = "Send", onClose, last = "Cancel", children }) => html`<${Dialog}
  title="${question.session.server.title} ${what}" onClose=${onClose}><form noValidate onSubmit=${(event) => (event.preventDefault(), onSend())}>
  <p class="muted">${question.by ? html`For a call of <code>${question.by}</code>` : "Not for a call of this page"}</p>
  <p>${question.params.message}</p>${children}<p class="row"><button class="primary">${send}</button>
    ${last === "Cancel" && html`<button type="button" onClick=${() => question.answer({ action: "decline" })}>Decline</button>`}
    <button type="button" onClick=${onClose}>${last}</button></p></form><//>`;

function Elicitation({ question }) {
  // The specification wants fields to start with their defaults.
  const form = useForm({ schema: question.params.requestedSchema ?? {}, defaults: true });
  // What was refused is sent if the user insists.
  const [refused, setRefused] = useState({});
  const isRefused = "value" in refused && refused.value === form.value;
  const send = async () => {
    await form.check();
    if (form.errors.length && !isRefused) setRefused({ value: form.value });
    else question.answer({ action: "accept", content: form.value });
  };
  return html`<${Ask} question=${question} what="asks" onSend=${send} onClose=${() => question.answer({ action: "cancel" })}>
    <${SchemaForm} form=${form} id="answer" takesFocus />
    ${isRefused && html`<p class="error-text" role="alert">Not valid: ${form.errors.map(({ path, message }) => `${path.join(".")} ${message}`).join("; ")}.
      Send again to send it anyway.</p>`}<//>`;
}

function UrlElicitation({ question }) {
  const { url = "" } = question.params;
  const isWeb = /^https?:/i.test(url) && URL.canParse(url);
  const open = () => {
    if (isWeb) window.open(url, "_blank", "noopener,noreferrer");
    question.answer({ action: isWeb ? "accept" : "decline" });
  };
  return html`<${Ask} question=${question} what="asks you to open a page" send=${isWeb ? "Open the page" : "Refuse"} onSend=${open}
    onClose=${() => question.answer({ action: "cancel" })}><p>${isWeb ? html`Host: <strong>${new URL(url).host}</strong>` : "This is not a web address."}</p>
    <p><code>${url}</code></p><//>`;
}

const refuse = (question, text) => () => question.refuse(Object.assign(new Error(text), { code: -1, kind: "rpc" }));

function Sampling({ question }) {
  const { messages = [], ...others } = question.params;
  const [text, setText] = useState("");
  const [isJson, setJson] = useState(false);
  const [problem, setProblem] = useState("");
  const send = () => {
    try {
      question.answer(isJson ? JSON.parse(text) : { role: "assistant", content: { type: "text", text }, model: "human", stopReason: "endTurn" });
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<${Ask} question=${question} what="asks for a model's answer" onSend=${send} last="Decline"
      onClose=${refuse(question, "The user declined the sampling request")}><${Messages} messages=${messages} session=${question.session} />
    <p class="muted">${Object.entries(others).map(([name, value]) => html`${name} <code>${JSON.stringify(value)}</code> `)}</p>
    <${Field} id="sampled" rows="5" label=${isJson ? "Result as JSON" : "Your answer as the model"} data-focus value=${text} onInput=${setText} />
    <p class="error-text" role="alert">${problem}</p><${Tick} label="Write the whole result as JSON" checked=${isJson} onChange=${setJson} /><//>`;
}

function Roots({ question }) {
  const [text, setText] = useState("");
  const [isKept, setKept] = useState(false);
  const send = () => {
    const roots = text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => ({ uri: line.includes("://") ? line : `file://${line}` }));
    if (isKept) question.session.roots = roots;
    question.answer({ roots });
  };
  return html`<${Ask} question=${question} what="asks for roots" onSend=${send} last="Decline" onClose=${refuse(question, "The user declined to name roots")}>
    <${Field} id="roots" rows="4" label="Folders, one file:// address per line" data-focus value=${text} onInput=${setText} />
    <${Tick} label="Answer the same from now on" checked=${isKept} onChange=${setKept} /><//>`;
}
