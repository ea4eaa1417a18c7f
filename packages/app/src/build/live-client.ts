/**
 * The part of `client.ts` for live queries: TypeScript of the generated file. It reads server-sent events with `fetch`, which
 * sends headers, unlike `EventSource`, and which Node has too. It opens a stream that ends again, with the id of the last result,
 * so that no result comes twice.
 */
export const LIVE_CLIENT = `
export interface LiveOptions {
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Called with true when the last result may be an old one: the application can't be reached, or its location is cut off.
   * Called with false when the last result is the newest again.
   */
  readonly onStale?: (isStale: boolean) => void;
}

/**
 * The results of a handler that only reads: the present one, then each that follows. The iteration throws what a call would.
 * It goes on until it is closed, and opens the connection again whenever that ends.
 */
export interface Live<Result> extends AsyncIterableIterator<Result> {
  /** Ends the iteration and its request. */
  close(): void;
}

interface LiveEvent {
  readonly event: string;
  readonly id: string;
  readonly status: number;
  readonly data: string;
}

/** A stream without a sign of life for so long is opened again. */
const SILENT_MS = 45_000;
/** Without a stream for so long, the last result may be an old one. */
const STALE_MS = 3_000;

function openLive(options: ClientOptions, handler: string, args: unknown, live: LiveOptions): Live<unknown> {
  const controller = new AbortController();
  const results = liveResults(options, handler, args, live, controller.signal);
  const close = (): void => controller.abort();
  const opened: Live<unknown> = {
    next: () => results.next(),
    return: () => {
      close();
      return results.return(undefined);
    },
    [Symbol.asyncIterator]: () => opened,
    close,
  };
  return opened;
}

async function* liveResults(
  options: ClientOptions,
  handler: string,
  args: unknown,
  live: LiveOptions,
  closed: AbortSignal,
): AsyncGenerator<unknown, undefined> {
  const [address, sent] = addressOf(options, handler, args);
  const url = \`\${address}\${queryOf(sent)}\`;
  const maxWaitMs = options.maxWaitMs ?? 10_000;
  let known: string | null = null;
  let isStale = false;
  const tellStale = (now: boolean): void => {
    if (now === isStale) return;
    isStale = now;
    live.onStale?.(now);
  };
  let failures = 0;
  let late: ReturnType<typeof setTimeout> | undefined;
  while (!closed.aborted) {
    const connection = new AbortController();
    const end = (): void => connection.abort();
    closed.addEventListener("abort", end);
    let silent = setTimeout(end, SILENT_MS);
    late ??= setTimeout(() => tellStale(true), STALE_MS);
    let failure: RadicalClientError | null = null;
    let waitMs = Math.min(100 * 2 ** failures, maxWaitMs) * (0.5 + Math.random() / 2);
    try {
      const response = await (options.fetch ?? fetch)(url, {
        headers: {
          ...options.headers,
          ...live.headers,
          accept: "text/event-stream",
          // Without it the last result comes again, which shows that it is the newest.
          ...(known === null || isStale ? {} : { "last-event-id": known }),
        },
        cache: "no-store",
        signal: connection.signal,
      });
      const { headers, ok, status } = response;
      if (!ok || headers.get("content-type")?.startsWith("text/event-stream") !== true) {
        failure = new RadicalClientError(errorOf(await response.text(), status), handler, "");
        if (status !== 502 && status !== 503 && status !== 504) throw failure;
        const retryAfter = Number(headers.get("retry-after"));
        if (retryAfter > 0) waitMs = Math.min(retryAfter * 1000, maxWaitMs);
      } else {
        clearTimeout(late);
        late = undefined;
        const isAlive = (): void => {
          clearTimeout(silent);
          silent = setTimeout(end, SILENT_MS);
        };
        const comeBackIn = (ms: number): void => {
          waitMs = Math.min(ms, maxWaitMs);
          failures = 0;
        };
        for await (const { event, id, status: answered, data } of eventsOf(response, isAlive, comeBackIn)) {
          if (event === "stale") tellStale(true);
          else if (event === "error") throw new RadicalClientError(errorOf(data, answered), handler, "");
          else {
            const isNew = id !== known;
            known = id;
            failures = 0;
            tellStale(false);
            if (isNew) yield (JSON.parse(data) as { readonly result: unknown }).result;
          }
        }
      }
    } catch (cause) {
      if (closed.aborted) break;
      if (cause instanceof RadicalClientError) throw cause;
      const message = cause instanceof Error ? cause.message : String(cause);
      const hint = "is the application running, and is baseUrl its URL?";
      failure = new RadicalClientError({ code: "network_error", status: 0, message, hint }, handler, "", { cause });
    } finally {
      clearTimeout(silent);
      closed.removeEventListener("abort", end);
      end();
      if (closed.aborted) clearTimeout(late);
    }
    if (failure !== null && known === null && ++failures >= (options.attempts ?? 5)) {
      clearTimeout(late);
      throw failure;
    }
    await wait(waitMs, closed).catch(() => undefined);
  }
  clearTimeout(late);
  return undefined;
}

/** Arguments as the query of a GET has them. */
function queryOf(args: unknown): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(args as Readonly<Record<string, unknown>>)) {
    if (value === undefined || value === null) continue;
    query.set(name, typeof value === "object" ? jsonOf(value) : String(value));
  }
  const text = query.toString();
  return text === "" ? "" : \`?\${text}\`;
}

/** Server-sent events, as an application sends them: a line ends with a line feed. */
async function* eventsOf(
  response: Response,
  isAlive: () => void,
  comeBackIn: (ms: number) => void,
): AsyncGenerator<LiveEvent, undefined> {
  const none: LiveEvent = { event: "message", id: "", status: 200, data: "" };
  let event = none;
  for await (const line of linesOf(response)) {
    isAlive();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (line === "") {
      if (event.data !== "") yield event;
      event = none;
    } else if (field === "event" || field === "id") event = { ...event, [field]: text };
    else if (field === "data") event = { ...event, data: event.data === "" ? text : \`\${event.data}\\n\${text}\` };
    else if (field === "status") event = { ...event, status: Number(text) };
    else if (field === "retry") comeBackIn(Number(text));
  }
}
`;
