/** Tasks of both eras: list, state, cancel, result. Their questions appear as dialogs. */
import { html, useEffect, useState } from "../../vendor/preact.js";
import { Failure, Result } from "../results.js";
import { Field, Panes, linkTo, notices } from "../ui.js";

export function Tasks({ session, item }) {
  const [error, setError] = useState(null);
  const refresh = () => session.refreshTasks().then(() => setError(null), ({ message }) => setError(message));
  useEffect(() => void (session.state === "ready" && refresh()), [session.state]);
  const items = [...session.tasks.values()].reverse().map(({ id, tool = "Task", status }) => ({ key: id, title: tool, text: id, badge: status }));
  const task = session.tasks.get(item);
  return html`<${Panes} session=${session} view="tasks" label="Tasks" items=${items} item=${item} error=${error}
    footer=${html`<p><button onClick=${refresh}>Refresh</button></p><${Find} session=${session} />`}>
    ${task && html`<${Task} key=${item} session=${session} task=${task} />`}<//>`;
}

/** A task by its id: another client may have started it, and modern servers have no list. */
function Find({ session }) {
  const [id, setId] = useState("");
  const find = async (event) => {
    event.preventDefault();
    try {
      session.follow(await session.client.getTask(id.trim())).catch(() => {});
      location.hash = linkTo(session.name, "tasks", id.trim());
    } catch (error) {
      notices.failed("The task was not found")(error);
    }
  };
  return html`<form onSubmit=${find}><${Field} id="task-id" label="Task id" value=${id} required onInput=${setId} /><button>Find</button></form>`;
}

function Task({ session, task }) {
  const { id, tool = "Task", status, statusMessage, createdAt, lastUpdatedAt, ttl, args, isFollowed, isFinal, result, error } = task;
  const follow = () => session.follow(task).catch(() => {});
  return html`<article><h2>${tool}</h2><p role="status"><span class="badge ${status}">${status}</span> ${statusMessage}</p>
    <p><code>${id}</code> ${args && html`<code>${JSON.stringify(args)}</code>`}</p>
    <p class="muted">Created ${createdAt}, updated ${lastUpdatedAt}${ttl && `, kept for ${ttl / 1000} s`}</p>
    <p class="row">${!isFollowed && !result && html`<button onClick=${follow}>${isFinal ? "Get result" : "Follow"}</button>`}
      ${!isFinal && html`<button class="danger" onClick=${() => session.cancelTask(id)}>Cancel task</button>`}
      ${status === "input_required" && "The task waits for an answer."}</p>
    ${error && html`<${Failure} error=${error} />`}${result && html`<${Result} result=${result} session=${session} />`}</article>`;
}
