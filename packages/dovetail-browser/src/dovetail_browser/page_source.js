// Walks the live DOM once and writes the content as HTML that may be visible.
//
// Computed style and position exclude what has no place on the page. Whether a person sees the rest
// is decided from screenshots (visible_text.js), which needs the list of texts; `finish` then removes
// what is not visible and returns the HTML. Nothing recurses, so nesting depth is not limited.
// `input` is {path, nodes, characters, milliseconds, mask}; `owners` are the elements that contain
// the frames. With `mask`, `finish` returns nothing: it replaces functions of this JavaScript world by
// ones that do not return hidden text, so that other scripts in it cannot read the text.
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
  // Elements that text formats write on one line.
  const INLINE = setOf(
    "A ABBR B BUTTON CITE CODE EM I IMG INPUT KBD LABEL MARK OUTPUT SELECT SMALL SPAN STRONG TEXTAREA TIME U",
  );
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
  // A person cannot read smaller text, in pixels of the window.
  const SMALLEST = 5;

  const view = window;
  // Named elements of the page cannot shadow a symbol.
  const MASK = Symbol.for("dovetail.mask");
  if (Object.hasOwn(view, MASK)) view[MASK].texts = null;
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
  const previousOf = reader(Node, "previousSibling");
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
  const range = document.createRange();
  // What is visible: text nodes, and elements whose attributes may be read.
  const shownTexts = new WeakMap();
  const shownElements = new WeakSet();

  const write = (text) => {
    pieces.push(text);
    characters += text.length;
  };
  const escapeText = (text) =>
    text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\u00a0/g, "&nbsp;");
  const escapeValue = (text) =>
    text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/\u00a0/g, "&nbsp;");

  // ---- position ------------------------------------------------------------------------------

  const root = document.scrollingElement || top;
  const rootArea = {
    left: -view.scrollX,
    top: -view.scrollY,
    right: -view.scrollX + Math.max(root.scrollWidth, view.innerWidth),
    bottom: -view.scrollY + Math.max(root.scrollHeight, view.innerHeight),
  };
  // Nobody scrolls sideways over several empty screens, and overflow: hidden prevents it.
  const across = styleOf(top).overflowX === "visible" && body ? styleOf(body).overflowX : styleOf(top).overflowX;
  const screens = /hidden|clip/.test(across) ? 1 : 4;
  rootArea.right = Math.min(rootArea.right, Math.max(rootArea.left + screens * view.innerWidth, view.innerWidth));
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

  const NOWHERE = { left: 0, top: 0, right: 0, bottom: 0 };
  // What an element leaves visible of its content, within the area that is visible around it.
  const contentArea = (element, style, around) => {
    if (isWindow(element) || /^(?:inline|contents|table-row|table-row-group)$/.test(style.display)) return around;
    const box = boxOf(element);
    if (/auto|scroll/.test(style.overflowX + style.overflowY)) {
      return isOutside(box, around) && box.width > 0 ? NOWHERE : scrollArea(element, style);
    }
    const cut = (overflow) => /hidden|clip/.test(overflow);
    const [left, right] = cut(style.overflowX) ? [box.left, box.right] : [-Infinity, Infinity];
    const [top, bottom] = cut(style.overflowY) ? [box.top, box.bottom] : [-Infinity, Infinity];
    return {
      left: Math.max(around.left, left),
      top: Math.max(around.top, top),
      right: Math.min(around.right, right),
      bottom: Math.min(around.bottom, bottom),
    };
  };
  // An element can be clipped by its containing blocks only: there are three areas.
  const areasOf = (element, style, state) => {
    const { position } = style;
    const around =
      position === "fixed" ? state.fixedArea : position === "absolute" ? state.absoluteArea : state.area;
    const area = contentArea(element, style, around);
    const holdsFixed = containsFixed(style);
    return {
      area,
      absoluteArea: position !== "static" || holdsFixed ? area : state.absoluteArea,
      fixedArea: holdsFixed ? area : state.fixedArea,
    };
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
      shownElements.add(option);
      for (const node of nodesOf(option)) shownTexts.set(node, node.data);
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
      shownTexts.set(node, text);
      if (text) write(state.isPre ? text : " ");
      return;
    }
    if (!state.isVisible || state.isDark) return;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    let isHidden = box.width < 1 || box.height < SMALLEST || state.isTiny;
    if (!isHidden && state.indent) isHidden = isOutside(box, state.indentArea());
    if (isHidden || state.clip > 0 || isOutside(box, state.area)) {
      // Hidden text may be the label of a visible control.
      const label = state.label;
      if (label === null || !label.isDrawn || state.isTiny) return;
      label.left -= text.trim().length;
      if (label.left < 0) return;
    } else {
      hints.movesInk = hints.movesInk || state.movesInk;
      texts.push({ node, element: state.element, piece: pieces.length, ink: inkOf(state) });
    }
    shownTexts.set(node, text);
    write(escapeText(text));
  };
  // How to remove the glyphs where a highlight cannot: an element, and styles for it.
  const inkOf = (state) => {
    const { element, style } = state;
    if (spaceOf(element) === "http://www.w3.org/2000/svg") {
      let root = element;
      while (localOf(root) !== "text" && parentElementOf(root)) root = parentElementOf(root);
      hints.movesInk = hints.movesInk || document.querySelector("use") !== null;
      return { element: root, styles: { visibility: "hidden" } };
    }
    if (state.painted) return { element: state.painted, styles: { "background-clip": "border-box" } };
    const isClear = /^rgba\(.*, 0(?:\.\d+)?\)$|\/ 0(?:\.\d+)?\)$/.test(style.webkitTextFillColor);
    if (!isClear || style.textShadow === "none") return null;
    hints.movesInk = true;
    return { element, styles: { "text-shadow": "none" } };
  };

  // A line through or marks over a text are not its glyphs.
  const prepareDecoration = (element, style) => {
    const ink = style.webkitTextFillColor;
    const styles = {};
    if (style.textDecorationLine !== "none" && style.textDecorationColor !== ink) styles["text-decoration-color"] = "transparent";
    if (style.textEmphasisStyle !== "none" && style.textEmphasisColor !== ink) styles["text-emphasis-color"] = "transparent";
    if (Object.keys(styles).length) prepared.push([element, styles]);
  };
  const inner = (element, style, state) => {
    prepareDecoration(element, style);
    const opacity = state.opacity * parseFloat(style.opacity || "1");
    if (/fixed|sticky/.test(style.position) || style.backgroundAttachment.includes("fixed")) hints.hasFixed = true;
    const isVisible = style.visibility === "visible";
    const areas = areasOf(element, style, state);
    // Content that is rendered only when scrolled to has no size yet.
    if (style.contentVisibility === "auto") {
      areas.area = { ...areas.area, right: Infinity, bottom: Infinity };
      prepared.push([element, { "content-visibility": "visible" }]);
    }
    const indent = parseFloat(style.textIndent) || 0;
    const isWide = Math.abs(indent) >= (style.textIndent.endsWith("%") ? 90 : 200);
    const block = /^inline(?!-)|contents/.test(style.display) ? state.block : element;
    return {
      element,
      style,
      opacity,
      isVisible,
      clip: clipLevel(element, style, state),
      isDark: opacity < 0.05,
      isTiny: parseFloat(style.fontSize) < 3,
      label: state.label,
      isPre: /^(?:pre|break-spaces)/.test(style.whiteSpace),
      // Glyphs may be drawn in another place, too.
      movesInk: state.movesInk || /url|drop-shadow/.test(style.filter) || !/^(?:none)?$/.test(style.webkitBoxReflect),
      // The element whose background is painted through the text.
      painted: style.backgroundClip.includes("text") ? element : state.painted,
      ...areas,
      block,
      indent: isWide,
      indentArea: () => boxOf(block),
    };
  };

  const isDrawn = (element, state) => {
    if (!state.isVisible || state.isDark || state.clip > 0) return false;
    const box = boxOf(element);
    if (box.width === 0 && box.height === 0) return state.style.display === "contents";
    return !isOutside(box, state.area);
  };

  const hasArea = (element, least = 1) => {
    const box = boxOf(element);
    return box.width >= least && box.height >= least;
  };

  const labelsControl = (element) => {
    const control = tagOf(element) === "LABEL" ? element.control : null;
    if (!control) return false;
    const box = boxOf(control);
    return box.width > 0 && box.height > 0 && styleOf(control).visibility === "visible";
  };

  // Names of controls are often hidden elsewhere on the page. They are not part of its text.
  let referred = null;
  const isReferred = (element) => {
    if (!idOf(element)) return false;
    if (referred === null) {
      referred = new Set();
      for (const one of document.querySelectorAll("[aria-labelledby]")) {
        for (const id of attribute(one, "aria-labelledby").split(/\s+/)) referred.add(id);
      }
    }
    return referred.has(idOf(element));
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
    if (tag === "IFRAME" || tag === "FRAME") {
      shownElements.add(element);
      return openFrame(element);
    }
    if (tag === "IMG" && element.clientWidth <= 1 && element.clientHeight <= 1) return null;
    const first = pieces.length;
    const interactive = isInteractive(element);
    if (interactive) below.label = { isDrawn: seen && hasArea(element, SMALLEST), left: LONGEST_HIDDEN_LABEL };
    else if (labelsControl(element) || (input.mask && isReferred(element))) below.label = { isDrawn: true, left: LONGEST_HIDDEN_LABEL };
    const name = RENAMED[tag] || lower;
    let close = "";
    if (isSvg && !SVG_KEPT.has(lower)) return { first, close, below, nodes: nodesOf(element), keeps: false };
    const isBlank =
      !/^[a-z][\w.-]*$/.test(name) ||
      UNWRITTEN.has(tag) ||
      // Parsing is slow with many open elements, so wrappers below this depth are dropped.
      (depth > DEEPEST && !interactive && (tag === "DIV" || !STRUCTURE.has(tag) || depth > 2 * DEEPEST));
    if (seen || (below.isVisible && !below.isDark && below.clip === 0 && !interactive)) {
      shownElements.add(element);
      if (isBlank) return { first, close, below, nodes: childrenOf(element), keeps: false };
      const extra = isSvg && lower === "svg" ? svgTitle(element) : "";
      write(`<${name}${attributesOf(element)}${extra}>`);
      if (interactive) targets.push({ element, piece: pieces.length - 1 });
      if (showsValue(element, tag)) addField(element, pieces.length - 1);
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

  const showsValue = (element, tag) => {
    if (tag === "SELECT") return element.selectedOptions.length > 0 && /\S/.test(wordsOf(element.selectedOptions[0]));
    if (tag === "INPUT" && /^(?:checkbox|radio|range|color|file|image)$/.test(element.type)) return false;
    return (tag === "INPUT" || tag === "TEXTAREA") && /\S/.test(element.value || element.placeholder);
  };
  const addField = (element, piece) => {
    const hide = () => {
      shownElements.delete(element);
      pieces[piece] = pieces[piece].replace(/ (?:value|placeholder)="[^"]*"/g, "");
      // What is between the tags, without the tags.
      for (let at = piece + 1; tagOf(element) !== "INPUT" && !pieces[at].endsWith(`</${localOf(element)}>`); at++) {
        pieces[at] = "";
      }
      if (tagOf(element) === "TEXTAREA") pieces[piece + 1] = "</textarea>";
      for (const option of tagOf(element) === "SELECT" ? element.options : []) {
        shownElements.delete(option);
        for (const node of nodesOf(option)) shownTexts.delete(node);
      }
    };
    const styles = { "-webkit-text-fill-color": "transparent" };
    texts.push({ node: null, element, piece, ink: { element, styles }, hide });
  };

  const svgTitle = (element) => {
    if (hasAttribute(element, "aria-label")) return "";
    const title = element.querySelector("title");
    const words = title && parentNodeOf(title) === element ? wordsOf(title).trim() : "";
    if (words) for (const node of nodesOf(title)) shownTexts.set(node, node.data);
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
  // What was written and must be visible in screenshots: see visible_text.js.
  const texts = [];
  const hints = { hasFixed: false, movesInk: false };
  // Styles to set meanwhile: elements, each with styles.
  const prepared = [];

  const begin = (start) => {
    let state = {
      element: top,
      style: styleOf(top),
      opacity: 1,
      isVisible: true,
      clip: 0,
      isDark: false,
      isTiny: false,
      label: null,
      isPre: false,
      movesInk: false,
      painted: null,
      area: rootArea,
      absoluteArea: rootArea,
      fixedArea: screenArea,
      block: top,
      indent: false,
    };
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

  // Whether a gap separates an inline element from the element right before it. Pages make such
  // gaps with margins, padding or a flex box, so there is no white space between the elements.
  const isSetApart = (element, state) => {
    if (state.isPre || !INLINE.has(tagOf(element))) return false;
    let before = previousOf(element);
    while (before && (kindOf(before) === 8 || (kindOf(before) === 1 && !hasArea(before)))) before = previousOf(before);
    if (!before || kindOf(before) !== 1) return false;
    const [one, other] = [contentBox(before), contentBox(element)];
    if (one.bottom <= other.top || other.bottom <= one.top) return true;
    return Math.max(other.left - one.right, one.left - other.right) >= 0.15 * parseFloat(state.style.fontSize);
  };
  const contentBox = (element) => {
    const box = boxOf(element);
    const style = styleOf(element);
    const edge = (side) => parseFloat(style[`padding${side}`]) + parseFloat(style[`border${side}Width`]);
    return {
      left: box.left + edge("Left"),
      right: box.right - edge("Right"),
      top: box.top + edge("Top"),
      bottom: box.bottom - edge("Bottom"),
    };
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
        if (isSetApart(node, last.below)) write(" ");
        const entered = open(node, last.below, stack.length);
        if (entered !== null) stack.push({ ...entered, at: 0, length: pieces.length });
      }
    }
  };

  // ---- the mask ------------------------------------------------------------------------------

  const NAMES = setOf(
    "aria-label alt title placeholder aria-description aria-roledescription aria-valuetext aria-placeholder label",
  );
  const mask = () => {
    const isInstalled = Object.hasOwn(view, MASK);
    if (!isInstalled) view[MASK] = {};
    const current = view[MASK];
    current.texts = shownTexts;
    current.elements = shownElements;
    if (isInstalled) return;
    const hides = (node) => {
      if (!current.texts) return false;
      const kind = kindOf(node);
      return (kind === 3 && !current.texts.has(node)) || (kind === 1 && !current.elements.has(node));
    };
    const override = (type, name) => {
      const found = Object.getOwnPropertyDescriptor(type.prototype, name);
      const get = function () {
        if (hides(this)) return "";
        return current.texts && kindOf(this) === 3 ? current.texts.get(this) : found.get.call(this);
      };
      Object.defineProperty(type.prototype, name, { ...found, get });
    };
    override(HTMLInputElement, "value");
    override(HTMLTextAreaElement, "value");
    for (const name of ["nodeValue", "textContent"]) override(Node, name);
    override(CharacterData, "data");
    const getAttribute = Element.prototype.getAttribute;
    Element.prototype.getAttribute = function (name) {
      const value = getAttribute.call(this, name);
      return value !== null && NAMES.has(name) && hides(this) ? "" : value;
    };
    const getStyle = view.getComputedStyle;
    view.getComputedStyle = (element, pseudo) => {
      const style = getStyle.call(view, element, pseudo);
      // Generated text is not part of the other formats either.
      return pseudo && current.texts ? { content: "none", display: style.display } : style;
    };
  };

  // Follow child indexes from the document; null enters a shadow root.
  const rootAt = (path) => {
    let at = document;
    for (const step of path) at = step === null ? shadowOf(at) : nodesOf(at)[step];
    return at;
  };
  const start = input.path ? rootAt(input.path) : body || top;
  walk(start);

  // Remove the words of a text that are not visible in screenshots.
  const trim = (text) => {
    const { node, piece, words = [] } = text;
    if (words.length && words.every((word) => word.isSeen)) return;
    if (node === null) {
      text.hide();
      return;
    }
    const whole = shownTexts.get(node);
    let kept = "";
    let end = 0;
    for (const word of words) {
      kept += whole.slice(end, word.start) + (word.isSeen ? whole.slice(word.start, word.end) : "");
      end = word.end;
    }
    if (/\S/.test(kept)) shownTexts.set(node, kept);
    else shownTexts.delete(node);
    pieces[piece] = escapeText(kept);
  };
  const finish = () => {
    texts.forEach(trim);
    if (input.mask) return mask();
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
    return { html, url, title };
  };
  view[Symbol.for("dovetail.page")] = { texts, prepared, finish, attribute, boxOf, parentOf, readers, shownTexts, styleOf };
  return { nodes, stopped, texts: texts.length, ...hints };
}
