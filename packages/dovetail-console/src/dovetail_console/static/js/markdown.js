/** Markdown as elements. Text never becomes markup: there is no HTML, and links are http(s) or mailto. */
import { html } from "../vendor/preact.js";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|!?\[([^\]]*)\]\(([^)\s]+)[^)]*\)|(https?:\/\/[^\s<>)\]]+)/;

function inline(text) {
  const found = INLINE.exec(text);
  if (!found) return text;
  const [all, , code, bold, italic, label, url = found[7]] = found;
  const inner = code !== undefined ? html`<code>${code}</code>` : bold ? html`<strong>${inline(bold)}</strong>` : italic ? html`<em>${inline(italic)}</em>`
    : /^(https?|mailto):/i.test(url) ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${label || url}</a>` : label || url;
  return [text.slice(0, found.index), inner, inline(text.slice(found.index + all.length))];
}

const cells = (line, tag) => html`<tr>${line.replace(/^\s*\||\|\s*$/g, "").split("|").map((cell) => html`<${tag}>${inline(cell.trim())}<//>`)}</tr>`;
const LIST = /^\s*([-*+]|\d+[.)])\s+/;

/** Whether a text looks like Markdown rather than plain text or code. */
export const isMarkdown = (text) => /^(#{1,6} |```|\s*[-*+] \S|\d+\. \S|> |\|.*\|)/m.test(text) || /\*\*\S|\]\(https?:/.test(text);

export function Markdown({ text }) {
  const lines = text.split(/\r?\n/);
  const blocks = [];
  const take = (test) => {
    const end = lines.findIndex((line) => !test(line));
    return lines.splice(0, end < 0 ? lines.length : end);
  };
  while (lines.length) {
    const [line, next = ""] = lines;
    if (!line.trim()) lines.shift();
    else if (/^#{1,6} /.test(line)) blocks.push(html`<p><strong>${inline(lines.shift().replace(/^#+ /, ""))}</strong></p>`);
    else if (/^\s*```/.test(line)) {
      lines.shift();
      blocks.push(html`<pre tabindex="0" role="region" aria-label="Code">${take((each) => !/^\s*```/.test(each)).join("\n")}</pre>`);
      lines.shift();
    } else if (line.includes("|") && /^[\s:|-]*-[\s:|-]*$/.test(next)) {
      const [head, , ...rows] = take((each) => each.includes("|"));
      blocks.push(html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead>${cells(head, "th")}</thead>
        <tbody>${rows.map((row) => cells(row, "td"))}</tbody></table></div>`);
    } else if (LIST.test(line)) {
      const items = take((each) => LIST.test(each) || /^\s+\S/.test(each)).join("\n").split(/\n(?=\s*(?:[-*+]|\d+[.)])\s)/);
      blocks.push(html`<${/^\s*\d/.test(line) ? "ol" : "ul"}>${items.map((each) => html`<li>${inline(each.replace(LIST, ""))}</li>`)}<//>`);
    } else blocks.push(html`<p>${inline([lines.shift(), ...take((each) => each.trim() && !LIST.test(each) && !/^(#|\s*```)/.test(each))].join("\n"))}</p>`);
  }
  return html`<div class="markdown">${blocks}</div>`;
}
