// Compares screenshots; runs in an empty page. `shots` are PNG files in Base64. `patterns` says for each
// of them which groups of words were drawn. `rects` has word, group, left, top, width and height of
// each rectangle in CSS pixels of a document at `place` in the window, which is `width` wide; `short`
// the words that may have little ink.
// Returns which words are visible, and whether it is in doubt whose ink some pixels have.
async ({ shots, patterns, rects, short, width, place: origin }) => {
  // The least difference of a colour that a person can read, of 255.
  const LEAST = 16;
  // Differences between screenshots of the same thing.
  const NOISE = 4;
  const SHARP = 0.7;
  const pictures = await Promise.all(
    shots.map(async (shot) => createImageBitmap(await (await fetch(`data:image/png;base64,${shot}`)).blob())),
  );
  const [columns, rows] = [pictures[0].width, pictures[0].height];
  const context = new OffscreenCanvas(columns, rows).getContext("2d", { willReadFrequently: true });
  const pixels = pictures.map((picture) => {
    context.clearRect(0, 0, columns, rows);
    context.drawImage(picture, 0, 0);
    picture.close();
    return context.getImageData(0, 0, columns, rows).data;
  });
  const scale = columns / width;
  const apart = (one, other, at) =>
    Math.max(
      Math.abs(one[at] - other[at]), Math.abs(one[at + 1] - other[at + 1]), Math.abs(one[at + 2] - other[at + 2]),
    );
  const owners = new Int32Array(columns * rows);
  const groups = [];

  // How much each pixel changes with the group: not at all, if it changes without the group.
  const changes = (box, group, count) => {
    const on = [];
    const off = [];
    for (let shot = 0; shot < count; shot++) (patterns[shot][group] ? on : off).push(pixels[shot]);
    const found = new Uint8Array(box.width * box.height);
    for (let y = 0, at = 0; y < box.height; y++) {
      for (let x = 0; x < box.width; x++, at++) {
        const place = ((box.top + y) * columns + box.left + x) * 4;
        let least = 255;
        for (const one of off) least = Math.min(least, apart(one, on[0], place));
        for (let one = 1; one < on.length && least; one++) if (apart(on[one], on[0], place) > NOISE) least = 0;
        found[at] = least;
      }
    }
    return found;
  };
  // Glyphs have edges; a blur has none.
  const isEdge = (found, box, x, y, distance) => {
    const limit = found[y * box.width + x] * SHARP;
    const isLower = (i, j) =>
      i >= 0 && j >= 0 && i < box.width && j < box.height && found[j * box.width + i] <= limit;
    return (
      isLower(x - distance, y) || isLower(x + distance, y) || isLower(x, y - distance) || isLower(x, y + distance)
    );
  };
  const measure = (box, word, count) => {
    const group = groups[word];
    const found = changes(box, group, count);
    const [across, down] = [new Uint8Array(box.width), new Uint8Array(box.height)];
    const distance = Math.max(2, Math.round(Math.min(box.width, box.height) / 6));
    let ink = 0;
    for (let y = 0; y < box.height; y++) {
      for (let x = 0; x < box.width; x++) {
        if (found[y * box.width + x] < LEAST || !isEdge(found, box, x, y, distance)) continue;
        ink++;
        across[x] = down[y] = 1;
        if (count < shots.length) continue;
        const place = (box.top + y) * columns + box.left + x;
        const other = owners[place] - 1;
        if (other >= 0 && groups[other] !== group) {
          shared[other]++;
          shared[word]++;
        }
        owners[place] = word + 1;
      }
    }
    const sum = (marks) => marks.reduce((total, mark) => total + mark, 0);
    const [inked, depth] = box.width >= box.height ? [sum(across), sum(down)] : [sum(down), sum(across)];
    return { long: Math.max(box.width, box.height), inked, depth, ink };
  };
  const isVisible = ({ isShort, long, inked, depth, ink }) =>
    isShort ? ink >= 1 : depth >= 3 && inked >= 0.25 * long;

  const shared = short.map(() => 0);
  const loose = short.map((isShort) => ({ isShort, long: 0, inked: 0, depth: 0, ink: 0 }));
  const exact = short.map((isShort) => ({ isShort, long: 0, inked: 0, depth: 0, ink: 0 }));
  for (let at = 0; at < rects.length; at += 6) {
    const [word, group, ...place] = rects.slice(at, at + 6);
    groups[word] = group;
    const [left, top, wide, high] = place.map((one, side) => {
      const offset = side === 0 ? origin.left : side === 1 ? origin.top : 0;
      return (one * origin.scale + offset) * scale;
    });
    const box = { left: Math.max(0, Math.floor(left)), top: Math.max(0, Math.floor(top)) };
    box.width = Math.min(columns, Math.ceil(left + wide)) - box.left;
    box.height = Math.min(rows, Math.ceil(top + high)) - box.top;
    if (box.width < 1 || box.height < 1) continue;
    for (const [totals, count] of [[exact, shots.length], [loose, 2]]) {
      const one = measure(box, word, count);
      for (const name of ["long", "inked", "ink"]) totals[word][name] += one[name];
      totals[word].depth = Math.max(totals[word].depth, one.depth);
    }
  }
  const seen = exact.map(isVisible);
  // Half of the ink of a word may be that of another, or the ink does not follow its pattern.
  const isDoubtful = exact.some(({ ink }, word) => shared[word] > ink / 4 || (isVisible(loose[word]) && !seen[word]));
  return { seen, isDoubtful };
}
