/**
 * Writes `client.ts`: a typed client of the application's handlers that needs nothing but `fetch`. Pages get the same as
 * JavaScript.
 *
 * Its text below is TypeScript of the generated file. A call keeps one Idempotency-Key over all its retries, so a retry
 * after a lost answer never does anything twice, at any location. A handler that only reads gets no key: the primary must
 * see a call with a key, and read leases answer without the primary.
 */
import {
  type HandlerManifest,
  hasBlobs,
  type Manifest,
  OBJECT_ID,
  objectMethod,
  takesGet,
  withRoutes,
} from "@radical/protocol";
import { transform } from "./esbuild.ts";
import { BLOB_CLIENT, BLOB_METHODS, BLOB_RECORD } from "./blob-client.ts";
import { LIVE_CLIENT } from "./live-client.ts";
import { WORKFLOW_CLIENT } from "./workflow-client.ts";
import { descriptionOf, docComment, generateTypes, propertyName } from "./typescript-types.ts";

export function generateClient(whole: Manifest): string {
  const manifest = withRoutes(whole);
  const { text, argumentsOf, resultOf } = generateTypes(manifest, { hasValues: true });
  const handlers = Object.entries(manifest.handlers);
  const methodOf = ([name, handler]: Named, returned: (result: string) => string, options = "CallOptions"): string => {
    const method = objectMethod(name)?.method;
    const parameters = handler.parameters.filter((parameter) => method === undefined || parameter.name !== OBJECT_ID);
    const optional = parameters.every((parameter) => parameter.optional) ? "?" : "";
    const args = argumentsOf({ ...handler, parameters }).replaceAll("\n  ", "\n");
    return (
      docComment(
        [...descriptionOf(handler), `${handler.file}:${handler.line}${handler.readOnly ? "; reads only" : ""}`],
        "  ",
      ) +
      `  ${propertyName(method ?? name)}(args${optional}: ${args}, options?: ${options}): ${returned(resultOf(handler))};\n`
    );
  };
  const indented = (list: readonly string[]): string =>
    list.map((method) => method.replaceAll(/^/gm, "  ").trimEnd()).join("\n");
  /** The methods of handlers; those of objects are behind their class and id. */
  const methodsOf = (
    list: readonly Named[],
    returned: (result: string) => string,
    options?: string,
  ): readonly string[] => {
    const functions = list.filter(([name]) => objectMethod(name) === null);
    const classes = new Set(list.flatMap(([name]) => objectMethod(name)?.className ?? []));
    return [
      ...functions.map((handler) => methodOf(handler, returned, options)),
      ...Array.from(classes, (className) => {
        const ofClass = list.filter(([name]) => objectMethod(name)?.className === className);
        const methods = indented(ofClass.map((handler) => methodOf(handler, returned, options)));
        return `  /** The object of class ${className} with an id. */\n  ${className}(id: string): {\n${methods}\n  };\n`;
      }),
    ];
  };
  const methods = [...methodsOf(handlers, of("Promise"))];
  const isTaken = (name: string): boolean =>
    handlers.some(([handler]) => handler === name || objectMethod(handler)?.className === name);
  /** The handlers that have another method too, under a name that no handler and no class may have then. */
  const others = (name: string, has: (handler: HandlerManifest) => boolean): readonly Named[] =>
    isTaken(name) ? [] : handlers.filter(([, handler]) => has(handler));
  const groupOf = (comment: string, name: string, list: readonly string[]): void => {
    if (list.length > 0) methods.push(`  /** ${comment} */\n  readonly ${name}: {\n${indented(list)}\n  };\n`);
  };
  const tagged = others("speculate", ({ speculative }) => speculative === true);
  groupOf(
    "Handlers with the tag `@speculative`: their results before the confirmation.",
    "speculate",
    methodsOf(tagged, of("Speculation")),
  );
  const readOnly = others("live", takesGet);
  groupOf(
    "Handlers that only read: their results as they change.",
    "live",
    methodsOf(readOnly, of("Live"), "LiveOptions"),
  );
  const isWorkflow = ({ plan }: HandlerManifest): boolean => plan === "workflow";
  const workflows = handlers.filter(([, handler]) => isWorkflow(handler));
  const started = others("start", isWorkflow);
  groupOf(
    "Workflows: they go on by themselves.",
    "start",
    methodsOf(started, (result) => `Promise<Workflow<${result}>>`),
  );
  const found = others("workflow", isWorkflow);
  groupOf(
    "Workflows that were started, by their ids.",
    "workflow",
    found.map(([name, handler]) => `  ${propertyName(name)}(id: string): Workflow<${resultOf(handler)}>;\n`),
  );
  const withBlobs = hasBlobs(manifest.records) && !isTaken("blobs");
  if (withBlobs) methods.push(BLOB_METHODS);
  const lacksRecord = withBlobs && !text.includes("export interface BlobRecord ");
  const names = (list: readonly Named[]): string =>
    JSON.stringify(
      list.map(([name]) => name),
      null,
      2,
    );
  return `// Client of the handlers of "${manifest.application}". Generated by \`radical build\` and \`radical dev\`: changes are overwritten.

${text}
${lacksRecord ? `${BLOB_RECORD}\n` : ""}/** One method for each handler. */
export interface Client {
${methods.join("")}}

const HANDLERS = ${names(handlers)} as const;
const READ_ONLY: readonly string[] = ${names(handlers.filter(([, handler]) => handler.readOnly))};
const SPECULATIVE: readonly string[] = ${names(tagged)};
const LIVE: readonly string[] = ${names(readOnly)};
${RUNTIME.replace(BLOBS_PLACE, withBlobs ? ", blobs: blobsOf(options)" : "").replace(WORKFLOWS_PLACE, workflows.length === 0 ? "" : workflowMethods(names(workflows), names(started), names(found)))}${withBlobs ? BLOB_CLIENT : ""}${workflows.length === 0 ? "" : WORKFLOW_CLIENT}${LIVE_CLIENT}`;
}

/** A generic type of a result. */
function of(name: string): (result: string) => string {
  return (result) => `${name}<${result}>`;
}

/** The methods of workflows, which wait for their ends in the place of those of other handlers. */
function workflowMethods(workflows: string, started: string, found: string): string {
  const inlined = (list: string): string => list.replaceAll(/\s+/g, " ");
  return `
  const { start, workflow } = {
    start: callable(${inlined(started)}, (handler, args, call) => startWorkflow(options, handler, args, call ?? {})),
    workflow: Object.fromEntries(${inlined(found)}.map((handler) => [handler, (id: string) => workflowOf(options, handler, id)])),
  };
  Object.assign(
    methods,
    callable(${inlined(workflows)}, (handler, args, call) => runWorkflow(options, handler, args, call ?? {})),
    ${started === "[]" ? "" : "{ start }, "}${found === "[]" ? "" : "{ workflow }"}
  );`;
}

type Named = readonly [name: string, handler: HandlerManifest];

/** The client as a module of JavaScript, for pages. */
export async function clientForPages(client: string): Promise<string> {
  const { code } = await transform(client, { loader: "ts", format: "esm", target: "es2022" });
  return `${client.slice(0, client.indexOf("\n"))}\n${code}`;
}

/** Where the client gets its methods for blobs. */
const BLOBS_PLACE = "/* blobs */";
/** Likewise for workflows. */
const WORKFLOWS_PLACE = "/* workflows */";

const RUNTIME = `
export interface ClientOptions {
  /** Where the application answers, for example \`https://social.example.com\`. A page needs none: its own origin answers. */
  readonly baseUrl?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How often a call is tried in all when the network or the primary fails. Default: 5. */
  readonly attempts?: number;
  /** Longest wait between two attempts in milliseconds. Default: 10000. */
  readonly maxWaitMs?: number;
  /** For tests and unusual platforms. Default: the global fetch. */
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  /**
   * Names this call, so that repeating it has no second effect: a UUID. Keep it when the call may be repeated after a
   * restart. Default: a new one for each call, kept over its retries; none for a handler that only reads.
   */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  /** Sent with this request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call that has no result: refused, aborted by its handler, or unanswered. */
export class RadicalClientError extends Error {
  override readonly name = "RadicalClientError";
  /** The error's permanent code: the handler's own, one of Radical's, or \`network_error\`. */
  readonly code: string;
  /** HTTP status of the answer; 0 if there was none. */
  readonly status: number;
  /** What to do about it; may be empty. */
  readonly hint: string;
  readonly handler: string;
  /** With this key the call may be repeated without a second effect. */
  readonly idempotencyKey: string;
  /** Whether the handler itself has aborted; then the code is its own. */
  readonly isAbort: boolean;

  constructor(
    fields: ErrorFields,
    handler: string,
    idempotencyKey: string,
    { isAbort = false, cause }: { readonly isAbort?: boolean; readonly cause?: unknown } = {},
  ) {
    super(fields.message, cause === undefined ? undefined : { cause });
    this.code = fields.code;
    this.status = fields.status;
    this.hint = fields.hint;
    this.handler = handler;
    this.idempotencyKey = idempotencyKey;
    this.isAbort = isAbort;
  }
}

/** The code with which a call of the handler was aborted; null: the error is of another kind, or of another call. */
export function abortCode<Name extends keyof Handlers>(error: unknown, handler: Name): Handlers[Name]["aborts"] | null {
  const isAborted = error instanceof RadicalClientError && error.isAbort && error.handler === handler;
  return isAborted ? (error.code as Handlers[Name]["aborts"]) : null;
}

/**
 * A call whose result may be known before it is confirmed. Both promises may be left alone: nothing is thrown elsewhere.
 * Iterated, it gives one event or two. The iteration throws what the call would.
 */
export interface Speculation<Result> extends AsyncIterable<SpeculationEvent<Result>> {
  /** The earliest result, which may prove wrong. It is the confirmed one if none is known before. */
  readonly first: Promise<Result>;
  /** The result of the call. Rejects as the call would: then the first result is void. */
  readonly confirmed: Promise<Result>;
}

export interface SpeculationEvent<Result> {
  /** \`speculative\`: it may prove wrong. \`confirmed\`: it is the result of the call. \`corrected\`: likewise, and the one before was wrong. */
  readonly kind: "speculative" | "confirmed" | "corrected";
  readonly result: Result;
}

export function createClient(options: ClientOptions = {}): Client {
  if (options.baseUrl === undefined && !("location" in globalThis))
    throw new TypeError('Outside of a page the client needs an origin: createClient({ baseUrl: "http://localhost:8787" }).');
  const groups = {
    ...(SPECULATIVE.length === 0
      ? {}
      : { speculate: callable(SPECULATIVE, (handler, args, call) => speculate(options, handler, args, call ?? {})) }),
    ...(LIVE.length === 0
      ? {}
      : { live: callable(LIVE, (handler, args, of) => openLive(options, handler, args, (of as LiveOptions) ?? {})) }),
  };
  const methods = callable(HANDLERS, (handler, args, call) => callHandler(options, handler, args, call ?? {}, null));${WORKFLOWS_PLACE}
  return { ...methods, ...groups${BLOBS_PLACE} } as unknown as Client;
}

type Called = (handler: string, args: unknown, options?: CallOptions) => unknown;

/** The handlers by name. Of objects: \`Thread(id).reply(args)\` calls the handler \`Thread.reply\`. */
function callable(handlers: readonly string[], called: Called): Readonly<Record<string, unknown>> {
  const classes = new Set(handlers.flatMap((handler) => handler.split(".").slice(0, -1)));
  const functions = handlers.filter((handler) => !handler.includes("."));
  return Object.fromEntries([
    ...functions.map((handler) => [
      handler,
      (args: unknown, options?: CallOptions) => called(handler, args ?? {}, options),
    ]),
    ...Array.from(classes, (className) => [
      className,
      (id: string) =>
        Object.fromEntries(
          handlers
            .filter((handler) => handler.startsWith(\`\${className}.\`))
            .map((handler) => [
              handler.slice(className.length + 1),
              (args: object = {}, options?: CallOptions) => called(handler, { ...args, id }, options),
            ]),
        ),
    ]),
  ]) as Readonly<Record<string, unknown>>;
}

function speculate(options: ClientOptions, handler: string, args: unknown, call: CallOptions): Speculation<unknown> {
  let shown: SpeculationEvent<unknown> | null = null;
  let show: (event: SpeculationEvent<unknown>) => void = () => undefined;
  const early = new Promise<SpeculationEvent<unknown>>((resolve) => (show = resolve));
  const calling = callHandler(options, handler, args, call, (result) => show((shown = { kind: "speculative", result })));
  const last = calling.then((result): SpeculationEvent<unknown> => {
    const isWrong = shown !== null && JSON.stringify(shown.result) !== JSON.stringify(result);
    return { kind: isWrong ? "corrected" : "confirmed", result };
  });
  const earliest = Promise.race([early, last]);
  const first = earliest.then(({ result }) => result);
  const confirmed = last.then(({ result }) => result);
  // Whoever awaits one of them need not await the other.
  for (const promise of [earliest, first, confirmed]) promise.catch(() => undefined);
  return {
    first,
    confirmed,
    async *[Symbol.asyncIterator]() {
      const event = await earliest;
      yield event;
      if (event.kind === "speculative") yield await last;
    },
  };
}

/** The answer as it comes, whole or as the last line of a stream. */
type Answered =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: ErrorFields; readonly isFinal: boolean; readonly retryAfterMs: number };

type ErrorFields = { readonly code: string; readonly status: number; readonly message: string; readonly hint: string };

/** The answer for a workflow that has not ended. */
class Working {
  readonly workflow: string;
  readonly state: string;

  constructor(workflow: string, state: string) {
    this.workflow = workflow;
    this.state = state;
  }
}

/** \`show\` is called at most once, with a result that is not confirmed; null: nobody wants one. \`note\` sees the head of each answer. */
async function callHandler(
  options: ClientOptions,
  handler: string,
  args: unknown,
  call: CallOptions,
  show: ((result: unknown) => void) | null,
  note: (headers: Headers) => void = () => undefined,
): Promise<unknown> {
  let shows = show;
  const showOnce = (result: unknown): void => {
    shows?.(result);
    shows = null;
  };
  const send = options.fetch ?? fetch;
  const idempotencyKey = call.idempotencyKey ?? newKey();
  // Without a key a location may answer a call that only reads by itself. Such a call may be repeated anyway.
  const needsKey = call.idempotencyKey !== undefined || !READ_ONLY.includes(handler);
  const [url, sent] = addressOf(options, handler, args);
  const request = {
    method: "POST",
    headers: {
      ...options.headers,
      ...call.headers,
      "content-type": "application/json",
      ...(needsKey ? { "idempotency-key": idempotencyKey } : {}),
    },
    body: jsonOf(sent),
    ...(call.signal === undefined ? {} : { signal: call.signal }),
  };
  return tried(options, handler, idempotencyKey, call.signal, async () => {
    const prefer: Record<string, string> = shows === null ? {} : { prefer: "speculative" };
    const response = await send(url, { ...request, headers: { ...request.headers, ...prefer } });
    note(response.headers);
    const isStream = response.headers.get("content-type")?.startsWith("application/x-ndjson") === true;
    return isStream ? lastOf(response, showOnce) : wholeOf(await response.text(), response);
  });
}

/** Asks until there is an answer that is final. */
async function tried(
  options: ClientOptions,
  handler: string,
  idempotencyKey: string,
  signal: AbortSignal | undefined,
  ask: () => Promise<Answered>,
): Promise<unknown> {
  const attempts = options.attempts ?? 5;
  for (let attempt = 1; ; attempt++) {
    let failure: RadicalClientError;
    let waitMs = 100 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    try {
      const answered = await ask();
      if (answered.kind === "result") return answered.result;
      const { error, isFinal, retryAfterMs } = answered;
      // A path says that the handler has run.
      failure = new RadicalClientError(error, handler, idempotencyKey, { isAbort: isFinal && error.code !== "handler_trapped" });
      // What a handler itself answers it would answer again.
      if (isFinal || (error.status !== 502 && error.status !== 503 && error.status !== 504)) throw failure;
      if (retryAfterMs > 0) waitMs = retryAfterMs;
    } catch (cause) {
      if (cause instanceof RadicalClientError || signal?.aborted === true) throw cause;
      const message = cause instanceof Error ? cause.message : String(cause);
      const hint = "it is not known whether the handler ran: repeat the call with the same idempotencyKey";
      failure = new RadicalClientError({ code: "network_error", status: 0, message, hint }, handler, idempotencyKey, { cause });
    }
    if (attempt >= attempts) throw failure;
    await wait(Math.min(waitMs, options.maxWaitMs ?? 10_000), signal);
  }
}

function wholeOf(text: string, { ok, status, headers }: Response): Answered {
  if (status === 202) {
    const { workflow, state } = JSON.parse(text) as { readonly workflow: string; readonly state: string };
    return { kind: "result", result: new Working(workflow, state) };
  }
  if (ok) return { kind: "result", result: (JSON.parse(text) as { readonly result: unknown }).result };
  const retryAfterMs = Number(headers.get("retry-after")) * 1000;
  return { kind: "error", error: errorOf(text, status), isFinal: headers.has("x-radical-path"), retryAfterMs };
}

/** Reads a stream to its end. Throws if that comes before the last line: then nothing is known. */
async function lastOf(response: Response, show: (result: unknown) => void): Promise<Answered> {
  let shown: unknown;
  for await (const text of linesOf(response)) {
    const line = JSON.parse(text) as {
      readonly speculative?: { readonly result: unknown };
      readonly confirmed?: true;
      readonly corrected?: { readonly result: unknown };
      readonly failed?: ErrorFields & { readonly retryAfterMs: number | null };
      readonly path?: string | null;
    };
    if (line.speculative !== undefined) {
      shown = line.speculative.result;
      show(shown);
    } else if (line.confirmed === true) return { kind: "result", result: shown };
    else if (line.corrected !== undefined) return { kind: "result", result: line.corrected.result };
    else if (line.failed !== undefined) {
      const isFinal = typeof line.path === "string";
      return { kind: "error", error: line.failed, isFinal, retryAfterMs: line.failed.retryAfterMs ?? 0 };
    }
  }
  throw new Error("the answer ended before its last line");
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  // Not every browser can iterate a body.
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf("\\n"); end >= 0; end = text.indexOf("\\n")) {
        yield text.slice(0, end);
        text = text.slice(end + 1);
      }
    }
  } finally {
    // A body that was read to its end lets its connection be used again.
    reader.read().catch(() => undefined);
  }
}

/** Where a handler answers, with the arguments that are not in its URL. */
function originOf({ baseUrl = "" }: ClientOptions): string {
  return baseUrl.replace(/\\/+$/, "");
}

function addressOf({ baseUrl = "" }: ClientOptions, handler: string, args: unknown): readonly [url: string, args: unknown] {
  const api = \`\${originOf({ baseUrl })}/api/\`;
  const [className, method] = handler.split(".");
  if (method === undefined) return [\`\${api}\${encodeURIComponent(handler)}\`, args];
  const { id, ...others } = args as { readonly id: string };
  return [\`\${api}\${className}/\${encodeURIComponent(id)}/\${method}\`, others];
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
}

/** A random UUID. Not \`crypto.randomUUID\`: pages that came over plain HTTP have none. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

function errorOf(text: string, status: number): ErrorFields {
  try {
    const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string; readonly hint?: string } };
    return { code: error.code, status, message: error.message, hint: error.hint ?? "" };
  } catch {
    return { code: "unexpected_answer", status, message: \`status \${status} without an error in JSON\`, hint: "is baseUrl that of the application?" };
  }
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    signal?.addEventListener("abort", aborted, { once: true });
    if (signal?.aborted === true) aborted();
  });
}
`;
