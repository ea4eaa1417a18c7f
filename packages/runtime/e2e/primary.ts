/**
 * A primary for the tests of a location: an HTTP server that speaks the protocol over a table in memory. It checks
 * every signature, keeps the order of events, and can be told to answer otherwise.
 */
import { createHmac } from "node:crypto";
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  createServer,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import {
  ABI_VERSION,
  handlersWith,
  type CommitId,
  type Entry,
  FOLLOWUP_PATH,
  type Followup,
  type FollowupResult,
  KEY_HEADER,
  LINES_TYPE,
  type ListeningQuestion,
  LVI_PATH,
  type LviAnswer,
  type LviReply,
  type LviRequest,
  NO_COMMIT,
  type Outcome,
  SIGNATURE_HEADER,
  TIME_HEADER,
  type UnitId,
  UPDATES_PATH,
  WORKFLOW_PATH,
  type WorkflowQuestion,
  type Write,
  commitId,
  decodeFollowup,
  decodeLviRequest,
  decodeWorkflowQuestion,
  encodeFollowupReply,
  encodeLviReply,
  entryOf,
  sameVersion,
  signedBytes,
} from "@radical/protocol";
import { type HandlerModule, type CompletedRun, compileModule, recordHandler } from "@radical/wasm-host";
import { EventLog } from "./event-log.ts";
import type { Application } from "./fixture/application.ts";

export const KEY_ID = "test";
export const KEY = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

export type PrimaryEvent =
  | { readonly kind: "lvi"; readonly request: LviRequest; readonly headers: IncomingHttpHeaders }
  | {
      readonly kind: "followup";
      readonly followup: Followup;
      readonly result: FollowupResult;
      readonly headers: IncomingHttpHeaders;
    }
  | { readonly kind: "question"; readonly question: WorkflowQuestion }
  | { readonly kind: "listening"; readonly question: ListeningQuestion };

/** Returns what to answer instead of the primary's own reply: undefined for that, null for none at all. */
export type Interceptor = (request: LviRequest, ownReply: () => LviReply) => Promise<LviReply | null | undefined>;

interface Completed {
  readonly outcome: Outcome;
  readonly writes: readonly Write[];
}

interface Pending {
  readonly request: LviRequest;
  readonly commitId: CommitId;
}

export class TestPrimary {
  readonly #events = new EventLog<PrimaryEvent>();
  readonly items = new Map<UnitId, Entry>();
  readonly badSignatures: string[] = [];
  /** Followups that differ from the primary's own run of the same request. */
  readonly divergences: Followup[] = [];
  intercept: Interceptor | null = null;
  /** Answers questions after workflows; null: with none. */
  answerQuestion: ((question: WorkflowQuestion) => Promise<LviAnswer>) | null = null;
  /** Called for every followup; false drops it unanswered. */
  acceptFollowup: (followup: Followup) => Promise<boolean> = async () => true;

  readonly #module: HandlerModule;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isDown = false;
  readonly #listening = new Set<ServerResponse>();
  readonly #pending = new Map<string, Pending>();
  readonly #stored = new Map<string, Completed>();
  #sequence = 0;

  constructor({ manifest, wasm, rwWasm }: Application) {
    const plans = Object.fromEntries(Object.entries(manifest.handlers).map(([name, { plan }]) => [name, plan]));
    const handlers = handlersWith(plans);
    this.#module = compileModule({ abi: ABI_VERSION, limits: manifest.limits, handlers, wasm, rwWasm });
    this.#server = createServer((request, response) => {
      void this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    this.#server.keepAliveTimeout = 65_000;
    this.#server.on("connection", (socket) => {
      if (this.#isDown) socket.destroy();
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.disconnect();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** No connection holds. The port is kept: nobody else gets it meanwhile. */
  goDown(): void {
    this.#isDown = true;
    this.disconnect();
  }

  comeBack(): void {
    this.#isDown = false;
  }

  /** Cuts every connection, so that the next request has to open one. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  get events(): readonly PrimaryEvent[] {
    // That somebody listens belongs to no execution, and happens beside them at any time.
    return this.#events.all.filter(({ kind }) => kind !== "listening");
  }

  /** How often somebody began to listen. */
  get listened(): number {
    return this.#events.all.filter(({ kind }) => kind === "listening").length;
  }

  /** Forgets what happened, keeps the items. */
  reset(): void {
    this.#events.clear();
    for (const response of this.#listening) response.end();
    this.#listening.clear();
    this.intercept = null;
    this.answerQuestion = null;
    this.acceptFollowup = async () => true;
    this.comeBack();
  }

  put(unit: UnitId, value: Uint8Array | null): CommitId {
    const commit = this.#nextCommit();
    this.items.set(unit, entryOf(commit, value));
    return commit;
  }

  entry(unit: UnitId): Entry {
    return this.items.get(unit) ?? entryOf(this.#sequence === 0 ? NO_COMMIT : commitId(1, this.#sequence), null);
  }

  /** Resolves when such an event has happened, now or later. */
  happened<Kind extends PrimaryEvent["kind"]>(
    kind: Kind,
    test: (event: Extract<PrimaryEvent, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<PrimaryEvent, { kind: Kind }>> {
    type Wanted = Extract<PrimaryEvent, { kind: Kind }>;
    return this.#events.happened((event): event is Wanted => event.kind === kind && test(event as Wanted));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = new Uint8Array(Buffer.concat(chunks));
    const path = request.url ?? "";
    if (!this.#isSigned(request, path, body)) {
      this.badSignatures.push(path);
      response
        .writeHead(401, { "content-type": "application/json" })
        .end(`{"error":{"code":"unauthorized","message":"bad signature"}}`);
      return;
    }
    if (path === UPDATES_PATH) return this.#onUpdates(body, response);
    const answer =
      path === LVI_PATH
        ? await this.#onLvi(body, request.headers)
        : path === FOLLOWUP_PATH
          ? await this.#onFollowup(body, request.headers)
          : path === WORKFLOW_PATH
            ? await this.#onQuestion(body)
            : null;
    if (answer === null) response.destroy();
    else response.writeHead(200, { "content-type": "application/cbor" }).end(answer);
  }

  #onUpdates(body: Uint8Array, response: ServerResponse): void {
    const question = JSON.parse(Buffer.from(body).toString()) as ListeningQuestion;
    response.writeHead(200, { "content-type": LINES_TYPE }).flushHeaders();
    this.#listening.add(response);
    response.on("close", () => this.#listening.delete(response));
    this.#events.push({ kind: "listening", question });
  }

  /** Tells everybody who listens. */
  update(...lines: readonly (string | readonly unknown[])[]): void {
    const text = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
    for (const response of this.#listening) response.write(text);
  }

  #isSigned(request: IncomingMessage, path: string, body: Uint8Array): boolean {
    const timeMs = Number(request.headers[TIME_HEADER]);
    const bytes = signedBytes(request.method ?? "", path, timeMs, body);
    const expected = createHmac("sha256", Buffer.from(KEY, "hex")).update(bytes).digest("hex");
    return request.headers[KEY_HEADER] === KEY_ID && request.headers[SIGNATURE_HEADER] === expected;
  }

  async #onLvi(body: Uint8Array, headers: IncomingHttpHeaders): Promise<Uint8Array | null> {
    const request = decodeLviRequest(body);
    this.#events.push({ kind: "lvi", request, headers });
    let own: LviReply | null = null;
    const ownReply = (): LviReply => (own ??= this.reply(request));
    const reply = await this.intercept?.(request, ownReply);
    return reply === null ? null : encodeLviReply(reply ?? ownReply());
  }

  async #onQuestion(body: Uint8Array): Promise<Uint8Array | null> {
    const question = decodeWorkflowQuestion(body);
    this.#events.push({ kind: "question", question });
    const answer = await this.answerQuestion?.(question);
    return answer === undefined ? null : encodeLviReply({ ...answer, asOf: commitId(1, this.#sequence) });
  }

  async #onFollowup(body: Uint8Array, headers: IncomingHttpHeaders): Promise<Uint8Array | null> {
    const followup = decodeFollowup(body);
    if (!(await this.acceptFollowup(followup))) return null;
    const pending = this.#pending.get(followup.executionId);
    const stored = this.#stored.get(followup.executionId);
    const result: FollowupResult =
      pending !== undefined ? "applied" : stored !== undefined ? "completed_before" : "unknown_intent";
    if (pending !== undefined) {
      const own = this.#run(pending.request);
      this.#compare(followup, { outcome: own.outcome, writes: own.writes });
      this.#apply(pending, followup.outcome, followup.writes);
    } else if (stored !== undefined) this.#compare(followup, stored);
    this.#events.push({ kind: "followup", followup, result, headers });
    return encodeFollowupReply(result);
  }

  /** The reply of a correct primary; every step is synchronous, so it needs no locks. */
  reply(request: LviRequest): LviReply {
    return { ...this.#answer(request), asOf: commitId(1, this.#sequence) };
  }

  #answer(request: LviRequest): LviAnswer {
    const times = { receivedAtMs: 0, sentAtMs: 0 };
    // Asked again, or somebody wants what a pending intent holds: re-execution at once.
    for (const pending of this.#pending.values()) {
      if (pending.request.executionId === request.executionId || overlap(pending.request, request))
        this.#execute(pending);
    }
    const stored = this.#stored.get(request.executionId);
    if (stored !== undefined) return { kind: "executed", cause: "stored", outcome: stored.outcome, repairs: [], times };
    const commit = this.#nextCommit();
    const reads = (request.units ?? []).filter((accessed) => accessed.mode !== "write");
    const valid =
      request.units !== null &&
      reads.every(({ unit, version }) => version !== null && sameVersion(unit, version, this.entry(unit).version));
    if (valid) {
      const intent = request.retained || request.units.some(({ mode }) => mode !== "read");
      if (intent) this.#pending.set(request.executionId, { request, commitId: commit });
      return { kind: "valid", commitId: intent ? commit : null, times };
    }
    const { outcome, touched } = this.#execute({ request, commitId: commit });
    const units = new Set([...reads.map(({ unit }) => unit), ...touched]);
    return {
      kind: "executed",
      cause: request.units === null ? "requested" : "stale",
      outcome,
      repairs: Array.from(units, (unit) => ({ unit, entry: this.entry(unit) })),
      times,
    };
  }

  #execute(pending: Pending): { readonly outcome: Outcome; readonly touched: readonly UnitId[] } {
    const { outcome, reads, writes } = this.#run(pending.request);
    this.#apply(pending, outcome, writes);
    return { outcome, touched: [...reads, ...writes.map(({ unit }) => unit)] };
  }

  #run(request: LviRequest): CompletedRun {
    const { run } = recordHandler(this.#module, request, (unit) => this.entry(unit), { guess: false });
    if (run === null) throw new Error("the primary's run did not end");
    return run;
  }

  #apply({ request, commitId: commit }: Pending, outcome: Outcome, writes: readonly Write[]): void {
    for (const { unit, value } of writes) this.items.set(unit, entryOf(commit, value));
    this.#pending.delete(request.executionId);
    if (writes.length > 0 || request.retained) this.#stored.set(request.executionId, { outcome, writes });
  }

  #compare(followup: Followup, own: Completed): void {
    if (!isDeepStrictEqual({ outcome: followup.outcome, writes: followup.writes }, own))
      this.divergences.push(followup);
  }

  #nextCommit(): CommitId {
    return commitId(1, ++this.#sequence);
  }
}

function overlap(a: LviRequest, b: LviRequest): boolean {
  if (a.units === null || b.units === null) return true;
  const units = new Set(a.units.map(({ unit }) => unit));
  return b.units.some(({ unit }) => units.has(unit));
}
