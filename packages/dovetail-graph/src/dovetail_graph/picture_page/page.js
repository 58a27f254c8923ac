"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const FOREVER = data.forever;
  const COLOURS = ["#3b7dd8", "#d9663a", "#3a9d63", "#b0549e", "#c79a1e", "#4aa7b5", "#8a6bd1",
    "#c94f6d", "#7d8c2e", "#7a7f87", "#a8744a", "#5c8f8a"];

  // ---- data: every version of every fact, with valid and recorded time --------------------------------
  const names = data.names;
  const nodes = names.map((name, id) => ({
    id, name, x: 0, y: 0, vx: 0, vy: 0, kind: "", degree: 0, there: false, versions: [], said: [],
    lower: name.toLowerCase(), matched: false,
  }));
  const spanned = (row) => ({ vf: row[0], vt: row[1], rf: row[2], rt: row[3] });
  for (const [id, kind, times] of data.entities) {
    nodes[id].versions.push({ kind, ...spanned(times) });
  }
  for (const [id, text, confidence, source, times] of data.observations) {
    nodes[id].said.push({ text, lower: text.toLowerCase(), confidence, source, ...spanned(times) });
  }
  const links = data.relations.map(([from, to, kind, strength, confidence, times]) => (
    { from: nodes[from], to: nodes[to], kind, strength, confidence, there: false, ...spanned(times) }));
  const kinds = [...new Set(data.entities.map((row) => row[1]))];
  const counts = new Map(kinds.map((kind) => [kind, 0]));
  for (const row of data.entities) counts.set(row[1], counts.get(row[1]) + 1);
  kinds.sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
  const colourOf = new Map(kinds.map((kind, at) => [kind, COLOURS[at % COLOURS.length]]));
  const off = new Set();

  // ---- the selected time, on the selected axis --------------------------------------------------------------
  let axis = "valid";
  let moment = data.now;
  const holds = (one) => (axis === "valid"
    ? one.rt >= FOREVER && one.vf <= moment && moment < one.vt
    : one.rf <= moment && moment < one.rt && one.vf <= moment && moment < one.vt);

  const everything = [...nodes.flatMap((node) => [...node.versions, ...node.said]), ...links];
  const momentsOf = (which) => {
    const found = new Set();
    for (const one of everything) {
      const ends = which === "valid" ? (one.rt >= FOREVER ? [one.vf, one.vt] : []) : [one.rf, one.rt];
      for (const end of ends) if (end > data.long_ago && end < FOREVER && end <= data.now) found.add(end);
    }
    return [...found].sort((a, b) => a - b);
  };
  const changes = { valid: momentsOf("valid"), recorded: momentsOf("recorded") };
  const range = () => {
    const list = changes[axis];
    const first = list.length ? list[0] : data.now - 1e6;
    return [first - Math.max(1e3, (data.now - first) * 0.01), data.now];
  };

  let shown = [];
  let drawn = [];
  function lookUp() {
    for (const node of nodes) { node.degree = 0; node.there = false; node.kind = ""; }
    for (const node of nodes) {
      for (const version of node.versions) if (holds(version)) { node.there = true; node.kind = version.kind; }
    }
    drawn = [];
    for (const link of links) {
      link.there = link.from.there && link.to.there && holds(link);
      if (link.there) {
        link.from.degree += 1; link.to.degree += 1;
        if (!off.has(link.from.kind) && !off.has(link.to.kind)) drawn.push(link);
      }
    }
    shown = nodes.filter((node) => node.there && !off.has(node.kind));
    for (const node of shown) node.radius = 4 + Math.min(16, Math.sqrt(node.degree) * 1.9);
    byDegree = [...shown].sort((a, b) => b.degree - a.degree || (a.name < b.name ? -1 : 1));
    const hidden = data.total - names.length;
    $("counts").textContent = `${shown.length.toLocaleString()} entities, ${drawn.length.toLocaleString()} relations`
      + (hidden > 0 ? ` (the last changed ${names.length.toLocaleString()} of ${data.total.toLocaleString()})` : "");
    $("empty").hidden = shown.length > 0;
  }
  let byDegree = [];

  // ---- layout: force-directed; relations attract, entities repel -----------------------
  // Uses the relations of all times, so that nothing moves when the time changes.
  const pairs = new Map();
  for (const link of links) {
    if (link.from === link.to) continue;
    const key = link.from.id < link.to.id ? `${link.from.id},${link.to.id}` : `${link.to.id},${link.from.id}`;
    pairs.set(key, [link.from, link.to]);
  }
  const springs = [...pairs.values()];
  const pull = new Float64Array(nodes.length);
  for (const [a, b] of springs) { pull[a.id] += 1; pull[b.id] += 1; }
  // Start in a spiral, with the most connected entities in the center.
  [...nodes].sort((a, b) => pull[b.id] - pull[a.id]).forEach((node, at) => {
    const distance = 26 * Math.sqrt(at + 0.5);
    node.x = distance * Math.cos(at * 2.399963);
    node.y = distance * Math.sin(at * 2.399963);
  });

  function quadTree() {
    let half = 1;
    for (const node of nodes) half = Math.max(half, Math.abs(node.x), Math.abs(node.y));
    const root = { x: 0, y: 0, half: half + 1, mass: 0, sx: 0, sy: 0, kids: null, node: null };
    const put = (cell, node, depth) => {
      for (;;) {
        cell.mass += 1; cell.sx += node.x; cell.sy += node.y;
        if (!cell.kids) {
          if (cell.mass === 1 || depth > 24) { cell.node = node; return; }
          cell.kids = [null, null, null, null];
          const other = cell.node; cell.node = null;
          place(cell, other, depth);
        }
        const at = (node.x >= cell.x ? 1 : 0) + (node.y >= cell.y ? 2 : 0);
        cell.kids[at] ||= kid(cell, at);
        cell = cell.kids[at]; depth += 1;
      }
    };
    const kid = (cell, at) => {
      const half = cell.half / 2;
      return { x: cell.x + (at & 1 ? half : -half), y: cell.y + (at & 2 ? half : -half), half,
        mass: 0, sx: 0, sy: 0, kids: null, node: null };
    };
    const place = (cell, node, depth) => {
      const at = (node.x >= cell.x ? 1 : 0) + (node.y >= cell.y ? 2 : 0);
      cell.kids[at] ||= kid(cell, at);
      put(cell.kids[at], node, depth + 1);
    };
    for (const node of nodes) put(root, node, 0);
    return root;
  }

  let heat = 1;
  let held = null;
  function tick() {
    const root = quadTree();
    const stack = [];
    // Fit the aspect ratio of the window.
    const wide = Math.max(0.6, Math.min(1.6, Math.sqrt(width / (height || 1)) || 1));
    for (const node of nodes) {
      let fx = -node.x * 0.011 / wide; let fy = -node.y * 0.011 * wide;
      stack.length = 0; stack.push(root);
      while (stack.length) {
        const cell = stack.pop();
        const dx = node.x - cell.sx / cell.mass; const dy = node.y - cell.sy / cell.mass;
        const far = dx * dx + dy * dy;
        if (!cell.kids || (4 * cell.half * cell.half) < far * 0.8) {
          if (cell.node === node && cell.mass === 1) continue;
          const push = 1300 * cell.mass / (far + 30);
          fx += dx * push / 30; fy += dy * push / 30;
        } else for (const one of cell.kids) if (one && one.mass) stack.push(one);
      }
      node.vx = (node.vx + fx * heat) * 0.55; node.vy = (node.vy + fy * heat) * 0.55;
    }
    for (const [a, b] of springs) {
      const dx = b.x - a.x; const dy = b.y - a.y;
      const distance = Math.sqrt(dx * dx + dy * dy) || 1;
      const force = (distance - 60) / distance * 0.35 * heat / Math.min(6, Math.max(1, Math.min(pull[a.id], pull[b.id])));
      const share = pull[b.id] / (pull[a.id] + pull[b.id]);
      a.vx += dx * force * share; a.vy += dy * force * share;
      b.vx -= dx * force * (1 - share); b.vy -= dy * force * (1 - share);
    }
    for (const node of nodes) {
      if (node === held) continue;
      const speed = Math.hypot(node.vx, node.vy); const cap = speed > 60 ? 60 / speed : 1;
      node.x += node.vx * cap; node.y += node.vy * cap;
    }
    heat *= 0.985;
  }

  // ---- drawing -----------------------------------------------------------------------------------
  const canvas = $("canvas"); const brush = canvas.getContext("2d");
  const view = { x: 0, y: 0, scale: 1 };
  let width = 0; let height = 0; let dirty = true; let chosen = null; let over = null; let query = "";
  let ink = {};
  function readInk() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "soft", "edge", "halo", "accent", "line"]) ink[name] = style.getPropertyValue(`--${name}`).trim();
  }
  function resize() {
    const ratio = window.devicePixelRatio || 1;
    const box = $("stage").getBoundingClientRect();
    width = box.width; height = box.height;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawBars(); dirty = true;
  }
  function fit() {
    const some = shown.length ? shown : nodes;
    if (!some.length) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x, y } of some) {
      left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
    }
    view.scale = Math.min(2, 0.9 * Math.min(width / (right - left + 80), height / (bottom - top + 80)));
    view.x = -(left + right) / 2 * view.scale; view.y = -(top + bottom) / 2 * view.scale;
    dirty = true;
  }
  const toScreen = (node) => [node.x * view.scale + view.x + width / 2, node.y * view.scale + view.y + height / 2];
  const neighbours = (node) => {
    const found = new Set([node]);
    for (const link of drawn) {
      if (link.from === node) found.add(link.to);
      if (link.to === node) found.add(link.from);
    }
    return found;
  };
  function draw() {
    brush.clearRect(0, 0, width, height);
    const focus = over || chosen;
    const near = focus && focus.there ? neighbours(focus) : null;
    const lit = (node) => (near ? near.has(node) : !query || node.matched);
    const zoom = Math.max(0.35, Math.min(1.6, view.scale));
    for (const pass of [false, true]) {
      for (const link of drawn) {
        const bright = near ? (link.from === focus || link.to === focus) : lit(link.from) && lit(link.to);
        if (bright !== pass) continue;
        const [x1, y1] = toScreen(link.from); const [x2, y2] = toScreen(link.to);
        if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > height) continue;
        const dim = near || query ? (bright ? 0.75 : 0.07) : 0.16 + 0.3 * link.confidence * Math.min(1, 400 / drawn.length + 0.25);
        brush.strokeStyle = `rgba(${ink.edge}, ${dim})`;
        brush.lineWidth = (0.5 + link.strength) * zoom;
        brush.beginPath();
        if (link.from === link.to) brush.arc(x1, y1 - link.from.radius * zoom, link.from.radius * zoom, 0, 7);
        else { brush.moveTo(x1, y1); brush.lineTo(x2, y2); }
        brush.stroke();
        if (bright && near && link.from !== link.to) arrow(x1, y1, x2, y2, link.to.radius * zoom + 2, dim);
      }
    }
    for (const node of shown) {
      const [x, y] = toScreen(node);
      if (x < -30 || x > width + 30 || y < -30 || y > height + 30) continue;
      brush.globalAlpha = lit(node) ? 1 : 0.18;
      brush.fillStyle = colourOf.get(node.kind);
      brush.beginPath(); brush.arc(x, y, node.radius * zoom, 0, 7); brush.fill();
      if (node === chosen || node === over) {
        brush.lineWidth = 2.5; brush.strokeStyle = ink.ink; brush.stroke();
      }
    }
    brush.globalAlpha = 1;
    const taken = drawLabels(lit, near, zoom);
    if (near && view.scale > 0.5) drawKinds(focus, taken);
    dirty = false;
  }
  function arrow(x1, y1, x2, y2, gap, dim) {
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const x = x2 - Math.cos(angle) * gap; const y = y2 - Math.sin(angle) * gap;
    brush.fillStyle = `rgba(${ink.edge}, ${dim})`;
    brush.beginPath(); brush.moveTo(x, y);
    for (const turn of [-0.4, 0.4]) brush.lineTo(x - 8 * Math.cos(angle + turn), y - 8 * Math.sin(angle + turn));
    brush.fill();
  }
  function drawLabels(lit, near, zoom) {
    brush.textAlign = "center"; brush.textBaseline = "top"; brush.font = "12px system-ui, sans-serif";
    brush.lineWidth = 3; brush.lineJoin = "round"; brush.strokeStyle = `rgba(${ink.halo}, 0.85)`; brush.fillStyle = ink.ink;
    const taken = [];
    const first = [over, chosen].filter((node) => node && node.there);
    let left = near || query ? 90 : 70;
    for (const node of [...first, ...byDegree]) {
      if (left <= 0) break;
      if (!lit(node)) continue;
      const [x, y] = toScreen(node);
      if (x < 0 || x > width || y < 0 || y > height) continue;
      const text = node.name.length > 34 ? `${node.name.slice(0, 33)}…` : node.name;
      const half = brush.measureText(text).width / 2 + 3; const top = y + node.radius * zoom + 2;
      const box = [x - half, top, x + half, top + 15];
      if (meets(box, taken)) continue;
      taken.push(box); left -= 1;
      brush.strokeText(text, x, top); brush.fillText(text, x, top);
    }
    return taken;
  }
  const meets = (box, taken) => taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3]);
  function drawKinds(focus, taken) {
    brush.font = "11px system-ui, sans-serif"; brush.fillStyle = ink.soft; brush.textBaseline = "middle";
    for (const link of drawn) {
      if ((link.from !== focus && link.to !== focus) || link.from === link.to) continue;
      const [x1, y1] = toScreen(link.from); const [x2, y2] = toScreen(link.to);
      const x = (x1 + x2) / 2; const y = (y1 + y2) / 2;
      const half = brush.measureText(link.kind).width / 2;
      const box = [x - half, y - 6, x + half, y + 6];
      if (meets(box, taken)) continue;
      taken.push(box); brush.strokeText(link.kind, x, y); brush.fillText(link.kind, x, y);
    }
  }

  // ---- the time line -------------------------------------------------------------------------------
  function drawBars() {
    const bars = $("bars"); const ratio = window.devicePixelRatio || 1;
    const box = bars.getBoundingClientRect();
    bars.width = Math.round(box.width * ratio); bars.height = Math.round(box.height * ratio);
    const pen = bars.getContext("2d"); const slots = new Float64Array(120);
    const [first, last] = range();
    for (const at of changes[axis]) slots[Math.min(119, Math.floor((at - first) / (last - first) * 120))] += 1;
    const most = Math.max(1, ...slots);
    pen.fillStyle = `rgba(${ink.edge}, 0.45)`;
    slots.forEach((count, at) => {
      if (!count) return;
      const tall = Math.max(2, Math.sqrt(count / most) * bars.height);
      pen.fillRect(at * bars.width / 120, bars.height - tall, bars.width / 120 - 1, tall);
    });
  }
  const written = (at) => (at <= data.long_ago || at >= FOREVER ? "" : new Date(at / 1000).toISOString().slice(0, 16).replace("T", " "));
  function setMoment(at, moveSlider = true) {
    const [first, last] = range();
    moment = Math.max(first, Math.min(last, at));
    if (moveSlider) $("time").value = String(Math.round((moment - first) / (last - first) * 1000));
    const text = moment >= data.now ? "now" : `${written(moment)} UTC`;
    $("moment").textContent = text; $("time").setAttribute("aria-valuetext", text);
    lookUp(); search(); fillPanel(); dirty = true;
  }
  function step(forward) {
    const list = changes[axis];
    const next = forward ? list.find((at) => at > moment) : list.findLast((at) => at < moment);
    setMoment(next === undefined ? (forward ? data.now : range()[0]) : next);
  }
  let playing = null;
  function play(on) {
    if (playing) clearInterval(playing);
    playing = null;
    $("play").textContent = on ? "Pause" : "Play"; $("play").setAttribute("aria-pressed", String(on));
    if (!on) return;
    if (moment >= data.now) setMoment(range()[0]);
    playing = setInterval(() => {
      const [first, last] = range();
      setMoment(moment + (last - first) / 160);
      if (moment >= data.now) play(false);
    }, 90);
  }

  // ---- the side panel --------------------------------------------------------------------------
  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  function marked(tag, text) {
    const made = element(tag);
    const at = query ? text.toLowerCase().indexOf(query) : -1;
    if (at < 0) { made.textContent = text; return made; }
    made.append(text.slice(0, at), element("mark", text.slice(at, at + query.length)), text.slice(at + query.length));
    return made;
  }
  const button = (node) => {
    const made = element("button", node.name, "go"); made.type = "button";
    made.addEventListener("click", () => choose(node, true));
    return made;
  };
  const percent = (share) => `${Math.round(share * 100)} %`;
  function fillPanel() {
    const panel = $("panel"); panel.replaceChildren();
    if (chosen) return describe(panel);
    if (query) return listMatches(panel);
    panel.append(element("h2", "Most connected"), element("p", "Select an entity here or in the graph."));
    panel.append(list(byDegree.slice(0, 40), (node) => `${node.kind}, ${node.degree} relations`));
  }
  function list(some, note) {
    const made = element("ul");
    for (const node of some) {
      const item = element("li"); item.append(button(node), element("small", note(node))); made.append(item);
    }
    return made;
  }
  function listMatches(panel) {
    const found = byDegree.filter((node) => node.matched);
    panel.append(element("h2", `${found.length.toLocaleString()} found`));
    const made = element("ul");
    for (const node of found.slice(0, 100)) {
      const item = element("li"); item.append(button(node));
      const hit = node.said.find((one) => holds(one) && one.lower.includes(query));
      item.append(hit ? marked("small", hit.text.slice(0, 300)) : element("small", node.kind));
      made.append(item);
    }
    panel.append(made);
  }
  function describe(panel) {
    const close = element("button", "Back to the list"); close.type = "button";
    close.addEventListener("click", () => choose(null, false));
    panel.append(close, element("h2", chosen.name));
    panel.append(element("p", chosen.there ? chosen.kind : "Does not exist at this time."));
    const said = chosen.said.filter(holds);
    if (chosen.there && said.length) {
      panel.append(element("h3", "Observations"));
      const made = element("ul");
      for (const one of said) {
        const item = marked("li", one.text);
        const notes = [written(one.vf) && `since ${written(one.vf)}`, one.vt < FOREVER && `until ${written(one.vt)}`,
          one.confidence !== null && `confidence ${percent(one.confidence)}`, one.source && `from ${one.source}`];
        item.append(element("small", notes.filter(Boolean).join(", "))); made.append(item);
      }
      panel.append(made);
    }
    for (const [title, near, far] of [["Outgoing", "from", "to"], ["Incoming", "to", "from"]]) {
      const some = links.filter((link) => link.there && link[near] === chosen);
      if (!some.length) continue;
      panel.append(element("h3", `${title} (${some.length})`));
      const made = element("ul");
      for (const link of some.slice(0, 200)) {
        const item = element("li"); item.append(button(link[far]));
        item.append(element("small", `${link.kind}, strength ${percent(link.strength)}, confidence ${percent(link.confidence)}`));
        made.append(item);
      }
      panel.append(made);
    }
    const past = chosen.versions.length;
    panel.append(element("h3", "History"), element("p", `${past} version${past === 1 ? "" : "s"} of its type, `
      + `${chosen.said.length} of its observations were recorded.`));
  }
  function choose(node, centre) {
    chosen = node;
    if (node && centre && node.there) {
      view.scale = Math.max(view.scale, 0.9);
      view.x = -node.x * view.scale; view.y = -node.y * view.scale;
    }
    fillPanel(); dirty = true;
  }
  function search() {
    query = $("search").value.trim().toLowerCase();
    for (const node of nodes) {
      node.matched = query !== "" && node.there
        && (node.lower.includes(query) || node.said.some((one) => one.lower.includes(query) && holds(one)));
    }
  }

  // ---- input ---------------------------------------------------------------------------------------
  function at(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left; const y = event.clientY - box.top;
    const zoom = Math.max(0.35, Math.min(1.6, view.scale));
    let best = null; let least = 14;
    for (const node of shown) {
      const [nx, ny] = toScreen(node);
      const distance = Math.hypot(nx - x, ny - y) - node.radius * zoom;
      if (distance < least) { least = distance; best = node; }
    }
    return [x, y, least < 5 ? best : null];
  }
  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y, node] = at(event);
    canvas.setPointerCapture(event.pointerId);
    grip = { x, y, vx: view.x, vy: view.y, node, moved: false };
    held = node; canvas.classList.add("held");
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y, node] = at(event);
    if (grip) {
      grip.moved ||= Math.hypot(x - grip.x, y - grip.y) > 4;
      if (!grip.moved) return;
      if (grip.node) {
        grip.node.x = (x - width / 2 - view.x) / view.scale; grip.node.y = (y - height / 2 - view.y) / view.scale;
        heat = Math.max(heat, 0.15);
      } else { view.x = grip.vx + x - grip.x; view.y = grip.vy + y - grip.y; }
      dirty = true; return;
    }
    if (node !== over) { over = node; dirty = true; canvas.classList.toggle("over", Boolean(node)); }
    const hint = $("hint"); hint.hidden = !node;
    if (node) {
      const said = node.said.filter(holds);
      hint.replaceChildren(element("b", node.name), element("div", `${node.kind}, ${node.degree} relations, ${said.length} observations`));
      hint.style.left = `${Math.min(x + 14, width - 290)}px`; hint.style.top = `${Math.min(y + 14, height - 60)}px`;
    }
  });
  canvas.addEventListener("pointerup", () => {
    if (grip && !grip.moved) choose(grip.node, false);
    grip = null; held = null; canvas.classList.remove("held");
  });
  canvas.addEventListener("pointerleave", () => { over = null; $("hint").hidden = true; dirty = true; });
  function zoomBy(factor, x, y) {
    const scale = Math.max(0.05, Math.min(8, view.scale * factor));
    const ratio = scale / view.scale;
    view.x = (view.x - (x - width / 2)) * ratio + (x - width / 2);
    view.y = (view.y - (y - height / 2)) * ratio + (y - height / 2);
    view.scale = scale; dirty = true;
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoomBy(Math.exp(-event.deltaY * 0.0016), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  $("search").addEventListener("input", () => { search(); chosen = null; fillPanel(); dirty = true; });
  $("time").addEventListener("input", () => {
    play(false);
    const [first, last] = range();
    setMoment(first + (last - first) * Number($("time").value) / 1000, false);
  });
  $("back").addEventListener("click", () => { play(false); step(false); });
  $("forth").addEventListener("click", () => { play(false); step(true); });
  $("play").addEventListener("click", () => play(!playing));
  $("fit").addEventListener("click", fit);
  for (const radio of document.querySelectorAll("input[name=axis]")) {
    radio.addEventListener("change", () => { axis = radio.value; drawBars(); setMoment(moment); });
  }
  function setTheme(theme) {
    document.documentElement.dataset.theme = theme; readInk(); drawBars(); dirty = true;
  }
  $("theme").addEventListener("click", () => {
    const isDark = (document.documentElement.dataset.theme
      || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    setTheme(isDark ? "light" : "dark");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readInk(); drawBars(); dirty = true; });
  addEventListener("keydown", (event) => {
    if (event.target.matches("input[type=search]")) {
      if (event.key === "Escape") { $("search").value = ""; search(); fillPanel(); dirty = true; canvas.focus(); }
      return;
    }
    if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      "/": () => $("search").focus(), 0: fit, t: () => $("theme").click(), Escape: () => choose(null, false),
      "+": () => zoomBy(1.25, width / 2, height / 2), "-": () => zoomBy(0.8, width / 2, height / 2),
      ArrowLeft: () => step(false), ArrowRight: () => step(true),
      " ": () => { if (!event.target.matches("button")) play(!playing); else return false; },
    };
    if (keys[event.key] && keys[event.key]() !== false) event.preventDefault();
  });
  for (const kind of kinds.slice(0, 24)) {
    const made = element("button"); made.type = "button"; made.setAttribute("aria-pressed", "true");
    const dot = element("i"); dot.style.background = colourOf.get(kind);
    made.append(dot, kind);
    made.addEventListener("click", () => {
      if (off.has(kind)) off.delete(kind); else off.add(kind);
      made.setAttribute("aria-pressed", String(!off.has(kind)));
      lookUp(); search(); fillPanel(); dirty = true;
    });
    $("legend").append(made);
  }

  // ---- start ----------------------------------------------------------------------------------------
  $("title").textContent = data.title;
  readInk(); resize(); lookUp();
  // Run most of the layout before the first frame.
  const begun = performance.now();
  for (let turn = 0; turn < 220 && performance.now() - begun < 1500; turn += 1) tick();
  fit(); setMoment(data.now);
  new ResizeObserver(() => { resize(); }).observe($("stage"));
  let moves = 0;
  const frame = () => {
    if (heat > 0.02) {
      tick(); dirty = true; moves += 1;
      if (!grip && moves < 120 && moves % 10 === 0 && !chosen) fit();
    }
    if (dirty) draw();
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})();
