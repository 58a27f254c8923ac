// Finds the words of a document in the window, and removes the glyphs of some of them for screenshots.
//
// Which words are visible is decided from screenshots with and without their glyphs (visible_text.py).
// Glyphs are removed by a highlight of the CSS Custom Highlight API: it changes neither the document
// nor its layout. Text that highlights do not affect (fields, SVG) gets an inline style meanwhile.
// Expects what page_source.js has left in this JavaScript world. Page scripts are paused.
() => {
  const page = window[Symbol.for("dovetail.page")];
  const { texts, prepared, attribute, boxOf, parentOf, readers, shownTexts, styleOf } = page;
  const WORD = /\S{1,16}/gu;
  // So many texts outside of the window in a row end the search.
  const MOST_MISSES = 400;
  const NAME = `dovetail-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`;
  const inlineStyle = (element) => {
    const type = element instanceof SVGElement ? SVGElement : HTMLElement;
    return Object.getOwnPropertyDescriptor(type.prototype, "style").get.call(element);
  };

  // ---- changes -------------------------------------------------------------------------------

  const highlight = new Highlight();
  highlight.priority = 2 ** 31 - 1;
  const sheet = new CSSStyleSheet();
  const clear = ["color", "-webkit-text-fill-color", "-webkit-text-stroke-color"];
  sheet.replaceSync(`::highlight(${NAME}) { ${clear.map((name) => `${name}: transparent !important;`).join("")} }`);
  const styled = new Map();
  const setStyles = (element, styles) => {
    if (!styled.has(element)) styled.set(element, attribute(element, "style"));
    const style = inlineStyle(element);
    for (const [name, value] of Object.entries({ transition: "none", ...styles })) {
      style.setProperty(name, value, "important");
    }
  };
  const resetStyles = (element) => {
    const before = styled.get(element);
    if (before === undefined) return;
    // Also creates an attribute from the styles; without one, an empty attribute would be left.
    element.setAttribute("style", before ?? "");
    if (before === null) element.removeAttribute("style");
    styled.delete(element);
  };
  const scrolled = new Map();
  const scrollTo = (element, left, top) => {
    const [x, y] = [readers.scrollLeft(element), readers.scrollTop(element)];
    if (!scrolled.has(element)) scrolled.set(element, [x, y]);
    Element.prototype.scrollTo.call(element, { left, top, behavior: "instant" });
    return readers.scrollLeft(element) !== x || readers.scrollTop(element) !== y;
  };
  const selection = document.getSelection();
  const { anchorNode, anchorOffset, focusNode, focusOffset, isCollapsed } = selection;

  const begin = () => {
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    CSS.highlights.set(NAME, highlight);
    for (const [element, styles] of prepared) setStyles(element, styles);
    // The highlight of selected text has a higher priority.
    if (!isCollapsed) selection.removeAllRanges();
  };
  const end = () => {
    CSS.highlights.delete(NAME);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    for (const element of [...styled.keys()]) resetStyles(element);
    for (const [element, [left, top]] of scrolled) scrollTo(element, left, top);
    if (!isCollapsed) selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
  };

  // ---- scrolling -----------------------------------------------------------------------------

  const root = document.scrollingElement || document.documentElement;
  const windowBox = () => ({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  const meet = (a, b) => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  });
  const join = (a, b) => ({
    left: Math.min(a.left, b.left),
    top: Math.min(a.top, b.top),
    right: Math.max(a.right, b.right),
    bottom: Math.max(a.bottom, b.bottom),
  });
  // Ancestors that a person can scroll, the innermost first.
  const scrollersOf = (element) => {
    const found = [];
    for (let one = element; one; one = parentOf(one)) {
      const style = styleOf(one);
      if (style.position === "fixed") break;
      if (one === root || !/auto|scroll/.test(style.overflowX + style.overflowY)) continue;
      const [width, height] = [readers.scrollWidth(one), readers.scrollHeight(one)];
      if (width > readers.clientWidth(one) + 1 || height > readers.clientHeight(one) + 1) found.push(one);
    }
    return found;
  };
  const innerBox = (element) => {
    const box = boxOf(element);
    const left = box.left + readers.clientLeft(element);
    const top = box.top + readers.clientTop(element);
    return { left, top, right: left + readers.clientWidth(element), bottom: top + readers.clientHeight(element) };
  };
  const isInside = (rect, box) =>
    rect.left >= box.left && rect.top >= box.top && rect.right <= box.right && rect.bottom <= box.bottom;
  // Scroll until the rectangle is at a part of the height of the window; return whether anything moved.
  const bring = (element, measure, part) => {
    let hasMoved = false;
    for (const scroller of [...scrollersOf(element), root]) {
      const rect = measure();
      const box = scroller === root ? windowBox() : innerBox(scroller);
      if (part === 0.2 && isInside(rect, box)) continue;
      const isWide = rect.left < box.left || rect.right > box.right;
      const across = isWide ? rect.left - box.left - 0.1 * (box.right - box.left) : 0;
      const down = rect.top - box.top - part * (box.bottom - box.top);
      const [left, top] = [readers.scrollLeft(scroller), readers.scrollTop(scroller)];
      hasMoved = scrollTo(scroller, left + across, top + down) || hasMoved;
    }
    return hasMoved;
  };

  // ---- words ---------------------------------------------------------------------------------

  const range = document.createRange();
  const wordsOf = (text) => {
    if (text.words) return text.words;
    const found = text.node ? [...shownTexts.get(text.node).matchAll(WORD)] : [{ index: 0, 0: "" }];
    text.words = found.map(({ index, 0: word }) => ({
      start: index,
      end: index + word.length,
      // A few characters or punctuation can have very little ink.
      isShort: /^(?:.{1,2}|[^\p{L}\p{N}]*)$/u.test(word),
      looks: 0,
      isSeen: null,
    }));
    return text.words;
  };
  const rectsOf = (text, word) => {
    if (text.node === null) return [boxOf(text.element)];
    if (word.end > text.node.length) return [];
    range.setStart(text.node, word.start);
    range.setEnd(text.node, word.end);
    return [...range.getClientRects()].filter((rect) => rect.width > 0 && rect.height > 0);
  };

  let at = 0;
  let target = null;
  let current = [];
  let groups = [];

  // Scroll to the next word that is not decided; return its place, or null.
  const next = () => {
    if (innerWidth < 3 || innerHeight < 3) return null;
    for (; at < texts.length; at++) {
      for (const word of wordsOf(texts[at])) {
        if (word.isSeen !== null) continue;
        const measure = () => rectsOf(texts[at], word)[0];
        if (!measure()) word.isSeen = false;
        else if (!bring(texts[at].element, measure, word.looks ? 0.5 : 0.2) && word.looks) word.isSeen = false;
        if (word.isSeen !== null) continue;
        target = word;
        advanceOthers();
        const { left, top, right, bottom } = measure();
        return { left, top, right, bottom };
      }
    }
    return null;
  };
  // Scroll other boxes in the window to words that are not decided, to look at them at once.
  const advanceOthers = () => {
    const done = new Set(scrollersOf(texts[at].element));
    for (let index = at + 1; index < Math.min(texts.length, at + MOST_MISSES); index++) {
      const text = texts[index];
      const scroller = scrollersOf(text.element).find((one) => !done.has(one));
      const word = scroller && wordsOf(text).find((one) => one.isSeen === null);
      const rect = word && rectsOf(text, word)[0];
      if (!rect || !isInside(boxOf(scroller), windowBox())) continue;
      done.add(scroller);
      if (isInside(rect, innerBox(scroller))) continue;
      const box = innerBox(scroller);
      const [left, top] = [readers.scrollLeft(scroller), readers.scrollTop(scroller)];
      scrollTo(scroller, left + rect.left - box.left, top + rect.top - box.top);
    }
  };
  // Scroll to an inner frame; return its place in the window and the visible part of that.
  const reveal = (owner, rect, part) => {
    const place = () => {
      const box = innerBox(owner);
      const scale = boxOf(owner).width / readers.offsetWidth(owner) || 1;
      return { left: box.left, top: box.top, scale };
    };
    const measure = () => {
      const { left, top, scale } = place();
      const [x, y] = [left + rect.left * scale, top + rect.top * scale];
      const [width, height] = [rect.right - rect.left, rect.bottom - rect.top].map((size) => size * scale);
      return { left: x, top: y, right: x + width, bottom: y + height };
    };
    bring(owner, measure, part);
    return { ...place(), rect: measure(), clip: scrollersOf(owner).map(innerBox).reduce(meet, windowBox()) };
  };
  // Return the rectangles of undecided words in the window: word, group, left, top, width, height.
  const measure = (part) => {
    const clip = part ? meet(part, windowBox()) : windowBox();
    current = [];
    groups = [];
    const found = [];
    let bounds = null;
    const shared = new Map();
    const clips = new Map();
    const clipOf = (element) => {
      if (!clips.has(element)) clips.set(element, scrollersOf(element).map(innerBox).reduce(meet, clip));
      return clips.get(element);
    };
    for (let index = at, misses = 0; index < texts.length && misses < MOST_MISSES; index++) {
      const text = texts[index];
      if (text.node) range.selectNodeContents(text.node);
      const box = text.node ? range.getBoundingClientRect() : boxOf(text.element);
      const isNear = box.right > clip.left && box.left < clip.right && box.bottom > clip.top && box.top < clip.bottom;
      misses = isNear ? 0 : misses + 1;
      if (!isNear) continue;
      const area = clipOf(text.element);
      const key = text.ink ? text.ink.element : text;
      for (const word of wordsOf(text)) {
        if (word.isSeen !== null) continue;
        const rects = rectsOf(text, word);
        const isHere = (rect) => isInside(rect, area) || (word === target && rect.bottom > area.top);
        if (!rects.length || !rects.every(isHere)) continue;
        if (!shared.has(key)) {
          shared.set(key, groups.length);
          groups.push({ ranges: [], ink: text.ink });
        }
        const group = groups[shared.get(key)];
        if (text.node && group.node !== text.node) {
          const { node } = text;
          group.node = node;
          group.ranges.push(new StaticRange({ startContainer: node, startOffset: 0, endContainer: node, endOffset: node.length }));
        }
        for (const rect of rects) {
          found.push(current.length, shared.get(key), rect.left, rect.top, rect.width, rect.height);
          bounds = bounds ? join(bounds, rect) : join(rect, rect);
        }
        current.push(word);
      }
    }
    return { rects: found, bounds, groups: groups.length, short: current.map((word) => word.isShort) };
  };
  // Show the glyphs of some groups only.
  const draw = (shown) => {
    highlight.clear();
    groups.forEach(({ ranges, ink }, index) => {
      if (!shown[index]) for (const one of ranges) highlight.add(one);
      if (ink && shown[index]) resetStyles(ink.element);
      else if (ink) setStyles(ink.element, ink.styles);
    });
  };
  // Store which of the measured words are visible.
  const judge = (seen, most) => {
    current.forEach((word, index) => {
      word.looks += 1;
      if (seen[index]) word.isSeen = true;
      else if (word.looks >= most) word.isSeen = false;
    });
    if (target && !current.includes(target)) target.isSeen = false;
    if (!current.length) for (const word of wordsOf(texts[at])) word.isSeen ??= false;
  };
  page.sight = { begin, end, next, reveal, measure, draw, judge };
}
