"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll(".row")];
  const frames = new Map(JSON.parse($("frames").textContent).map((frame) => [frame.n, frame]));
  const controls = ["q", "verdict", "level", "era", "area"];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const arrows = { sent: "→", received: "←", event: "←", stderr: "!", silence: "…" };

  // -- filters -------------------------------------------------------------------------------

  const fits = (row, wanted) => {
    const data = row.dataset;
    const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    return (!wanted.verdict || wanted.verdict.split(",").includes(data.verdict))
      && (!wanted.level || data.level === wanted.level)
      && (!wanted.era || data.era.split(" ").includes(wanted.era))
      && (!wanted.area || data.area === wanted.area)
      && words.every((word) => texts.get(row).includes(word));
  };

  const apply = (remember) => {
    const wanted = Object.fromEntries(controls.map((id) => [id, $(id).value]));
    let count = 0;
    for (const row of rows) {
      row.hidden = !fits(row, wanted);
      count += row.hidden ? 0 : 1;
    }
    const chosen = controls.filter((id) => wanted[id]);
    $("shown").textContent = chosen.length ? `${count} of ${rows.length} requirements` : `${rows.length} requirements`;
    $("reset").hidden = !chosen.length;
    $("none").hidden = count > 0;
    for (const tile of document.querySelectorAll(".tile")) {
      tile.setAttribute("aria-pressed", String(tile.dataset.verdict === wanted.verdict));
    }
    if (remember) {
      const state = new URLSearchParams(chosen.map((id) => [id, wanted[id]])).toString();
      history.replaceState(null, "", state ? `#${state}` : "#");
    }
  };

  const restore = () => {
    const hash = decodeURIComponent(location.hash.slice(1));
    const target = hash && !hash.includes("=") ? $(hash) : null;
    const state = new URLSearchParams(target ? "" : location.hash.slice(1));
    for (const id of controls) $(id).value = state.get(id) || "";
    apply(false);
    if (target) {
      target.open = true;
      target.scrollIntoView();
    }
  };

  for (const id of controls) $(id).addEventListener("input", () => apply(true));
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("reset").addEventListener("click", () => {
    for (const id of controls) $(id).value = "";
    apply(true);
  });
  for (const tile of document.querySelectorAll(".tile")) {
    tile.addEventListener("click", () => {
      const select = $("verdict");
      select.value = select.value === tile.dataset.verdict ? "" : tile.dataset.verdict;
      apply(true);
      if (select.value) $("filters").scrollIntoView({ block: "start" });
    });
  }
  addEventListener("hashchange", restore);

  // -- frames --------------------------------------------------------------------------------

  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  const pretty = (text) => {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return null;
    }
  };

  const token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const colour = (pre, text) => {
    let at = 0;
    for (const found of text.matchAll(token)) {
      pre.append(text.slice(at, found.index));
      const isKey = found[1] && found[2];
      pre.append(make("span", isKey ? "k" : found[1] ? "s" : "n", found[1] || found[0]));
      if (isKey) pre.append(found[2]);
      at = found.index + found[0].length;
    }
    pre.append(text.slice(at));
  };

  const head = (frame) => {
    if (frame.kind === "sent" && frame.url) return `${frame.method || "POST"} ${frame.url}`;
    if (frame.kind === "received" && frame.status !== undefined) return `HTTP ${frame.status}`;
    if (frame.kind === "event") return `event ${frame.event || "message"}`;
    if (frame.kind === "silence") return "no reply before the timeout";
    if (frame.kind === "ended") return frame.status === undefined || frame.of !== undefined ? "end" : `process exited with status ${frame.status}`;
    return frame.kind;
  };

  const card = (frame) => {
    const way = frame.kind === "sent" ? "out" : frame.kind === "received" || frame.kind === "event" ? "in" : "";
    const box = make("div", `frame ${way}`);
    const top = make("header");
    top.append(make("span", "way", arrows[frame.kind] || "×"), make("b", "", head(frame)));
    top.append(make("span", "", `#${frame.n}`), make("span", "", `${frame.at.toFixed(3)} s`));
    top.append(make("span", "", [frame.connection, frame.tag].filter(Boolean).join(", ")));
    box.append(top);
    if (frame.headers && frame.headers.length) {
      box.append(make("pre", "heads", frame.headers.map(([name, value]) => `${name}: ${value}`).join("\n")));
    }
    const text = frame.base64 ? `base64: ${frame.base64}` : frame.text;
    if (text) {
      const pre = make("pre");
      const json = pretty(text);
      if (json === null) pre.textContent = text;
      else colour(pre, json);
      box.append(pre);
    }
    return box;
  };

  const fill = (row) => {
    for (const place of row.querySelectorAll("[data-frames]")) {
      const numbers = place.dataset.frames.split(" ").map(Number);
      place.removeAttribute("data-frames");
      place.replaceChildren(...numbers.filter((n) => frames.has(n)).map((n) => card(frames.get(n))));
    }
  };

  for (const row of rows) row.addEventListener("toggle", () => row.open && fill(row));
  for (const event of document.querySelectorAll(".event")) fill(event);

  // -- light and dark ------------------------------------------------------------------------

  const root = document.documentElement;
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { $("theme").textContent = isDark() ? "Light" : "Dark"; };
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  $("theme").hidden = false;
  $("filters").hidden = false;
  label();
  restore();
})();
