/** Server-sent events over fetch, because EventSource can neither POST nor set headers. */

/** Yield the events of a body as {event, data, id, retry}; MCP also has events with only an id. */
export async function* readEvents(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let parts = [], fields = null, afterReturn = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      let text = decoder.decode(value, { stream: true });
      if (afterReturn && text.startsWith("\n")) text = text.slice(1);
      afterReturn = text.endsWith("\r");
      const lines = text.split(/\r\n|\n|\r/);
      // The parts of a line are joined once, so a line of 10 MB takes linear time.
      parts.push(lines[0]);
      if (lines.length === 1) continue;
      lines[0] = parts.join("");
      parts = [lines.pop()];
      for (const line of lines) {
        const [, name, given] = /^([^:]*):? ?([^]*)$/.exec(line);
        if (line === "" && fields) {
          yield { ...fields, data: fields.data?.join("\n") };
          fields = null;
        } else if (name) {
          fields ??= { event: "message" };
          if (name === "data") (fields.data ??= []).push(given);
          else fields[name] = given;
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
