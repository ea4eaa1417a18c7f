/**
 * A primary for the tests of a location: an HTTP server that speaks the protocol over a table in memory. It checks
 * every signature, keeps the order of events, and can be told to answer otherwise.
 */
import { createHmac } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  type CommitId,
  type Entry,
  FOLLOWUP_PATH,
  type Followup,
  type FollowupResult,
  KEY_HEADER,
  LVI_PATH,
  type LviReply,
  type LviRequest,
  NO_COMMIT,
  type Outcome,
  SIGNATURE_HEADER,
  TIME_HEADER,
  type UnitId,
  type Write,
  commitId,
  decodeFollowup,
  decodeLviRequest,
  encodeFollowupReply,
  encodeLviReply,
  entryOf,
  sameVersion,
  signedBytes,
} from "@radical/protocol";
import { type HandlerModule, compileModule, runHandler } from "@radical/wasm-host";
import type { Application } from "./fixture/application.ts";

export const KEY_ID = "test";
export const KEY = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

export type PrimaryEvent =
  | { readonly kind: "lvi"; readonly request: LviRequest }
  | { readonly kind: "followup"; readonly followup: Followup; readonly result: FollowupResult };

/** Returns what to answer instead of the primary's own reply: undefined for that, null for none at all. */
export type Interceptor = (request: LviRequest, ownReply: () => LviReply) => Promise<LviReply | null | undefined>;

interface Pending {
  readonly request: LviRequest;
  readonly commitId: CommitId;
}

export class TestPrimary {
  readonly events: PrimaryEvent[] = [];
  readonly items = new Map<UnitId, Entry>();
  readonly badSignatures: string[] = [];
  intercept: Interceptor | null = null;
  /** Called for every followup; false drops it unanswered. */
  acceptFollowup: (followup: Followup) => Promise<boolean> = async () => true;

  readonly #module: HandlerModule;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #pending = new Map<string, Pending>();
  readonly #stored = new Map<string, Outcome>();
  readonly #waiting: { readonly matches: (event: PrimaryEvent) => boolean; readonly resolve: () => void }[] = [];
  #sequence = 0;

  constructor({ manifest, wasm, rwWasm }: Application) {
    const plans = Object.fromEntries(Object.entries(manifest.handlers).map(([name, { plan }]) => [name, plan]));
    this.#module = compileModule({ limits: manifest.limits, plans, wasm, rwWasm });
    this.#server = createServer((request, response) => {
      void this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    this.#server.keepAliveTimeout = 65_000;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(port, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.disconnect();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** Cuts every connection, so that the next request has to open one. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Forgets what happened, keeps the items. */
  reset(): void {
    this.events.length = 0;
    this.intercept = null;
    this.acceptFollowup = async () => true;
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
  async happened<Kind extends PrimaryEvent["kind"]>(
    kind: Kind,
    test: (event: Extract<PrimaryEvent, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<PrimaryEvent, { kind: Kind }>> {
    const matches = (event: PrimaryEvent): boolean => event.kind === kind && test(event as Extract<PrimaryEvent, { kind: Kind }>);
    if (!this.events.some(matches)) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ matches, resolve });
      });
    }
    return this.events.find(matches) as Extract<PrimaryEvent, { kind: Kind }>;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = new Uint8Array(Buffer.concat(chunks));
    const path = request.url ?? "";
    if (!this.#isSigned(request, path, body)) {
      this.badSignatures.push(path);
      response.writeHead(401, { "content-type": "application/json" }).end(`{"error":{"code":"unauthorized","message":"bad signature"}}`);
      return;
    }
    const answer = path === LVI_PATH ? await this.#onLvi(body) : path === FOLLOWUP_PATH ? await this.#onFollowup(body) : null;
    if (answer === null) response.destroy();
    else response.writeHead(200, { "content-type": "application/cbor" }).end(answer);
  }

  #isSigned(request: IncomingMessage, path: string, body: Uint8Array): boolean {
    const timeMs = Number(request.headers[TIME_HEADER]);
    const bytes = signedBytes(request.method ?? "", path, timeMs, body);
    const expected = createHmac("sha256", Buffer.from(KEY, "hex")).update(bytes).digest("hex");
    return request.headers[KEY_HEADER] === KEY_ID && request.headers[SIGNATURE_HEADER] === expected;
  }

  async #onLvi(body: Uint8Array): Promise<Uint8Array | null> {
    const request = decodeLviRequest(body);
    this.#record({ kind: "lvi", request });
    let own: LviReply | null = null;
    const ownReply = (): LviReply => (own ??= this.reply(request));
    const reply = await this.intercept?.(request, ownReply);
    return reply === null ? null : encodeLviReply(reply ?? ownReply());
  }

  async #onFollowup(body: Uint8Array): Promise<Uint8Array | null> {
    const followup = decodeFollowup(body);
    if (!(await this.acceptFollowup(followup))) return null;
    const pending = this.#pending.get(followup.executionId);
    const result: FollowupResult =
      pending !== undefined ? "applied" : this.#stored.has(followup.executionId) ? "completed_before" : "unknown_intent";
    if (pending !== undefined) this.#apply(pending, followup.outcome, followup.writes);
    this.#record({ kind: "followup", followup, result });
    return encodeFollowupReply(result);
  }

  /** The reply of a correct primary. */
  reply(request: LviRequest): LviReply {
    const times = { receivedAtMs: 0, sentAtMs: 0 };
    const pending = this.#pending.get(request.executionId);
    if (pending !== undefined) this.#execute(pending);
    const stored = this.#stored.get(request.executionId);
    if (stored !== undefined) return { kind: "executed", cause: "stored", outcome: stored, repairs: [], times };
    const commit = this.#nextCommit();
    const reads = (request.units ?? []).filter((accessed) => accessed.mode !== "write");
    const valid =
      request.units !== null &&
      reads.every(({ unit, version }) => version !== null && sameVersion(version, this.entry(unit).version));
    if (valid) {
      const writes = request.units.some(({ mode }) => mode !== "read");
      if (writes || request.retained) this.#pending.set(request.executionId, { request, commitId: commit });
      return { kind: "valid", commitId: writes || request.retained ? commit : null, times };
    }
    const { outcome, touched } = this.#execute({ request, commitId: commit });
    const units = new Set([...reads.map(({ unit }) => unit), ...touched]);
    return {
      kind: "executed",
      cause: request.units === null ? "requested" : "stale",
      outcome,
      repairs: [...units].map((unit) => ({ unit, entry: this.entry(unit) })),
      times,
    };
  }

  #execute(pending: Pending): { outcome: Outcome; touched: readonly UnitId[] } {
    const run = runHandler(this.#module, pending.request, (unit) => this.entry(unit), null);
    if (run.kind !== "completed") throw new Error(`near-storage run ended as ${run.kind}`);
    this.#apply(pending, run.outcome, run.writes);
    return { outcome: run.outcome, touched: [...run.reads, ...run.writes.map(({ unit }) => unit)] };
  }

  #apply({ request, commitId: commit }: Pending, outcome: Outcome, writes: readonly Write[]): void {
    for (const { unit, value } of writes) this.items.set(unit, entryOf(commit, value));
    this.#pending.delete(request.executionId);
    if (writes.length > 0 || request.retained) this.#stored.set(request.executionId, outcome);
  }

  #nextCommit(): CommitId {
    return commitId(1, ++this.#sequence);
  }

  #record(event: PrimaryEvent): void {
    this.events.push(event);
    for (const waiting of this.#waiting) if (waiting.matches(event)) waiting.resolve();
  }
}
