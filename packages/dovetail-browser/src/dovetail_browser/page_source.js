// Walks the live DOM once and writes the visible content as HTML.
//
// Visibility is decided at the leaves (text, images, controls) from computed style and position.
// Nothing recurses, so nesting depth is not limited. The page is not changed. `input` is
// {path, nodes, characters, milliseconds, mask}; `owners` are the elements that contain the frames.
// With `mask`, nothing is written: the functions of this JavaScript world are replaced by ones that
// do not return hidden text, so that other scripts in it cannot read the text.
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
  const MOST_COVER_CHECKS = 300;
  const MOST_LAYERS = 2000;

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
  let coverChecks = 0;
  const range = document.createRange();
  // What is visible: text nodes, and elements whose attributes may be read.
  const shownTexts = new WeakSet();
  const shownElements = new WeakSet();

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
  let pixel = null;
  const drawnColour = (text) => {
    pixel = pixel || new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = "#0000";
    pixel.fillStyle = text;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const parseColour = (text) => {
    if (colours.has(text)) return colours.get(text);
    let parsed = null;
    const match = /^rgba?\(([\d.]+),? ([\d.]+),? ([\d.]+)(?:,? (?:\/ )?([\d.]+))?\)$/.exec(text);
    const wide = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/.exec(text);
    if (match) parsed = [+match[1], +match[2], +match[3], match[4] === undefined ? 1 : +match[4]];
    else if (wide)
      parsed = [wide[1] * 255, wide[2] * 255, wide[3] * 255, wide[4] === undefined ? 1 : +wide[4]];
    else if (/^(?:color|oklch|oklab|lab|lch|hsla?|hwb)\(/.test(text)) parsed = drawnColour(text);
    if (colours.size < 5000) colours.set(text, parsed);
    return parsed;
  };
  const blend = (over, under) => {
    const alpha = over[3];
    return [0, 1, 2].map((i) => over[i] * alpha + under[i] * (1 - alpha)).concat(1);
  };
  const isAlike = (a, b) =>
    Math.abs(a[0] - b[0]) <= 6 && Math.abs(a[1] - b[1]) <= 6 && Math.abs(a[2] - b[2]) <= 6;

  const coloursIn = (text) => (text.match(/(?:rgba?|color|oklch|oklab|lab|lch|hsla?|hwb)\([^()]*\)/g) || []).map(parseColour);
  // The colour of a gradient without visible steps; null for others and for images.
  const flatGradient = (image) => {
    if (!/^(?:repeating-)?(?:linear|radial|conic)-gradient\(/.test(image) || image.includes("url(")) return null;
    const stops = coloursIn(image);
    if (!stops.length || stops.includes(null)) return null;
    return stops.every((stop) => isAlike(stop, stops[0]) && stop[3] === stops[0][3]) ? stops[0] : null;
  };
  const paintOf = (style) => {
    const image = style.backgroundImage;
    return image !== "none" && image !== "" ? flatGradient(image) : parseColour(style.backgroundColor);
  };
  const backgroundOf = (style, below) => {
    if (style.backgroundClip === "text") return below;
    const colour = paintOf(style);
    if (colour === null) return null;
    if (colour[3] === 0) return below;
    if (colour[3] >= 0.99) return colour;
    return below === null ? null : blend(colour, below);
  };

  // An element that is not an ancestor may be behind a text: an image, a coloured layer.
  const isOverSomethingElse = (element, box, ink) => {
    if (++coverChecks > MOST_COVER_CHECKS) return false;
    const x = box.left + Math.min(box.width / 2, 20);
    const y = box.top + box.height / 2;
    const holds = (other) => {
      const area = boxOf(other);
      return area.left <= x && area.right >= x && area.top <= y && area.bottom >= y;
    };
    const paints = (other) => {
      if (/^(?:IMG|VIDEO|CANVAS|PICTURE|IFRAME|svg)$/.test(tagOf(other))) return true;
      const colour = paintOf(styleOf(other));
      return colour === null || (colour[3] > 0.2 && !isAlike(colour, ink));
    };
    let above = element;
    for (let steps = 0; above && steps < 30; steps++, above = parentElementOf(above)) {
      for (const pseudo of ["::before", "::after"]) {
        const style = styleOf(above, pseudo);
        if (style.content === "none" || style.content === "normal") continue;
        const colour = paintOf(style);
        if (colour === null || (colour[3] > 0.2 && !isAlike(colour, ink))) return true;
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

  const inkOf = (element, style) => {
    if (spaceOf(element) !== "http://www.w3.org/2000/svg") return parseColour(style.webkitTextFillColor);
    if (style.stroke !== "none" && parseFloat(style.strokeWidth) > 0) return null;
    if (style.fill === "none") return [0, 0, 0, 0];
    const fill = parseColour(style.fill);
    return fill && [...fill.slice(0, 3), fill[3] * parseFloat(style.fillOpacity)];
  };
  const isInvisibleInk = (element, style, state, box) => {
    const ink = inkOf(element, style);
    if (ink === null) return false;
    const isClear = ink[3] < 0.06;
    if (!isClear) {
      if (state.background === null) return false;
      const drawn = ink[3] >= 0.99 ? ink : blend(ink, state.background);
      if (!isAlike(drawn, state.background)) return false;
    }
    const isSeen = (colour) =>
      colour === null || (colour[3] >= 0.06 && (state.background === null || !isAlike(colour, state.background)));
    if (style.textShadow !== "none" && coloursIn(style.textShadow).some(isSeen)) return false;
    if (parseFloat(style.webkitTextStrokeWidth) > 0 && isSeen(parseColour(style.webkitTextStrokeColor))) return false;
    if (state.isPainted) return false;
    if (isClear) return true;
    if (state.inkHost !== element) {
      state.inkHost = element;
      state.inkSeen = isOverSomethingElse(element, box, ink);
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
    const amount = (name) => {
      const match = new RegExp(`${name}\\(([\\d.e-]+)(%?)`).exec(filter);
      return match === null ? null : parseFloat(match[1]) / (match[2] ? 100 : 1);
    };
    const [opaque, contrast, bright, blur] = ["opacity", "contrast", "brightness", "blur"].map(amount);
    return (
      (opaque !== null && opaque < 0.05) ||
      (contrast !== null && contrast < 0.05) ||
      (bright !== null && bright > 20) ||
      (blur !== null && blur >= 5 && blur > parseFloat(style.fontSize) / 4)
    );
  };
  // A mask of clear colours, or of no size.
  const isMaskedAway = (style) => {
    const image = style.maskImage;
    if (!image || image === "none") return false;
    if (/^0(?:px|%)?(?: |$)|(?:^| )0(?:px|%)?$/.test(style.maskSize)) return true;
    const stops = coloursIn(image);
    return !image.includes("url(") && stops.length > 0 && stops.every((stop) => stop !== null && stop[3] < 0.05);
  };
  // The back of a turned element; `turn` is the matrix of its ancestors in the same 3D space.
  const turnOf = (style, state) => {
    if (style.transform === "none" && !state.turn) return null;
    const own = new DOMMatrix(style.transform === "none" ? "" : style.transform);
    return state.turn ? state.turn.multiply(own) : own;
  };
  const isBack = (style, turn) =>
    style.backfaceVisibility === "hidden" && turn !== null && turn.inverse().m33 < 0;
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
      for (const node of nodesOf(option)) shownTexts.add(node);
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
      shownTexts.add(node);
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
    shownTexts.add(node);
    texts.push({ node, element: state.element, box, piece: pieces.length });
    write(escapeText(text));
  };

  const inner = (element, style, state) => {
    const opacity = state.opacity * parseFloat(style.opacity || "1");
    const isVisible = style.visibility === "visible";
    const isCut = state.isClippedAway || isClippedAway(style);
    const areas = areasOf(element, style, state);
    // Content that is rendered only when scrolled to has no size yet.
    if (style.contentVisibility === "auto") areas.area = { ...areas.area, right: Infinity, bottom: Infinity };
    const turn = turnOf(style, state);
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
      isDark: state.isDark || isFaint(style, opacity) || isMaskedAway(style) || isBack(style, turn) ||
        isBlendedAway(style, state.background),
      turn: style.transformStyle === "preserve-3d" ? turn : null,
      isTiny: parseFloat(style.fontSize) < 3,
      label: state.label,
      isPre: /^(?:pre|break-spaces)/.test(style.whiteSpace),
      background: backgroundOf(style, state.background),
      // The background is painted through the text.
      isPainted: state.isPainted || (style.backgroundClip === "text" && isVisiblePaint(style, state.background)),
      ...areas,
      block,
      indent: isWide,
      indentArea: () => boxOf(block),
      inkHost: null,
      inkSeen: false,
    };
  };

  const isVisiblePaint = (style, below) => {
    const paint = paintOf(style);
    return paint === null || (paint[3] >= 0.06 && (below === null || !isAlike(paint, below)));
  };

  const isDrawn = (element, state) => {
    if (!state.isVisible || state.isDark || state.clip > 0) return false;
    const box = boxOf(element);
    if (box.width === 0 && box.height === 0) return state.style.display === "contents";
    return !isOutside(box, state.area);
  };

  const mayCover = (tag, style) => {
    if (/^(?:IMG|VIDEO|CANVAS|IFRAME|OBJECT|EMBED)$/.test(tag)) return true;
    const paint = paintOf(style);
    return paint !== null && paint[3] >= 0.95;
  };
  // On a white or black background, these modes leave nothing of the text.
  const isBlendedAway = (style, below) => {
    const mode = style.mixBlendMode;
    if (mode === "normal" || below === null) return false;
    if (/screen|lighten|dodge|lighter/.test(mode)) return below.slice(0, 3).every((part) => part > 249);
    return /multiply|darken|burn/.test(mode) && below.slice(0, 3).every((part) => part < 6);
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
    if (layers.length < MOST_LAYERS && mayCover(tag, style)) layers.push(element);
    addGenerated(element);
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
    if (interactive) below.label = { isDrawn: seen, left: LONGEST_HIDDEN_LABEL };
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
    if (words) for (const node of nodesOf(title)) shownTexts.add(node);
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
  // Written texts with their place, and elements that may cover texts.
  const texts = [];
  const layers = [];

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
      absoluteArea: rootArea,
      fixedArea: screenArea,
      turn: null,
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

  // ---- covered text --------------------------------------------------------------------------

  const isOpaque = (element, style) => {
    for (let one = element, steps = 0; one && steps < 30; one = parentOf(one), steps++) {
      const { opacity, visibility } = one === element ? style : styleOf(one);
      if (opacity < 0.95 || (one === element && visibility !== "visible")) return false;
    }
    if (/^(?:IMG|VIDEO|CANVAS|IFRAME|OBJECT|EMBED)$/.test(tagOf(element))) return true;
    if (/^(?:inline|contents)$/.test(style.display)) return false;
    const paint = paintOf(style);
    return paint !== null && paint[3] >= 0.95;
  };
  const contains = (element, other) => {
    for (let one = other; one; one = parentOf(one)) if (one === element) return true;
    return false;
  };
  const depthOf = (element, common) => {
    // The layer below the common ancestor: its z-index, and whether it is positioned.
    let layer = 0;
    let isLayered = false;
    for (let one = element; one && one !== common; one = parentOf(one)) {
      const style = styleOf(one);
      if (style.position === "static" && style.transform === "none" && style.opacity === "1") continue;
      isLayered = true;
      layer = style.zIndex === "auto" ? 0 : +style.zIndex;
    }
    return [layer, isLayered];
  };
  const isPaintedAfter = (cover, element) => {
    let common = element;
    while (common && !contains(common, cover)) common = parentOf(common);
    const [over, isOverLayered] = depthOf(cover, common);
    const [under, isUnderLayered] = depthOf(element, common);
    if (over !== under) return over > under;
    if (isOverLayered !== isUnderLayered) return isOverLayered;
    return Boolean(element.compareDocumentPosition(cover) & 4);
  };
  // Scrolling moves text out from behind a fixed element, unless that fills the window.
  const isMovable = (cover) => {
    for (let one = cover; one; one = parentOf(one)) {
      if (!/fixed|sticky/.test(styleOf(one).position)) continue;
      const box = boxOf(cover);
      return box.width < 0.95 * view.innerWidth || box.height < 0.95 * view.innerHeight;
    }
    return false;
  };
  // Generated boxes (::before, ::after) have no element to ask for their place.
  const generated = [];
  const addGenerated = (element) => {
    for (const pseudo of generated.length < MOST_LAYERS ? ["::before", "::after"] : []) {
      const style = styleOf(element, pseudo);
      if (style.content === "none" || style.content === "normal" || style.position !== "absolute") continue;
      const paint = paintOf(style);
      if (paint === null || paint[3] < 0.95 || style.opacity < 0.95 || style.visibility !== "visible") continue;
      let holder = element;
      const holds = (one) => styleOf(one).position !== "static" || containsFixed(styleOf(one));
      while (parentOf(holder) && !holds(holder)) holder = parentOf(holder);
      const around = boxOf(holder);
      const [left, top] = [around.left + parseFloat(style.left), around.top + parseFloat(style.top)];
      const box = { left, top, right: left + parseFloat(style.width), bottom: top + parseFloat(style.height) };
      generated.push({ element, box, layer: +style.zIndex || 0, isLast: pseudo === "::after" });
    }
  };
  const isCoveredByGenerated = (text, { element, layer, isLast }) => {
    let common = text.element;
    while (common && !contains(common, element)) common = parentOf(common);
    const [own, isLayered] = depthOf(element, common);
    const over = isLayered ? own : layer;
    const [under, isUnderLayered] = depthOf(text.element, common);
    if (over !== under) return over > under;
    if (!isUnderLayered) return true;
    return contains(element, text.element) ? isLast : Boolean(text.element.compareDocumentPosition(element) & 4);
  };
  const removeCovered = () => {
    const covers = [];
    for (const element of layers) {
      const style = styleOf(element);
      if (!isOpaque(element, style) || isMovable(element)) continue;
      const box = boxOf(element);
      if (box.width >= 3 && box.height >= 3) covers.push({ element, box, isHit: style.pointerEvents !== "none" });
    }
    const isAt = (x, y) => ({ box }) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    const coversAt = (x, y) => covers.filter(isAt(x, y));
    const isCovered = (text, x, y) => {
      if (generated.filter(isAt(x, y)).some((one) => isCoveredByGenerated(text, one))) return true;
      let hit = null;
      return coversAt(x, y).some(({ element, isHit }) => {
        if (contains(text.element, element)) return false;
        if (contains(element, text.element)) return isBehind(text.element, element);
        // The browser knows what it draws first, but only on screen and for what can be clicked.
        if (hit === null) hit = treeOf(text.element).elementsFromPoint(x, y);
        const [over, under] = [hit.indexOf(element), hit.indexOf(text.element)];
        return isHit && over >= 0 && under >= 0 ? over < under : isPaintedAfter(element, text.element);
      });
    };
    // Whether the text has the colour of a box behind it that is not an ancestor.
    const isOnAlike = (text, x, y) => {
      const ink = inkOf(text.element, styleOf(text.element));
      if (ink === null || styleOf(text.element).textShadow !== "none") return false;
      const near = coversAt(x, y).map(({ element }) => element);
      const others = near.filter((one) => !contains(one, text.element) && !contains(text.element, one));
      if (!others.length) return false;
      const behind = others.reduce((one, other) => (isPaintedAfter(other, one) ? other : one));
      const paint = OPAQUE.has(tagOf(behind)) ? null : paintOf(styleOf(behind));
      if (paint === null || !isAlike(paint, ink)) return false;
      return !near.some((one) => contains(one, text.element) && !contains(one, behind) && isPaintedAfter(one, behind));
    };
    for (const text of covers.length + generated.length ? texts : []) {
      if (Date.now() - started > input.milliseconds) {
        stopped = "time";
        pieces[text.piece] = "";
        shownTexts.delete(text.node);
        continue;
      }
      const { left, top, right, bottom } = text.box;
      const y = (top + bottom) / 2;
      const points = [left + 1, (left + right) / 2, right - 1];
      if (!points.every((x) => isCovered(text, x, y) || isOnAlike(text, x, y))) continue;
      shownTexts.delete(text.node);
      pieces[text.piece] = "";
    }
  };
  // A negative z-index puts an element behind its ancestors, up to the stacking context.
  const isContext = (style) =>
    containsFixed(style) ||
    style.isolation === "isolate" ||
    style.opacity < 1 ||
    (style.zIndex !== "auto" && style.position !== "static");
  const isBehind = (element, ancestor) => {
    if (isWindow(ancestor) || ancestor === body) return false;
    let isNegative = false;
    for (let one = element; one && one !== ancestor; one = parentOf(one)) {
      const style = styleOf(one);
      if (isContext(style)) isNegative = style.position !== "static" && +style.zIndex < 0;
    }
    return isNegative && !isContext(styleOf(ancestor));
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
        return hides(this) ? "" : found.get.call(this);
      };
      Object.defineProperty(type.prototype, name, { ...found, get });
    };
    override(HTMLInputElement, "value");
    override(HTMLTextAreaElement, "value");
    for (const name of ["nodeValue", "textContent"]) override(Node, name);
    override(CharacterData, "data");
    const getAttribute = Element.prototype.getAttribute;
    Element.prototype.getAttribute = function (name) {
      return NAMES.has(name) && hides(this) ? null : getAttribute.call(this, name);
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
  removeCovered();
  if (input.mask) {
    mask();
    return { stopped };
  }
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
