/** A client that reads the event stream of a live query, as `EventSource` does, and nothing more. */

export interface StreamEvent {
  /** `message` unless the event has a name. */
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

/** The events of one stream, until it ends or breaks. Signs of life are left out. */
export async function* eventsOf(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<StreamEvent, void, void> {
  const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers } });
  if (!response.ok || response.body === null) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  let text = "";
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = parsed(text.slice(0, end));
      text = text.slice(end + 2);
      if (event !== null) yield event;
    }
  }
}

function parsed(block: string): StreamEvent | null {
  const fields = new Map(
    block.split("\n").map((line) => {
      const colon = line.indexOf(":");
      return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
  const data = fields.get("data");
  if (data === undefined) return null;
  return { event: fields.get("event") ?? "message", id: fields.get("id") ?? null, data: JSON.parse(data) };
}
