/** Prompts: arguments with completion, and the messages that result. */
import { html, useMemo, useState } from "../../vendor/preact.js";
import { Block, Failure } from "../results.js";
import { Json, Panes } from "../ui.js";
import { CompletedInput, useRequest } from "./completion.js";

export function Prompts({ session, item }) {
  const { lists: { prompts }, listErrors } = session;
  const items = useMemo(() => prompts?.map(({ name, title = name, description }) => ({ key: name, title, text: description })), [prompts]);
  const prompt = prompts?.find((each) => each.name === item);
  return html`<${Panes} session=${session} view="prompts" label="Prompts" items=${items} item=${item} error=${listErrors.prompts}>
    ${prompt && html`<${Prompt} key=${item} session=${session} prompt=${prompt} />`}<//>`;
}

function Prompt({ session, prompt: { name, title = name, description, arguments: args = [] } }) {
  const [values, setValues] = useState({});
  const [{ result, error, cancel }, start] = useRequest();
  const submit = (event) => {
    event.preventDefault();
    const given = Object.fromEntries(Object.entries(values).filter(([, text]) => text));
    start((signal) => session.client.request("prompts/get", { name, arguments: given }, { signal }));
  };
  return html`<article><h2>${title}</h2><p>${description}</p>
    <form onSubmit=${submit}>${args.map((argument) => html`<${CompletedInput} key=${argument.name} session=${session} argument=${argument}
        reference=${{ type: "ref/prompt", name }} values=${values} onChange=${(text) => setValues({ ...values, [argument.name]: text })} />`)}
      <p class="row"><button class="primary">Get prompt</button>${cancel && html`<button type="button" class="danger" onClick=${cancel}>Cancel</button>`}</p></form>
    ${error && html`<${Failure} error=${error} />`}
    ${result && html`<p>${result.description}</p><${Messages} messages=${result.messages ?? []} session=${session} />
      <details><summary>Raw</summary><${Json} value=${result} /></details>`}</article>`;
}

export const Messages = ({ messages, session }) => html`<ol class="messages">${messages.map(({ role, content }) => html`<li><strong>${role}</strong>
  ${[content].flat().map((block) => html`<${Block} block=${block} session=${session} />`)}</li>`)}</ol>`;
