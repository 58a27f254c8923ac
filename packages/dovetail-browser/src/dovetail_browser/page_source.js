// Walks the live DOM once and writes the visible content as HTML.
//
// Visibility is decided at the leaves (text, images, controls) from computed style and position.
// Nothing recurses, so nesting depth is not limited. The page is not changed. `input` is
// {path, nodes, characters, milliseconds}; `owners` are the elements that contain the frames.
(input, ...owners) => {
  const setOf = (words) => new Set(words.split(" "));
  const SKIPPED = setOf(
    "SCRIPT STYLE TEMPLATE NOSCRIPT LINK META HEAD TITLE BASE NOEMBED NOFRAMES PARAM SOURCE TRACK " +
      "DATALIST AREA",
  );
  const SVG_SKIPPED = setOf(
    "defs clippath mask pattern filter marker symbol style script title desc metadata lineargradient radialgradient",
  );
  const SVG_KEPT = setOf("svg a text foreignobject");
  const VOID = setOf("AREA BASE BR COL EMBED HR IMG INPUT LINK META SOURCE TRACK WBR");
  // Elements whose children are fallback content that browsers do not render.
  const OPAQUE = setOf("CANVAS VIDEO AUDIO OBJECT EMBED IFRAME FRAME METER PROGRESS IMG INPUT");
  const ATOMIC = setOf(
    "IMG INPUT SELECT TEXTAREA BUTTON VIDEO AUDIO CANVAS IFRAME FRAME HR BR WBR PROGRESS METER OBJECT EMBED",
  );
  // Hidden elements of these types are kept if they have visible children.
  const STRUCTURE = setOf(
    "DIV SPAN P UL OL LI DL DT DD TABLE THEAD TBODY TFOOT TR TD TH SECTION ARTICLE MAIN NAV HEADER FOOTER " +
      "ASIDE FORM FIELDSET BLOCKQUOTE PRE CODE H1 H2 H3 H4 H5 H6",
  );
  const UNWRITTEN = setOf("HTML BODY SLOT FRAMESET");
  const DEEPEST = 300;
  const RENAMED = { XMP: "pre", PLAINTEXT: "pre", LISTING: "pre" };
  const URLS = setOf("href src action formaction poster cite data longdesc background xlink:href");
  const DROPPED_ATTRIBUTES = setOf(
    "style srcset imagesrcset sizes srcdoc nonce integrity ping value checked selected selector clickable crossorigin",
  );
  const ROLES = setOf(
    "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option combobox " +
      "textbox searchbox slider spinbutton treeitem",
  );
  const TEST_IDS = ["data-testid", "data-test-id", "data-test", "data-cy", "data-qa"];
  const SECRET_FIELD = /password|one-time-code|cc-number|cc-csc/i;
  const SCRIPT_URL = /^(?:javascript|vbscript|livescript|data):/i;
  const LONGEST_VALUE = 400;
  const LONGEST_HIDDEN_LABEL = 80;
  const MOST_COVER_CHECKS = 300;

  const view = window;
  const styleOf = (element, pseudo) => view.getComputedStyle(element, pseudo);
  // Fields of a form shadow its properties: with <input name="attributes">, form.attributes is the
  // input. So properties are read through the prototypes.
  const reader = (type, name) => {
    const { get } = Object.getOwnPropertyDescriptor(type.prototype, name);
    return (node) => get.call(node);
  };
  const caller = (type, name) => {
    const method = type.prototype[name];
    return (node, ...given) => method.apply(node, given);
  };
  const kindOf = reader(Node, "nodeType");
  const parentNodeOf = reader(Node, "parentNode");
  const nodesOf = reader(Node, "childNodes");
  const wordsOf = reader(Node, "textContent");
  const baseOf = reader(Node, "baseURI");
  const parentElementOf = reader(Node, "parentElement");
  const treeOf = caller(Node, "getRootNode");
  const tagOf = reader(Element, "tagName");
  const localOf = reader(Element, "localName");
  const spaceOf = reader(Element, "namespaceURI");
  const idOf = reader(Element, "id");
  const shadowOf = reader(Element, "shadowRoot");
  const elementsOf = reader(Element, "children");
  const attributesList = reader(Element, "attributes");
  const attribute = caller(Element, "getAttribute");
  const hasAttribute = caller(Element, "hasAttribute");
  const boxOf = caller(Element, "getBoundingClientRect");
  const slotOf = reader(Element, "assignedSlot");
  const sizes = (element, names) => names.map((name) => readers[name](element));
  const readers = {};
  for (const name of ["Width", "Height", "Left", "Top"]) {
    readers[`client${name}`] = reader(Element, `client${name}`);
    readers[`scroll${name}`] = reader(Element, `scroll${name}`);
  }
  for (const name of ["offsetWidth", "offsetHeight"]) readers[name] = reader(HTMLElement, name);
  const body = reader(Document, "body")(document);
  const top = reader(Document, "documentElement")(document);
  const started = Date.now();
  const pieces = [];
  let characters = 0;
  let nodes = 0;
  let stopped = "";
  let coverChecks = 0;
  const range = document.createRange();

  const write = (text) => {
    pieces.push(text);
    characters += text.length;
  };
  const escapeText = (text) =>
    text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\u00a0/g, "&nbsp;");
  const escapeValue = (text) =>
    text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/\u00a0/g, "&nbsp;");

  // ---- colours -------------------------------------------------------------------------------

  const colours = new Map();
  const parseColour = (text) => {
    if (colours.has(text)) return colours.get(text);
    let parsed = null;
    const match = /^rgba?\(([\d.]+),? ([\d.]+),? ([\d.]+)(?:,? (?:\/ )?([\d.]+))?\)$/.exec(text);
    const wide = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/.exec(text);
    if (match) parsed = [+match[1], +match[2], +match[3], match[4] === undefined ? 1 : +match[4]];
    else if (wide)
      parsed = [wide[1] * 255, wide[2] * 255, wide[3] * 255, wide[4] === undefined ? 1 : +wide[4]];
    if (colours.size < 5000) colours.set(text, parsed);
    return parsed;
  };
  const blend = (over, under) => {
    const alpha = over[3];
    return [0, 1, 2].map((i) => over[i] * alpha + under[i] * (1 - alpha)).concat(1);
  };
  const isAlike = (a, b) =>
    Math.abs(a[0] - b[0]) <= 6 && Math.abs(a[1] - b[1]) <= 6 && Math.abs(a[2] - b[2]) <= 6;

  const backgroundOf = (style, below) => {
    if (style.backgroundImage !== "none" && style.backgroundImage !== "") return null;
    const colour = parseColour(style.backgroundColor);
    if (colour === null) return null;
    if (colour[3] === 0) return below;
    if (colour[3] >= 0.99) return colour;
    return below === null ? null : blend(colour, below);
  };

  // An element that is not an ancestor may be behind a text: an image, a coloured layer.
  const isOverSomethingElse = (element, box) => {
    if (++coverChecks > MOST_COVER_CHECKS) return false;
    const x = box.left + Math.min(box.width / 2, 20);
    const y = box.top + box.height / 2;
    const holds = (other) => {
      const area = boxOf(other);
      return area.left <= x && area.right >= x && area.top <= y && area.bottom >= y;
    };
    const paints = (other) => {
      if (/^(?:IMG|VIDEO|CANVAS|PICTURE|IFRAME|svg)$/.test(tagOf(other))) return true;
      const style = styleOf(other);
      if (style.backgroundImage !== "none") return true;
      const colour = parseColour(style.backgroundColor);
      return colour === null || colour[3] > 0.2;
    };
    let above = element;
    for (let steps = 0; above && steps < 30; steps++, above = parentElementOf(above)) {
      for (const pseudo of ["::before", "::after"]) {
        const style = styleOf(above, pseudo);
        if (style.content === "none" || style.content === "normal") continue;
        const colour = parseColour(style.backgroundColor);
        if (style.backgroundImage !== "none" || colour === null || colour[3] > 0.2) return true;
      }
      let looked = 0;
      for (const other of parentElementOf(above) ? parentElementOf(above).children : []) {
        if (other === above || ++looked > 40) continue;
        if (holds(other) && paints(other) && styleOf(other).visibility === "visible") return true;
        const inner = other.querySelector("img,video,canvas,picture");
        if (inner && holds(inner)) return true;
      }
    }
    return false;
  };

  const isInvisibleInk = (element, style, state, box) => {
    const ink = parseColour(style.webkitTextFillColor);
    if (ink === null) return false;
    const isClear = ink[3] < 0.06;
    if (!isClear) {
      if (state.background === null) return false;
      const drawn = ink[3] >= 0.99 ? ink : blend(ink, state.background);
      if (!isAlike(drawn, state.background)) return false;
    }
    if (style.textShadow !== "none" || state.isPainted) return false;
    if (isClear) return true;
    if (state.inkHost !== element) {
      state.inkHost = element;
      state.inkSeen = isOverSomethingElse(element, box);
    }
    return !state.inkSeen;
  };

  // ---- position ------------------------------------------------------------------------------

  const root = document.scrollingElement || top;
  const rootArea = {
    left: -view.scrollX,
    top: -view.scrollY,
    right: -view.scrollX + Math.max(root.scrollWidth, view.innerWidth),
    bottom: -view.scrollY + Math.max(root.scrollHeight, view.innerHeight),
  };
  if (root.scrollLeft < 0 || styleOf(top).direction === "rtl") {
    rootArea.left = -Infinity;
  }
  const screenArea = { left: 0, top: 0, right: view.innerWidth, bottom: view.innerHeight };
  // Outside of the scrollable area.
  const isOutside = (box, area) =>
    box.right <= area.left || box.bottom <= area.top || box.left >= area.right || box.top >= area.bottom;

  // The overflow of the body applies to the window, unless the root element sets its own.
  const isWindow = (element) =>
    element === root || element === top || (element === body && styleOf(top).overflowX === "visible");
  const scrollArea = (element, style) => {
    const box = boxOf(element);
    const [clientLeft, scrollLeft, scrollWidth, clientWidth] = sizes(element, [
      "clientLeft", "scrollLeft", "scrollWidth", "clientWidth",
    ]);
    const [clientTop, scrollTop, scrollHeight, clientHeight] = sizes(element, [
      "clientTop", "scrollTop", "scrollHeight", "clientHeight",
    ]);
    const left = box.left + clientLeft - scrollLeft;
    const top = box.top + clientTop - scrollTop;
    const isMirrored = style.direction === "rtl";
    return {
      left: isMirrored ? -Infinity : left,
      top: style.flexDirection === "column-reverse" ? -Infinity : top,
      right: isMirrored ? Infinity : left + Math.max(scrollWidth, clientWidth),
      bottom: top + Math.max(scrollHeight, clientHeight),
    };
  };

  // ---- hidden subtrees -----------------------------------------------------------------------

  const lengths = (text) => text.split(/[\s,]+/).filter(Boolean);
  const isFullInset = (text) => {
    const sides = lengths(text.split(" round ")[0]);
    if (!sides.length || !sides.every((side) => /^-?[\d.]+(?:%|px)$/.test(side))) return false;
    const [top, right = top, bottom = top, left = right] = sides;
    const reaches = (a, b) => {
      const percent = [a, b].reduce((sum, side) => sum + (side.endsWith("%") ? parseFloat(side) : 0), 0);
      const pixels = [a, b].reduce((sum, side) => sum + (side.endsWith("px") ? parseFloat(side) : 0), 0);
      return percent >= 99 || pixels >= 5000;
    };
    return reaches(top, bottom) || reaches(left, right);
  };
  const isFlatPolygon = (text) => {
    const points = text
      .split(",")
      .map((point) => point.trim().split(/\s+/))
      .filter((point) => point.length === 2);
    if (!points.length) return false;
    return new Set(points.map((p) => p[0])).size === 1 || new Set(points.map((p) => p[1])).size === 1;
  };
  const isClippedAway = (style) => {
    const path = style.clipPath;
    if (path && path !== "none") {
      const shape = /^(inset|circle|ellipse|polygon|rect|xywh)\((.*?)\)/.exec(path);
      if (shape && shape[1] === "inset" && isFullInset(shape[2])) return true;
      if (shape && /circle|ellipse/.test(shape[1]) && /^(?:0(?:px|%)?)(?:\s|$)/.test(shape[2])) return true;
      if (shape && shape[1] === "polygon" && isFlatPolygon(shape[2].replace(/^\w+,/, ""))) return true;
    }
    if (style.clip !== "auto" && /^(?:absolute|fixed)$/.test(style.position)) {
      const sides = /^rect\((.*)\)$/.exec(style.clip);
      const [top, right, bottom, left] = sides ? lengths(sides[1]).map(parseFloat) : [];
      if (bottom - top <= 1 || right - left <= 1) return true;
    }
    return false;
  };
  const isFaint = (style, opacity) => {
    if (opacity < 0.05) return true;
    const filter = style.filter;
    if (!filter || filter === "none") return false;
    const match = /opacity\(([\d.]+)(%?)\)/.exec(filter);
    return match !== null && parseFloat(match[1]) / (match[2] ? 100 : 1) < 0.05;
  };
  const containsFixed = (style) =>
    style.transform !== "none" ||
    style.filter !== "none" ||
    style.perspective !== "none" ||
    /paint|layout|strict|content/.test(style.contain) ||
    /transform|filter|perspective/.test(style.willChange);
  // 0: not in an empty clipping box. Otherwise which elements escape it: 1: absolute; 2: fixed; 3: none.
  const clipLevel = (element, style, state) => {
    let level = state.clip;
    if (level === 1 && /^(?:absolute|fixed)$/.test(style.position)) level = 0;
    else if (level === 2 && style.position === "fixed") level = 0;
    const rank = () => (containsFixed(style) ? 3 : style.position !== "static" ? 2 : 1);
    if (level > 0) return Math.max(level, rank());
    if (style.overflowX === "visible" && style.overflowY === "visible") return 0;
    if (/^(?:inline|contents|table-row|table-row-group)$/.test(style.display)) return 0;
    if (element === top || element === body) return 0;
    if (!(element instanceof HTMLElement)) return 0;
    const [width, height, innerWidth, innerHeight] = sizes(element, [
      "offsetWidth", "offsetHeight", "clientWidth", "clientHeight",
    ]);
    if (style.overflowX !== "visible" && width <= 2) return rank();
    if (style.overflowY === "visible") return 0;
    // A box with only a border counts as empty.
    const isHollow = innerHeight <= 1 && innerWidth > 0 && !OPAQUE.has(tagOf(element));
    return height <= 2 || isHollow ? rank() : 0;
  };

  // ---- addressing ----------------------------------------------------------------------------

  const isInteractive = (element) => {
    switch (tagOf(element)) {
      case "A":
        return hasAttribute(element, "href") || hasAttribute(element, "onclick");
      case "INPUT":
        return element.type !== "hidden";
      case "BUTTON":
      case "SELECT":
      case "TEXTAREA":
      case "SUMMARY":
        return true;
    }
    const role = attribute(element, "role");
    if (role && ROLES.has(role.trim().toLowerCase())) return true;
    if (hasAttribute(element, "onclick")) return true;
    if (tagOf(element) === "a") return hasAttribute(element, "href") || hasAttribute(element, "xlink:href");
    const editable = attribute(element, "contenteditable");
    if (editable !== null && editable.toLowerCase() !== "false") return true;
    return hasAttribute(element, "tabindex") && element.tabIndex >= 0;
  };
  // Interactive elements in document order, with the index of their tag.
  const targets = [];

  const simpleName = (element) =>
    (
      attribute(element, "aria-label") ||
      attribute(element, "alt") ||
      wordsOf(element).slice(0, 200) ||
      attribute(element, "title") ||
      attribute(element, "placeholder") ||
      (element.labels && element.labels[0] ? wordsOf(element.labels[0]).slice(0, 200) : "")
    )
      .replace(/\s+/g, " ")
      .trim();
  const addressesOf = (element) => {
    const tag = tagOf(element).toLowerCase();
    const href = tag === "a" ? attribute(element, "href") : null;
    // A link is identified by its URL; a link without a real URL is treated as a button.
    if (href !== null && !/^\s*(?:#?\s*$|javascript:)/i.test(href)) return null;
    const found = [];
    const id = idOf(element);
    if (id) found.push(`#${id}`);
    for (const name of TEST_IDS) {
      if (hasAttribute(element, name)) found.push(`[${name}=${attribute(element, name)}]`);
    }
    const name = attribute(element, "name");
    if (name) {
      const value = /^(?:radio|checkbox|submit)$/.test(element.type) ? attribute(element, "value") || "" : "";
      found.push(`${tag}[name=${name}][value=${value}]`);
    }
    // Without a name, its type: input[type=password], select.
    if (tag !== "a") found.push(tag === "input" ? `input[type=${element.type}]` : tag);
    const words = simpleName(element);
    if (words) found.push(`${attribute(element, "role") || tag} "${words}"`);
    return found;
  };
  const pathOf = (element) => {
    const steps = [];
    let current = element;
    while (current && kindOf(current) === 1 && steps.length < 40) {
      const scope = treeOf(current);
      if (current !== element && idOf(current) && scope.querySelectorAll(`#${CSS.escape(idOf(current))}`).length === 1) {
        steps.unshift(`#${CSS.escape(idOf(current))}`);
        break;
      }
      if (current === body) {
        steps.unshift("body");
        break;
      }
      const tag = CSS.escape(localOf(current));
      const parent = parentElementOf(current);
      if (!parent) {
        steps.unshift(tag);
        // At a shadow root, continue with its host; a space in the selector crosses the boundary.
        current = scope.host || null;
        if (current) steps.unshift("");
        continue;
      }
      const alike = Array.prototype.filter.call(elementsOf(parent), (one) => localOf(one) === localOf(current));
      steps.unshift(alike.length > 1 ? `${tag}:nth-of-type(${alike.indexOf(current) + 1})` : tag);
      current = parent;
    }
    let path = "";
    for (const step of steps) path += step === "" ? " " : path && !path.endsWith(" ") ? `>${step}` : step;
    return path;
  };
  // Without shadow roots, the index among all elements of the tag is the shortest selector.
  const orders = new Map();
  let hasShadow = null;
  const selectorOf = (element) => {
    if (hasShadow === null) hasShadow = Array.from(document.querySelectorAll("*")).some(shadowOf);
    if (hasShadow) return pathOf(element);
    const tag = localOf(element);
    if (!orders.has(tag)) {
      orders.set(tag, new Map(Array.from(document.getElementsByTagName(tag), (one, at) => [one, at])));
    }
    const at = orders.get(tag).get(element);
    return at === undefined ? pathOf(element) : `${tag} >> nth=${at}`;
  };
  // Elements that the kept attributes do not identify get a selector.
  const addSelectors = () => {
    const counts = new Map();
    const found = targets.map(({ element }) => addressesOf(element));
    for (const addresses of found) {
      for (const address of addresses || []) counts.set(address, (counts.get(address) || 0) + 1);
    }
    found.forEach((addresses, index) => {
      if (addresses === null || addresses.some((address) => counts.get(address) === 1)) return;
      const { element, piece } = targets[index];
      const written = ` selector="${escapeValue(selectorOf(element))}"`;
      pieces[piece] = pieces[piece].replace(/>$/, `${written}>`);
      characters += written.length;
    });
  };

  // ---- writing tags --------------------------------------------------------------------------

  const absolute = (value, element) => {
    const bare = value.replace(/[\u0000-\u0020]/g, "");
    if (SCRIPT_URL.test(bare)) return null;
    if (bare.startsWith("#")) return bare;
    try {
      return new URL(value, baseOf(element)).href;
    } catch {
      return value;
    }
  };
  const attributesOf = (element) => {
    let text = "";
    let isClickable = hasAttribute(element, "onclick");
    for (const { name, value } of attributesList(element)) {
      const lower = name.toLowerCase();
      if (lower.startsWith("on") || DROPPED_ATTRIBUTES.has(lower) || !/^[\w:.-]+$/.test(lower)) continue;
      const kept = URLS.has(lower) ? absolute(value, element) : value;
      if (kept === null && (lower === "href" || lower === "xlink:href")) isClickable = true;
      if (kept === null || (lower.startsWith("data-") && kept.length > LONGEST_VALUE)) continue;
      if (!URLS.has(lower) && SCRIPT_URL.test(kept.trimStart()) && !/^data:/i.test(kept.trimStart())) continue;
      text += kept === "" ? ` ${lower}` : ` ${lower}="${escapeValue(kept.slice(0, 4000))}"`;
    }
    if (isClickable) text += " clickable";
    return text + stateOf(element);
  };
  const stateOf = (element) => {
    switch (tagOf(element)) {
      case "INPUT": {
        let text = element.checked ? " checked" : "";
        const type = element.type;
        const isSecret = type === "password" || SECRET_FIELD.test(element.autocomplete);
        if (type !== "file" && !isSecret && element.value) {
          const isDefault = /^(?:checkbox|radio)$/.test(type) && !hasAttribute(element, "value");
          if (!isDefault) text += ` value="${escapeValue(element.value.slice(0, LONGEST_VALUE))}"`;
        }
        return text;
      }
      case "OPTION":
        return (
          (element.selected ? " selected" : "") +
          (hasAttribute(element, "value") ? ` value="${escapeValue(element.value.slice(0, LONGEST_VALUE))}"` : "")
        );
      case "BUTTON":
      case "LI":
      case "PROGRESS":
      case "METER":
        return hasAttribute(element, "value")
          ? ` value="${escapeValue(attribute(element, "value").slice(0, LONGEST_VALUE))}"`
          : "";
    }
    return "";
  };
  // A hidden control whose label is drawn instead.
  const isDrawnByLabel = (element) =>
    tagOf(element) === "INPUT" &&
    /^(?:checkbox|radio|file)$/.test(element.type) &&
    ((element.labels && element.labels.length > 0) || element.closest("label") !== null);
  const bareControl = (element) => {
    let text = "<input";
    for (const name of ["id", "name", "type", "data-testid", "disabled", "value"]) {
      const value = attribute(element, name);
      if (value !== null && value.length <= LONGEST_HIDDEN_LABEL) text += ` ${name}="${escapeValue(value)}"`;
    }
    return `${text}${element.checked ? " checked" : ""}>`;
  };

  const writeOptions = (select) => {
    for (const option of select.querySelectorAll("option")) {
      if (++nodes > input.nodes || characters > input.characters) break;
      const style = styleOf(option);
      if (option.hidden || style.display === "none") continue;
      write(`<option${attributesOf(option)}>${escapeText(wordsOf(option).replace(/\s+/g, " ").trim())}</option>`);
    }
  };

  // ---- the walk ------------------------------------------------------------------------------

  const childrenOf = (element) => {
    if (shadowOf(element)) return nodesOf(shadowOf(element));
    if (tagOf(element) === "SLOT") {
      const assigned = element.assignedNodes({ flatten: true });
      if (assigned.length) return assigned;
    }
    return nodesOf(element);
  };

  const writeText = (node, state) => {
    const text = node.data;
    if (!/\S/.test(text)) {
      if (text) write(state.isPre ? text : " ");
      return;
    }
    if (!state.isVisible || state.isDark) return;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    let isHidden = box.width < 1 || box.height < 3 || state.isTiny;
    if (!isHidden && state.indent) isHidden = isOutside(box, state.indentArea());
    if (isHidden || state.clip > 0 || isOutside(box, state.area)) {
      // Hidden text may be the label of a visible control.
      const label = state.label;
      if (label === null || !label.isDrawn || state.isTiny) return;
      label.left -= text.trim().length;
      if (label.left < 0) return;
    } else if (isInvisibleInk(state.element, state.style, state, box)) {
      return;
    }
    write(escapeText(text));
  };

  const inner = (element, style, state) => {
    const opacity = state.opacity * parseFloat(style.opacity || "1");
    const isVisible = style.visibility === "visible";
    const isCut = state.isClippedAway || isClippedAway(style);
    let area = state.area;
    if (style.position === "fixed") area = screenArea;
    else if (/auto|scroll/.test(style.overflowX + style.overflowY) && !isWindow(element)) {
      area = scrollArea(element, style);
    }
    // Content that is rendered only when scrolled to has no size yet.
    if (style.contentVisibility === "auto") area = { ...area, right: Infinity, bottom: Infinity };
    const indent = parseFloat(style.textIndent) || 0;
    const isWide = Math.abs(indent) >= (style.textIndent.endsWith("%") ? 90 : 200);
    const block = /^inline(?!-)|contents/.test(style.display) ? state.block : element;
    return {
      element,
      style,
      opacity,
      isVisible,
      clip: isCut ? 3 : clipLevel(element, style, state),
      isClippedAway: isCut,
      isDark: state.isDark || isFaint(style, opacity),
      isTiny: parseFloat(style.fontSize) < 3,
      label: state.label,
      isPre: /^(?:pre|break-spaces)/.test(style.whiteSpace),
      background: backgroundOf(style, state.background),
      // The background is painted through the text.
      isPainted: state.isPainted || style.backgroundClip === "text",
      area,
      block,
      indent: isWide,
      indentArea: () => boxOf(block),
      inkHost: null,
      inkSeen: false,
    };
  };

  const isDrawn = (element, state) => {
    if (!state.isVisible || state.isDark || state.clip > 0) return false;
    const box = boxOf(element);
    if (box.width === 0 && box.height === 0) return state.style.display === "contents";
    return !isOutside(box, state.area);
  };

  const hasArea = (element) => {
    const box = boxOf(element);
    return box.width >= 1 && box.height >= 1;
  };

  const labelsControl = (element) => {
    const control = tagOf(element) === "LABEL" ? element.control : null;
    if (!control) return false;
    const box = boxOf(control);
    return box.width > 0 && box.height > 0 && styleOf(control).visibility === "visible";
  };

  // Writes the start tag of an element; returns the nodes to walk below it, or null.
  const open = (element, state, depth) => {
    const tag = tagOf(element);
    const isSvg = spaceOf(element) === "http://www.w3.org/2000/svg";
    if (!isSvg && SKIPPED.has(tag.toUpperCase())) return null;
    const lower = localOf(element).toLowerCase();
    if (isSvg && SVG_SKIPPED.has(lower)) return null;
    const style = styleOf(element);
    if (style.display === "none" || style.display === "") return null;
    const below = inner(element, style, state);
    const seen = isDrawn(element, below);
    if (!seen && ATOMIC.has(tag)) {
      if (below.isVisible && isDrawnByLabel(element)) write(bareControl(element));
      if (tag !== "BUTTON") return null;
    }
    if (style.contentVisibility === "hidden" && !OPAQUE.has(tag)) return null;
    if (tag === "IFRAME" || tag === "FRAME") return openFrame(element);
    if (tag === "IMG" && element.clientWidth <= 1 && element.clientHeight <= 1) return null;
    const first = pieces.length;
    const interactive = isInteractive(element);
    if (interactive) below.label = { isDrawn: seen, left: LONGEST_HIDDEN_LABEL };
    else if (labelsControl(element)) below.label = { isDrawn: true, left: LONGEST_HIDDEN_LABEL };
    const name = RENAMED[tag] || lower;
    let close = "";
    if (isSvg && !SVG_KEPT.has(lower)) return { first, close, below, nodes: nodesOf(element), keeps: false };
    const isBlank =
      !/^[a-z][\w.-]*$/.test(name) ||
      UNWRITTEN.has(tag) ||
      // Parsing is slow with many open elements, so wrappers below this depth are dropped.
      (depth > DEEPEST && !interactive && (tag === "DIV" || !STRUCTURE.has(tag) || depth > 2 * DEEPEST));
    if (seen || (below.isVisible && !below.isDark && below.clip === 0 && !interactive)) {
      if (isBlank) return { first, close, below, nodes: childrenOf(element), keeps: false };
      const extra = isSvg && lower === "svg" ? svgTitle(element) : "";
      write(`<${name}${attributesOf(element)}${extra}>`);
      if (interactive) targets.push({ element, piece: pieces.length - 1 });
    } else if (STRUCTURE.has(tag) && !isBlank) {
      write(`<${name}>`);
    } else {
      return { first, close, below, nodes: childrenOf(element), keeps: false };
    }
    if (VOID.has(tag)) return null;
    close = `</${name}>`;
    if (tag === "SELECT") {
      writeOptions(element);
      write(close);
      return null;
    }
    if (tag === "TEXTAREA") {
      const isSecret = SECRET_FIELD.test(element.autocomplete);
      write(`\n${isSecret ? "" : escapeText(element.value.slice(0, 20 * LONGEST_VALUE))}${close}`);
      return null;
    }
    if (OPAQUE.has(tag)) {
      write(close);
      return null;
    }
    if (name === "pre") write("\n");
    let children = childrenOf(element);
    if (tag === "DETAILS" && !element.open) {
      const isSummary = (one) => kindOf(one) === 1 && tagOf(one) === "SUMMARY";
      children = Array.prototype.filter.call(children, isSummary).slice(0, 1);
      if (shadowOf(element)) children = [];
    }
    const keeps = (seen && (tag === "TD" || tag === "TH" || (interactive && hasArea(element)))) || lower === "svg";
    return { first, close, below, nodes: children, keeps };
  };

  const svgTitle = (element) => {
    if (hasAttribute(element, "aria-label")) return "";
    const title = element.querySelector("title");
    const words = title && parentNodeOf(title) === element ? wordsOf(title).trim() : "";
    return words ? ` aria-label="${escapeValue(words.slice(0, LONGEST_VALUE))}"` : "";
  };

  const openFrame = (element) => {
    const index = owners.indexOf(element);
    let source = "";
    for (const name of ["id", "name", "title", "src"]) {
      const value = attribute(element, name);
      const kept = value && name === "src" ? absolute(value, element) : value;
      if (kept) source += ` ${name}="${escapeValue(kept.slice(0, 2000))}"`;
    }
    // The caller inserts the content of the frame. An <iframe> tag would turn it into text.
    write(`<frame-content${source}>`);
    if (index >= 0) places.push([pieces.length, index]);
    write("</frame-content>");
    return null;
  };
  const places = [];

  const begin = (start) => {
    let state = {
      element: top,
      style: styleOf(top),
      opacity: 1,
      isVisible: true,
      clip: 0,
      isClippedAway: false,
      isDark: false,
      isTiny: false,
      label: null,
      isPre: false,
      background: [255, 255, 255, 1],
      isPainted: false,
      area: rootArea,
      block: top,
      indent: false,
      inkHost: null,
      inkSeen: false,
    };
    if (/^dark|only dark/.test(state.style.colorScheme)) state.background = [18, 18, 18, 1];
    // Ancestors of the requested element are not written, but they can hide it.
    const above = [];
    for (let one = parentOf(start); one; one = parentOf(one)) above.unshift(one);
    for (const [at, one] of above.entries()) {
      const style = styleOf(one);
      const next = above[at + 1] || start;
      if (tagOf(one) === "DETAILS" && !one.open && tagOf(next) !== "SUMMARY") return null;
      if (style.display === "none" || style.display === "") return null;
      if (style.contentVisibility === "hidden") return null;
      state = inner(one, style, state);
    }
    return state;
  };
  const parentOf = (element) => {
    if (slotOf(element)) return slotOf(element);
    const parent = parentNodeOf(element);
    return parent === null || kindOf(parent) === 9 ? null : kindOf(parent) === 11 ? parent.host : parent;
  };

  const isBlankSince = (length) => {
    if (pieces.length - length > 8) return false;
    for (let at = length; at < pieces.length; at++) if (/\S/.test(pieces[at])) return false;
    return true;
  };

  const walk = (start) => {
    const state = begin(start);
    if (state === null) return;
    const stack = [{ nodes: [start], at: 0, below: state, close: "", first: 0, keeps: true, length: 0 }];
    while (stack.length) {
      const last = stack[stack.length - 1];
      if (last.at >= last.nodes.length) {
        stack.pop();
        if (!last.close) continue;
        // Drop the element if it is empty and has nothing to show itself.
        if (!last.keeps && isBlankSince(last.length)) pieces.length = last.first;
        else write(last.close);
        continue;
      }
      const node = last.nodes[last.at++];
      if (++nodes > input.nodes) stopped = "nodes";
      else if (characters > input.characters) stopped = "characters";
      else if ((nodes & 255) === 0 && Date.now() - started > input.milliseconds) stopped = "time";
      if (stopped) {
        while (stack.length) write(stack.pop().close);
        return;
      }
      if (kindOf(node) === 3) writeText(node, last.below);
      else if (kindOf(node) === 1) {
        const entered = open(node, last.below, stack.length);
        if (entered !== null) stack.push({ ...entered, at: 0, length: pieces.length });
      }
    }
  };

  // Follow child indexes from the document; null enters a shadow root.
  const rootAt = (path) => {
    let at = document;
    for (const step of path) at = step === null ? shadowOf(at) : nodesOf(at)[step];
    return at;
  };
  const start = input.path ? rootAt(input.path) : body || top;
  walk(start);
  addSelectors();
  // Split the HTML at each frame, so that the caller can insert its content.
  const html = [];
  let place = 0;
  for (const [piece, index] of places) {
    if (piece >= pieces.length) continue;
    html.push(pieces.slice(place, piece).join(""), index);
    place = piece;
  }
  html.push(pieces.slice(place).join(""));
  const url = reader(Document, "URL")(document);
  const title = reader(Document, "title")(document).slice(0, 1000);
  return { html, nodes, stopped, url, title };
}
