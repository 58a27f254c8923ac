/** The state of the page for one server: connection, lists, calls, tasks, traffic. It never touches the document. */
import { ask, loadConfig, readError, tokenHeader } from "./api.js";
import { McpClient, McpError, readTask, sleep } from "./mcp.js";
import { Observable, memory, notices } from "./ui.js";

const LISTS = { __proto__: null, tools: ["tools/list", "tools"], resources: ["resources/list", "resources"],
  templates: ["resources/templates/list", "resourceTemplates", "resources"], prompts: ["prompts/list", "prompts"] };
const MAX_FRAMES = 2000;
const MAX_FRAME_TEXT = 12e6;

/** The questions of all servers; the dialogs take them one by one. */
export const questions = Object.assign(new Observable(), {
  list: [],
  ask: (question, signal) => new Promise((resolve, reject) => {
    const settle = (how) => (value) => {
      questions.list = questions.list.filter((other) => other !== entry);
      questions.changed();
      how(value);
    };
    const entry = { ...question, answer: settle(resolve), refuse: settle(reject) };
    signal?.addEventListener("abort", () => entry.refuse(new McpError("cancelled", "Cancelled")));
    questions.list = [...questions.list, entry];
    questions.changed();
  }),
});

export class Session extends Observable {
  state = "connecting";
  lists = {};
  listErrors = {};
  tasks = new Map();
  frames = [];
  frameText = 0;
  logs = [];
  updates = [];
  values = new Map();
  restarts = 0;
  isVisible = false;

  constructor(server, config) {
    super();
    Object.assign(this, { server, config, name: server.name, process: config.process });
    this.revision = memory.get(`revision:${this.name}`) ?? "auto";
    this.history = memory.get(`history:${this.name}`) ?? [];
  }

  authHeaders = () => {
    const { key, header } = memory.get(`key:${this.name}`) ?? {};
    // The endpoint of a target uses the credentials of the user.
    return { ...(this.config.mode === "target" && tokenHeader()),
      ...(key && { [header]: header.toLowerCase() === "authorization" ? `Bearer ${key}` : key }) };
  };

  makeClient(revision, more) {
    return new McpClient({ endpoint: this.server.endpoints?.[revision] ?? this.server.endpoint, revision,
      allTraits: this.config.traits, readHeaders: (tools) => ask("headers", { tools }), headers: this.authHeaders, onFrame: (frame) => this.#addFrame(frame),
      onQuestion: (question, signal) => this.#ask(question, signal), ...more });
  }

  async connect() {
    const watched = this.client?.watched ?? [];
    this.client?.close();
    const client = (this.client = this.makeClient(this.revision, {
      onNotification: (method, params) => this.#notified(method, params),
      onEvent: (event, text) => client === this.client && this.#happened(event, text),
    }));
    if (this.state !== "lost") this.#become("connecting");
    // A new process has a new token.
    else await this.#hasNewProcess();
    try {
      await client.connect(this.config.revisions[0]);
    } catch (error) {
      if (client !== this.client) return;
      if (error.kind === "network" || error.status === 503) this.#lose(error.message);
      else this.#become(error.status === 401 ? "denied" : "failed", error.message);
      return;
    }
    if (client !== this.client) return client.close();
    if (this.state === "lost") {
      this.restarts += 1;
      notices.add("The server is back. The lists were read again.");
    }
    this.#become("ready");
    this.setVisible(this.isVisible);
    for (const uri of watched) await client.subscribe(uri).catch(() => {});
    await Promise.all(Object.keys(LISTS).map((name) => this.refresh(name)));
  }

  setRevision(revision) {
    memory.set(`revision:${this.name}`, (this.revision = revision));
    return this.connect();
  }

  #become(state, error = null) {
    Object.assign(this, { state, error });
    this.changed();
  }

  async #lose(text) {
    if (this.state === "lost" && this.isRetrying) return;
    this.#become("lost", text);
    this.isRetrying = true;
    const { client } = this;
    for (let pause = 500, isGone = true; isGone && client === this.client; pause *= 1.5) {
      await sleep(Math.min(pause, 5000));
      isGone = await fetch(client.endpoint, { method: "OPTIONS" }).then(async (response) => {
        if (response.status === 503) this.#become("lost", await readError(response));
        return response.status === 503;
      }, () => true);
    }
    this.isRetrying = false;
    if (client === this.client) await this.connect();
  }

  #happened(event, text) {
    if (event === "lost") this.#lose(text);
    else if (event === "undelivered") notices.add(`The answer did not arrive: ${text}`, "error");
    else {
      if (event === "restarted") notices.add("The session had expired. A new one was started.");
      this.#readAgain();
    }
  }

  async #hasNewProcess() {
    const before = this.process;
    this.process = await loadConfig().then((config) => config.process, () => before);
    return before !== this.process;
  }

  /** `dovetail dev` keeps its socket, so a new process looks like a stream that has ended. */
  async #readAgain() {
    if (!(await this.#hasNewProcess())) return;
    this.restarts += 1;
    notices.add("The server has restarted. The lists are read again.");
    await this.connect();
  }

  /** Follow changes only while the server is shown: a browser has six connections per host. */
  setVisible(isVisible) {
    this.isVisible = this.client.listens = isVisible;
    if (this.state === "ready") this.client[isVisible ? "listen" : "stopListening"]();
  }

  async refresh(name) {
    const [method, key, capability = key] = LISTS[name];
    const { client } = this;
    let items = [], problem = null;
    try {
      if (client.capabilities[capability]) items = await client.list(method, key);
    } catch (error) {
      // Many legacy servers have resources but no templates.
      if (error.code !== -32601) problem = error.message;
      if (error.isUnreachable) this.#lose(error.message);
    }
    if (client !== this.client) return;
    if (!problem || !this.lists[name]) this.lists = { ...this.lists, [name]: items };
    this.listErrors[name] = problem;
    this.changed();
  }

  #notified(method, params) {
    const list = /^notifications\/(\w+)\/list_changed$/.exec(method)?.[1];
    const at = Date.now();
    if (LISTS[list]) {
      this.refresh(list);
      if (list === "resources") this.refresh("templates");
      notices.add(`The server changed its ${list}.`);
    } else if (method === "notifications/message") this.logs = [...this.logs, { ...params, at }].slice(-200);
    else if (method === "notifications/resources/updated") this.updates = [...this.updates, { ...params, at }].slice(-200);
    else if (method === "notifications/tasks/status" && this.tasks.has(params.taskId))
      Object.assign(this.tasks.get(params.taskId), readTask(params));
    else if (method === "notifications/elicitation/complete") notices.add("The step in the other window is complete.");
    this.changed();
  }

  async #ask(question, signal) {
    if (question.method === "roots/list" && this.roots) return { roots: this.roots };
    return questions.ask({ ...question, session: this }, signal);
  }

  #addFrame(frame) {
    this.frames.push(frame);
    this.frameText += frame.text.length;
    while (this.frames.length > MAX_FRAMES || (this.frameText > MAX_FRAME_TEXT && this.frames[1]))
      this.frameText -= this.frames.shift().text.length;
    this.changed();
  }

  /** Call a tool. The entry in the history changes while it runs; `client` calls elsewhere, without history. */
  async run(tool, args, { asTask, client = this.client } = {}) {
    const entry = { id: crypto.randomUUID(), tool, args, asTask, status: "running", revision: client.revision,
      at: Date.now(), logs: [], controller: new AbortController() };
    if (client === this.client) this.history = [entry, ...this.history].slice(0, 100);
    this.changed();
    const begun = performance.now();
    try {
      const made = await client.callTool(tool, args, { asTask, signal: entry.controller.signal,
        onProgress: (progress) => ((entry.progress = progress), this.changed()),
        onMessage: (message) => (entry.logs.push(message), this.changed()) });
      entry.taskId = made.task?.id;
      this.#save();
      entry.result = made.task ? await this.follow({ ...made.task, tool, args }, entry.controller.signal, client) : made.result;
      entry.status = entry.result?.isError ? "error" : "done";
    } catch (error) {
      entry.status = error.kind === "cancelled" ? "cancelled" : "error";
      entry.error = error;
      if (error.isUnreachable && client === this.client) this.#lose(error.message);
    }
    entry.ms = performance.now() - begun;
    this.#save();
    return entry;
  }

  /** Keep the calls without results, which may be megabytes. A task runs on without this page. */
  #save() {
    memory.set(`history:${this.name}`, this.history.filter(({ status, taskId }) => status !== "running" || taskId).slice(0, 50)
      .map(({ result, error, progress, controller, ...kept }) => ({ ...kept, logs: [], status: kept.status === "running" ? "started" : kept.status })));
    this.changed();
  }

  cancel({ taskId, controller }) {
    if (taskId) this.cancelTask(taskId);
    controller.abort();
  }

  async follow(state, signal, client = this.client) {
    const task = Object.assign(this.tasks.get(state.id) ?? {}, state, { isFollowed: true });
    this.tasks.set(task.id, task);
    const { modern } = client.traits;
    const answered = new Set();
    let fetched;
    // A pending tasks/result lets a legacy server ask.
    const fetchResult = () => {
      fetched ??= client.request("tasks/result", { taskId: task.id });
      fetched.catch(() => {});
    };
    try {
      for (this.changed(); !task.isFinal; this.changed()) {
        if (task.status === "input_required" && modern) this.#answerTask(client, task, answered, signal);
        else if (task.status === "input_required") fetchResult();
        await sleep(Math.max(100, Math.min(task.poll, 5000)), signal);
        Object.assign(task, await client.getTask(task.id));
      }
      if (task.error) throw task.error;
      if (task.status === "cancelled") throw new McpError("cancelled", "The task was cancelled");
      if (!modern) {
        fetchResult();
        task.result = await fetched;
      }
      return task.result;
    } catch (error) {
      if (!signal?.aborted) task.error ??= error;
      throw error;
    } finally {
      task.isFollowed = false;
      this.changed();
    }
  }

  async #answerTask(client, task, answered, signal) {
    const wanted = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answered.has(key));
    if (wanted.length === 0) return;
    for (const [key] of wanted) answered.add(key);
    try {
      const inputResponses = await client.answerAll(Object.fromEntries(wanted), signal, task.tool);
      await client.request("tasks/update", { taskId: task.id, inputResponses }, { tasks: true });
    } catch (error) {
      if (error.kind !== "cancelled") notices.add(`The task got no answer: ${error.message}`, "error");
    }
  }

  async cancelTask(taskId) {
    try {
      await this.client.request("tasks/cancel", { taskId }, { tasks: true });
      Object.assign(this.tasks.get(taskId) ?? {}, await this.client.getTask(taskId));
    } catch (error) {
      notices.failed("The task was not cancelled")(error);
    }
    this.changed();
  }

  async refreshTasks() {
    const { client, tasks } = this;
    const add = (task, more) => tasks.set(task.id, Object.assign(tasks.get(task.id) ?? { ...more }, task));
    if (!client.traits.modern && client.capabilities.tasks?.list)
      for (const task of await client.list("tasks/list", "tasks")) add(readTask(task));
    else for (const { taskId, tool, args } of this.history)
      if (taskId && !tasks.get(taskId)?.isFollowed) await client.getTask(taskId).then((task) => add(task, { tool, args }), () => {});
    this.changed();
  }
}
