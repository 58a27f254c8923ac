/** Requests of a view, and text fields whose value the server completes as you type. */
import { html, useEffect, useState } from "../../vendor/preact.js";
import { Field } from "../ui.js";

/** `reference` names the prompt or template; `values` are all arguments. */
export function CompletedInput({ session: { client }, reference, argument, values, onChange }) {
  const { name, title = name, description, required } = argument;
  const value = values[name] ?? "";
  const [found, setFound] = useState([]);
  const [isFocused, setFocused] = useState(false);
  useEffect(() => {
    if (!isFocused || (client.traits.completions && !client.capabilities.completions)) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => client.request("completion/complete", { ref: reference, argument: { name, value },
      ...(client.traits.elicitation && { context: { arguments: values } }) }, { signal: controller.signal })
      // Completion is a help; the field works without it.
      .then(({ completion }) => setFound(completion.values.slice(0, 30)), () => {}), 150);
    return () => (clearTimeout(timer), controller.abort());
  }, [value, isFocused]);
  return html`<${Field} id="argument-${name}" label="${title}${required ? " (required)" : ""}" value=${value} required=${required}
    onFocus=${() => setFocused(true)} onInput=${onChange}>${description && html`<p class="muted">${description}</p>`}
    ${isFocused && found.length > 0 && html`<p class="row" role="group" aria-label="Suggestions for ${name}">${found.map((each) =>
      html`<button type="button" onClick=${() => onChange(each)}>${each}</button>`)}</p>`}<//>`;
}

/** Run a request for a view: [{result, error, cancel}, start]. */
export function useRequest() {
  const [state, setState] = useState({});
  const start = async (work) => {
    const controller = new AbortController();
    const mine = { cancel: () => controller.abort() };
    setState(mine);
    const made = await work(controller.signal).then((result) => ({ result }), (error) => ({ error }));
    setState((now) => (now === mine ? made : now));
  };
  return [state, start];
}
