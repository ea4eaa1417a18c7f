/** A reader of server-sent events (WHATWG HTML, section 9.2.6), for tests: each event is waited for. */
export interface ReceivedEvent {
  readonly event: string;
  /** The last id that the stream has set. */
  readonly id: string;
  readonly data: string;
}

export class EventReader {
  readonly response: Response;
  /** As `retry:` has it; null: the stream has named none. */
  retryMs: number | null = null;
  /** Lines that are comments. */
  comments = 0;
  readonly #controller: AbortController;
  readonly #events: AsyncGenerator<ReceivedEvent, void>;

  private constructor(response: Response, controller: AbortController) {
    this.response = response;
    this.#controller = controller;
    this.#events = this.#read();
  }

  static async open(url: URL, headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
    const controller = new AbortController();
    const { signal } = controller;
    const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal });
    return new EventReader(response, controller);
  }

  /** Throws when the stream has ended. */
  async next(): Promise<ReceivedEvent> {
    const { done, value } = await this.#events.next();
    if (done === true) throw new Error("The stream has ended.");
    return value;
  }

  /** Resolves when the stream has ended; gives the events until then. */
  async rest(): Promise<readonly ReceivedEvent[]> {
    const events: ReceivedEvent[] = [];
    for await (const event of this.#events) events.push(event);
    return events;
  }

  close(): void {
    this.#controller.abort();
  }

  async *#read(): AsyncGenerator<ReceivedEvent, void> {
    const decoder = new TextDecoder();
    let begun = "";
    let event = "message";
    let id = "";
    let data: string[] = [];
    for await (const chunk of this.response.body!) {
      const lines = (begun + decoder.decode(chunk, { stream: true })).split("\n");
      begun = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield { event, id, data: data.join("\n") };
          [event, data] = ["message", []];
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") event = value;
        else if (field === "id") id = value;
        else if (field === "data") data.push(value);
        else if (field === "retry") this.retryMs = Number(value);
        else if (field === "") this.comments++;
      }
    }
  }
}
