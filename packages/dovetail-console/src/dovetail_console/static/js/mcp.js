/**
 * An MCP client over Streamable HTTP for both eras. It knows nothing of the page: questions, changes and
 * messages go to callbacks.
 */
import { tryJson } from "./json.js";
import { readEvents } from "./sse.js";
import { hasTasks, mirrorHeaders, serverInfoOf } from "./wire.js";

const LATEST_LEGACY = "2025-11-25";
const CONNECT_MS = 15_000;
const MAX_ROUNDS = 30;
const SECRET = /^(authorization|x-(api-key|console-token)|mcp-session-id)$/i;
const QUESTIONS = ["elicitation/create", "sampling/createMessage", "roots/list"];
const ignore = () => {};
let count = 0;

/** A failure; `kind` is rpc, http, network (`isUnreachable`), protocol, session or cancelled. */
export class McpError extends Error {
  constructor(kind, message, more) {
    super(message);
    Object.assign(this, { kind }, more);
  }
}

const targetOf = (params) => params?.name ?? params?.uri;

export const sleep = (ms, signal) => new Promise((resolve, reject) => {
  signal?.addEventListener("abort", () => reject(new McpError("cancelled", "Cancelled")));
  setTimeout(resolve, ms);
});

const backOff = (ms, round, signal) => sleep(Math.min(ms * 2 ** round, 30_000), signal);
const rpcError = ({ code, message, data }) => new McpError("rpc", String(message), { code, data });

/** A task with the same names in both eras. */
export const readTask = ({ error, ...task }) => ({
  ...task, id: task.taskId, ttl: task.ttlMs ?? task.ttl, poll: task.pollIntervalMs ?? task.pollInterval ?? 1000,
  isFinal: ["completed", "failed", "cancelled"].includes(task.status), ...(error && { error: rpcError(error) }),
});

/** One connection to one server. `revision` is a date or "auto". */
export class McpClient {
  watched = new Set();
  excluded = [];
  capabilities = {};
  onNotification = ignore;
  onEvent = ignore;
  #closing = new AbortController();
  #listening = new AbortController();
  #progress = new Map();
  #asked = new Map();
  toolHeaders = new Map();
  #nextId = 1;
  #session = null;
  #restarting = null;

  constructor(options) {
    Object.assign(this, options, { wanted: options.revision });
  }

  get traits() {
    return this.allTraits[this.revision] ?? {};
  }

  async connect(newest) {
    const isAuto = this.wanted === "auto";
    this.revision = isAuto ? newest : this.wanted;
    try {
      await (this.traits.modern ? this.#discover() : this.#initialize());
    } catch (error) {
      // Errors that only modern servers send, denials and dead servers say nothing about the era.
      const isModern = [-32020, -32021, -32022].includes(error.code) || error.status >= 500 || [401, 403].includes(error.status);
      if (!isAuto || isModern || error.isUnreachable) throw error;
      this.revision = LATEST_LEGACY;
      await this.#initialize();
    }
  }

  async #discover() {
    const found = await this.#exchange("server/discover", {}, { timeout: CONNECT_MS });
    Object.assign(this, { serverInfo: serverInfoOf(found), capabilities: found.capabilities ?? {}, instructions: found.instructions,
      supported: found.supportedVersions });
  }

  async #initialize() {
    this.#session = null;
    const { revision } = this;
    const found = await this.#exchange("initialize", this.traits.hello, { timeout: CONNECT_MS });
    if (this.wanted !== "auto" && found.protocolVersion !== revision)
      throw new McpError("protocol", `The server does not support ${revision}; it offers ${found.protocolVersion}`);
    Object.assign(this, { capabilities: {}, ...found, revision: found.protocolVersion });
    await this.#post({ method: "notifications/initialized" });
    if (this.capabilities.logging) await this.#exchange("logging/setLevel", { level: "debug" }).catch(ignore);
  }

  close() {
    this.stopListening();
    if (this.#session?.id) fetch(this.endpoint, { method: "DELETE", headers: this.#headers(), keepalive: true }).catch(ignore);
    this.#closing.abort();
  }

  async request(method, params, options = {}) {
    let extra = {};
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const send = () => this.#exchange(method, { ...params, ...extra }, options);
      const result = await send().catch(async (error) => {
        if (error.kind === "session") await this.#restart();
        // The tool has other headers than in the list we know.
        else if (error.code === -32020 && method === "tools/call") await this.list("tools/list", "tools");
        else throw error;
        return send();
      });
      if (!this.traits.modern || result.resultType !== "input_required") return result;
      const { requestState, inputRequests } = result;
      extra = { requestState };
      if (inputRequests) extra.inputResponses = await this.answerAll(inputRequests, options.signal, targetOf(params));
      else await backOff(50, round, options.signal);
    }
    throw new McpError("protocol", `${method} still asks for input after ${MAX_ROUNDS} rounds`);
  }

  async answerAll(requests, signal, by) {
    const answers = {};
    for (const [key, { method, params = {} }] of Object.entries(requests)) answers[key] = await this.onQuestion({ method, params, by }, signal);
    return answers;
  }

  /** Every page of a list. Tools with invalid header annotations are left out. */
  async list(method, key) {
    const items = [];
    for (let cursor, page = 0; page === 0 || (cursor && page < 200); page += 1) {
      const result = await this.request(method, cursor && { cursor });
      items.push(...(result[key] ?? []));
      cursor = result.nextCursor;
    }
    if (key !== "tools" || !this.traits.modern) return items;
    const marked = items.filter(({ inputSchema = {} }) => JSON.stringify(inputSchema).includes('"x-mcp-header"'));
    const { headers, excluded } = marked.length ? await this.readHeaders(marked) : { headers: {}, excluded: [] };
    Object.assign(this, { toolHeaders: new Map(Object.entries(headers)), excluded });
    return items.filter(({ name }) => !excluded.some((tool) => tool.name === name));
  }

  taskSupport(tool) {
    const { traits: { modern, tasks }, capabilities } = this;
    if (modern) return hasTasks(capabilities) ? "optional" : "forbidden";
    return (tasks && capabilities.tasks?.requests?.tools?.call && tool.execution?.taskSupport) || "forbidden";
  }

  async callTool(name, args, { asTask, ...options }) {
    const { modern } = this.traits;
    const result = await this.request("tools/call", { name, arguments: args, ...(asTask && !modern && { task: {} }) }, { ...options, tasks: asTask });
    const task = modern ? result.resultType === "task" && result : asTask && result.task;
    return task ? { task: readTask(task) } : { result };
  }

  getTask = async (taskId) => readTask(await this.request("tasks/get", { taskId }, { tasks: true }));

  describe = (method, params) => ({ revision: this.revision, url: this.#url, body: this.#message(1, method, params, {}), headers: this.#headers(method, params) });

  get #url() {
    return new URL(this.endpoint, location.href).href;
  }

  #message(id, method, params, { tasks, onProgress }) {
    const meta = { ...this.traits[tasks ? "taskMeta" : "meta"], ...(onProgress && { progressToken: id }) };
    return { jsonrpc: "2.0", id, method, params: Object.keys(meta).length ? { ...params, _meta: meta } : params };
  }

  #headers(method, params = {}) {
    const own = { ...this.headers(), Accept: `${method ? "application/json, " : ""}text/event-stream`, ...(method && { "Content-Type": "application/json" }) };
    if (this.traits.modern) return { ...own, ...mirrorHeaders(this.revision, method, params, this.toolHeaders) };
    if (this.#session && this.traits.elicitation) own["MCP-Protocol-Version"] = this.revision;
    if (this.#session?.id) own["Mcp-Session-Id"] = this.#session.id;
    return own;
  }

  async #exchange(method, params, options = {}) {
    const id = this.#nextId++;
    const { signal, timeout, onProgress, onMessage } = options;
    const closing = this.#closing.signal;
    const any = AbortSignal.any([closing, ...(signal ? [signal] : []), ...(timeout ? [AbortSignal.timeout(timeout)] : [])]);
    this.#progress.set(id, onProgress);
    try {
      for await (const message of this.#messages(this.#message(id, method, params, options), any)) {
        if (message.method !== undefined) this.#deliver(message, onMessage, targetOf(params));
        else if (message.error) throw rpcError(message.error);
        else if (message.id === id) return message.result;
      }
      throw new McpError("network", `The connection ended before ${method} was answered`);
    } catch (error) {
      if (!any.aborted) throw error;
      // A modern request is cancelled by closing its response, which the signal does; initialize never is.
      if (!this.traits.modern && method !== "initialize" && !closing.aborted)
        this.#post({ method: "notifications/cancelled", params: { requestId: id } }).catch(ignore);
      if (signal?.aborted || closing.aborted) throw new McpError("cancelled", "Cancelled");
      throw new McpError("network", `The server did not answer ${method} in time`);
    } finally {
      this.#progress.delete(id);
    }
  }

  /**
   * The messages in the response to a request, or on the GET stream. A legacy stream is resumed (the GET
   * stream is opened again) if it ends.
   */
  async *#messages(request, signal) {
    let lastId, retry = 1000;
    for (let idle = 0; ; idle += 1) {
      const response = await this.#fetch(lastId ? null : request, signal, lastId);
      const type = response.headers.get("Content-Type") ?? "";
      // Without a GET stream the server answers 405; a stream that cannot be resumed is over.
      if (!response.ok && (!request || lastId) && !(response.status === 404 && this.#session?.id)) return;
      if (!response.ok) await this.#fail(response, request?.method);
      if (request?.method === "initialize") this.#session = { id: response.headers.get("Mcp-Session-Id") };
      if (type.startsWith("application/json")) return void (yield* this.#parse(await response.text(), response, request));
      if (!type.startsWith("text/event-stream")) throw new McpError("protocol", `The server answered with ${type || "no Content-Type"}`);
      try {
        for await (const event of readEvents(response.body)) {
          idle = 0;
          lastId = event.id || lastId;
          retry = Number(event.retry) || retry;
          if (event.data) yield* this.#parse(event.data, response, request);
        }
      } catch (error) {
        if (error instanceof McpError || signal.aborted) throw error;
      }
      if (request && (!lastId || this.traits.modern || idle > 5)) return;
      await backOff(retry, idle, signal);
    }
  }

  *#parse(text, response, request) {
    // Revision 2025-03-26 has batches.
    for (const message of [tryJson(text) ?? {}].flat()) {
      const isAnswer = message.method === undefined;
      this.#record("in", response, text, isAnswer ? { ...message, method: request?.method, params: request?.params } : message, isAnswer);
      if (isAnswer && !message.error && message.result === undefined)
        throw new McpError("protocol", `The server sent no JSON-RPC message: ${text.slice(0, 200)}`);
      yield message;
    }
  }

  async #fail(response, method) {
    const { status } = response;
    const text = await response.text();
    const error = tryJson(text)?.error;
    this.#record("in", response, text, error ? { method, error } : {});
    if (status === 404 && this.#session?.id && method !== "initialize") throw new McpError("session", "The session has expired");
    const isDenial = status === 401 || status === 403;
    if (error?.code && !isDenial) throw rpcError(error);
    const what = isDenial ? `denies access (${status})` : `answered ${method} with HTTP ${status}`;
    throw new McpError("http", `The server ${what}: ${String(error?.message ?? error ?? text).slice(0, 300)}`, { status });
  }

  async #fetch(message, signal, lastId) {
    const method = message ? "POST" : "GET";
    const headers = { ...this.#headers(message && (message.method ?? "response"), message?.params), ...(lastId && { "Last-Event-ID": lastId }) };
    const body = message && JSON.stringify(message);
    const about = { stream: `${++count}`, begun: performance.now() };
    this.#record("out", { ...about, url: this.#url, method, headers: Object.entries(headers) }, body ?? "", message ?? {});
    try {
      return Object.assign(await fetch(this.endpoint, { method, headers, body, signal, cache: "no-store" }), about);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new McpError("network", `The server at ${this.#url} cannot be reached`, { isUnreachable: true });
    }
  }

  async #post(message) {
    const response = await this.#fetch({ jsonrpc: "2.0", ...message });
    if (!response.ok) await this.#fail(response, message.method ?? "a response");
  }

  #deliver({ id, method, params = {} }, onMessage, by) {
    if (id !== undefined) this.#answer(id, method, params, by);
    else if (method === "notifications/progress") this.#progress.get(params.progressToken)?.(params);
    else if (method === "notifications/cancelled") this.#asked.get(params.requestId)?.abort();
    else if (method === "notifications/message" && onMessage) onMessage(params);
    else this.onNotification(method, params);
  }

  async #answer(id, method, params, by) {
    const reply = { id };
    const controller = new AbortController();
    this.#asked.set(id, controller);
    try {
      if (method === "ping") reply.result = {};
      else if (QUESTIONS.includes(method)) reply.result = await this.onQuestion({ method, params, by }, controller.signal);
      else reply.error = { code: -32601, message: `Method not found: ${method}` };
    } catch ({ code = -32603, message }) {
      reply.error = { code, message };
    }
    // A cancelled request gets no answer.
    if (!controller.signal.aborted) await this.#post(reply).catch((error) => this.onEvent("undelivered", error.message));
  }

  async listen() {
    this.stopListening();
    const { signal } = (this.#listening = new AbortController());
    try {
      if (this.traits.modern) await this.#listenModern(signal);
      else for await (const message of this.#messages(null, signal)) if (message.method) this.#deliver(message);
    } catch (error) {
      if (signal.aborted) return;
      if (error.kind !== "session") this.onEvent("lost", error.message);
      else await this.#restart().catch(({ message }) => this.onEvent("lost", message));
    }
  }

  stopListening() {
    this.#listening.abort();
  }

  async #listenModern(signal) {
    const lists = ["tools", "prompts", "resources"].map((name) => [`${name}ListChanged`, Boolean(this.capabilities[name]?.listChanged)]);
    const notifications = { ...Object.fromEntries(lists), ...(this.watched.size && { resourceSubscriptions: [...this.watched] }) };
    for (let idle = 0; Object.values(notifications).some(Boolean); idle += 1) {
      if (idle) this.onEvent("reopened");
      try {
        await this.#exchange("subscriptions/listen", { notifications }, { signal });
      } catch (error) {
        // The server does not offer the stream: there is nothing to follow.
        if (error.kind === "rpc" || error.kind === "http") return;
        if (error.kind !== "network" || error.isUnreachable) throw error;
      }
      await backOff(1000, idle, signal);
    }
  }

  async subscribe(uri, isOn = true) {
    this.watched[isOn ? "add" : "delete"](uri);
    if (this.traits.modern) this.listen();
    else await this.request(isOn ? "resources/subscribe" : "resources/unsubscribe", { uri });
  }

  #restart() {
    this.#restarting ??= (async () => {
      await this.#initialize();
      for (const uri of this.watched) await this.#exchange("resources/subscribe", { uri });
      if (this.listens) this.listen();
      this.onEvent("restarted");
    })().finally(() => (this.#restarting = null));
    return this.#restarting;
  }

  #record(direction, { stream, url, method = null, status = null, headers, begun }, text, { method: name = null, id = null, ...message }, isAnswer) {
    const kind = message.error ? "error" : message.result !== undefined ? "response" : !name ? "http" : id === null ? "notification" : "request";
    const masked = [...headers].map(([header, value]) => [header, SECRET.test(header) ? "***" : value]);
    this.onFrame({ n: ++count, at: Date.now() / 1000, stream, direction, kind, method: name, target: targetOf(message.params), id, text, principal: null,
      http: { method, url, status, headers: masked }, ms: isAnswer ? performance.now() - begun : null });
  }
}
