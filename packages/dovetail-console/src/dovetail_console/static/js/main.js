/** Start, routes and layout. The address is #/SERVER/VIEW/ITEM. */
import { html, render, useEffect, useState } from "../vendor/preact.js";
import { loadConfig, useCredentials } from "./api.js";
import { attempt } from "./json.js";
import { Session } from "./session.js";
import { ErrorBox, Notices, Select, linkTo, settings, useObservable } from "./ui.js";
import { Check } from "./views/check.js";
import { Prompts } from "./views/prompts.js";
import { Questions } from "./views/questions.js";
import { Resources } from "./views/resources.js";
import { Revisions } from "./views/revisions.js";
import { SignIn } from "./views/sign-in.js";
import { Overview, Start } from "./views/start.js";
import { Tasks } from "./views/tasks.js";
import { Confirm, Tools } from "./views/tools.js";
import { Traffic } from "./views/traffic.js";

// Names in the address are not those of Object.prototype.
const VIEWS = { __proto__: null, overview: ["Overview", Overview], tools: ["Tools", Tools], resources: ["Resources", Resources], prompts: ["Prompts", Prompts],
  tasks: ["Tasks", Tasks], traffic: ["Traffic", Traffic], revisions: ["Revisions", Revisions], check: ["Compliance", Check], "sign-in": ["Sign-in", SignIn] };
const STATES = { connecting: "Connecting", ready: "Connected", lost: "Not reachable", denied: "Sign-in needed", failed: "Failed" };
const sessions = new Map();

function sessionOf(config, name) {
  const server = config.servers.find((each) => each.name === name);
  if (server && !sessions.has(name)) {
    sessions.set(name, new Session(server, config));
    sessions.get(name).connect();
  }
  return sessions.get(name);
}

const readRoute = () => location.hash.slice(2).split("/").map((part) => attempt(() => decodeURIComponent(part), part));

function focusSearch(event) {
  const field = document.querySelector("input[type=search]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || !field || event.target.closest("input, textarea, select, dialog")) return;
  event.preventDefault();
  field.focus();
}

function App() {
  const [config, setConfig] = useState(null);
  const [failure, setFailure] = useState(null);
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    loadConfig().then(setConfig, (error) => setFailure(error.message));
    const follow = () => setRoute(readRoute());
    addEventListener("hashchange", follow);
    // It may have changed since the first drawing.
    follow();
    addEventListener("pagehide", () => sessions.forEach((each) => each.client.close()));
    // A page from the back-forward cache has a closed connection.
    addEventListener("pageshow", (event) => event.persisted && sessions.forEach((each) => each.connect()));
    document.addEventListener("keydown", focusSearch);
  }, []);
  if (failure) return html`<main><${ErrorBox} title="The console cannot start"><p>${failure}</p>
    <button onClick=${() => location.reload()}>Try again</button><//></main>`;
  if (!config) return html`<main>Loading…</main>`;
  const { servers } = config;
  const [name, view = "tools", item = ""] = route[0] || servers.length !== 1 ? route : [servers[0].name];
  const session = sessionOf(config, name);
  if (session) useCredentials(session.authHeaders);
  return html`${session ? html`<${Page} key=${name} config=${config} session=${session} view=${VIEWS[view] ? view : "tools"} item=${item} />`
    : html`<${Bar} config=${config} /><main tabindex="-1" id="main">${name && html`<${ErrorBox} title="There is no server ${name}" />`}
      <${Start} servers=${servers} sessionOf=${(each) => sessionOf(config, each)} /></main>`}
    <${Notices} /><${Questions} /><${Confirm} />`;
}

function Bar({ config, session, children }) {
  const { servers, revisions } = config;
  const skip = (event) => (event.preventDefault(), document.getElementById("main").focus());
  const auto = session?.state === "ready" && session.revision === "auto" ? `Auto (${session.client.revision})` : "Auto";
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header><div class="row"><a class="brand" href=${servers.length > 1 ? "#/" : linkTo(servers[0]?.name ?? "", "overview")}>
        <img src="icon.svg" alt="" width="24" height="24" /> dovetail</a>
      ${servers.length > 1 && session ? html`<${Select} isBare label="Server" value=${session.name} onChange=${(to) => (location.hash = linkTo(to, "tools"))}
        options=${servers.map((each) => [each.name, each.title])} />` : html`<strong>${session?.server.title}</strong>`}<span class="spacer"></span>
      ${session && html`<span class="status ${session.state}" role="status"><span>${STATES[session.state]}</span></span>
        <${Select} isBare label="Protocol revision" value=${session.revision} onChange=${(to) => session.setRevision(to)} options=${[["auto", auto], ...revisions]} />`}
      <${ThemeSwitch} /></div>${children}</header>`;
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme);
  const choose = (next) => {
    setTheme(next);
    document.documentElement.dataset.theme = next;
    settings.set("theme", next);
  };
  return html`<${Select} isBare label="Theme" value=${theme} onChange=${choose} options=${[["", "System"], ["light", "Light"], ["dark", "Dark"]]} />`;
}

const readTheme = () => settings.get("theme") ?? "";

function Page({ config, session, view, item }) {
  useObservable(session);
  const { lists: { tools, prompts, resources, templates = [] }, tasks, state, error, server: { title } } = session;
  const counts = { tools: tools?.length, prompts: prompts?.length, resources: resources && resources.length + templates.length, tasks: tasks.size || null };
  const [label, View] = VIEWS[view];
  useEffect(() => void (document.title = `${item || label} · ${title} · dovetail console`), [view, item]);
  useEffect(() => {
    const show = () => session.setVisible(!document.hidden);
    show();
    document.addEventListener("visibilitychange", show);
    return () => (document.removeEventListener("visibilitychange", show), session.setVisible(false));
  }, []);
  return html`<${Bar} config=${config} session=${session}><nav class="views" aria-label="Views">${Object.entries(VIEWS).map(([key, [text]]) =>
      html`<a href=${linkTo(session.name, key)} aria-current=${key === view ? "page" : undefined}>${text}${counts[key] != null
        && html` <span class="badge">${counts[key]}</span>`}</a>`)}</nav><//>
    <main tabindex="-1" id="main" class=${item ? "has-item" : ""}><h1 class="hidden">${title}: ${label}</h1>
      ${error && html`<${ErrorBox} title=${state === "lost" ? "The server cannot be reached" : "The connection failed"}><p>${error}</p>
        <p class="row">${state === "lost" && "The page connects again when it is back."}
          ${state === "denied" && html`<a href=${linkTo(session.name, "sign-in")}>Enter a key or sign in</a>`}
          <button onClick=${() => session.connect()}>Connect now</button></p><//>`}
      <${View} key=${view} session=${session} config=${config} item=${item} /></main>`;
}

document.documentElement.dataset.theme = readTheme();
const app = document.getElementById("app");
app.replaceChildren();
render(html`<${App} />`, app);
