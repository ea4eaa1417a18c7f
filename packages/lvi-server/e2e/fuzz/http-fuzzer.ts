/**
 * Feeds the HTTP surface of a real server with what nobody should send, and looks after each batch whether anything of it
 * stayed: a server that is dead or failed, a lock, a pending intent, memory, an execution that was done twice.
 */
import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AccessedUnit,
  encodeFollowup,
  encodeLviRequest,
  FOLLOWUP_PATH,
  KEY_HEADER,
  LVI_PATH,
  MODULES_PATH,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  TIME_HEADER,
  unitId,
} from "@radical/protocol";
import { ABSENT, incrementFollowup, incrementUnits, KEY_ID, signedHeaders, TestClient } from "../test-client.ts";
import type { TestModule } from "../test-module.ts";
import { type Change, changed } from "./changes.ts";
import type { Random } from "@radical/history";

/** The server under test, as a process. */
export interface FuzzedServer {
  readonly url: string;
  isAlive(): boolean;
  /** What it has logged as its own fault. */
  errors(): string;
}

/** Everything that an action may be answered with. 500 is a fault of the server. */
const EXPECTED: ReadonlySet<number> = new Set([200, 204, 400, 401, 404, 405, 408, 413, 414, 417, 429, 431, 501, 503]);

const KEYS = Array.from({ length: 8 }, (_, index) => `k${index}`);
const ACTIONS_PER_BATCH = 60;
const AT_ONCE = 10;
/** An answer that did not come by then never will: longer than any wait for locks. */
const ANSWER_MS = 60_000;
/** Connections that stay half-sent; fewer than would keep everybody else out. */
const MOST_HALF = 14;
const POLL_MS = 10;
const MOST_POLLS = 3_000;
/** What is not answered is refused at the latest when connections are given up; the rest of what it takes is garbage. */
export const MEMORY_LIMIT_BYTES = 1_000_000_000;

const METHODS = ["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"];
const PATHS = [
  LVI_PATH,
  FOLLOWUP_PATH,
  MODULES_PATH,
  "/healthz",
  "/readyz",
  "/metrics",
  "/keys",
  "/",
  "/v1",
  "//v1/lvi",
  "/v1/lvi?x",
  "/v1/lvi/",
];

export interface FuzzReport {
  readonly actions: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  readonly largestMemoryBytes: number;
}

export class HttpFuzzer {
  readonly #server: FuzzedServer;
  readonly #module: TestModule;
  readonly #client: TestClient;
  readonly #random: Random;
  readonly #actions = new Map<string, number>();
  readonly #statuses = new Map<string, number>();
  readonly #half = new Set<Socket>();
  #largestMemoryBytes = 0;
  #batches = 0;

  constructor(server: FuzzedServer, module: TestModule, random: Random) {
    this.#server = server;
    this.#module = module;
    this.#client = new TestClient(server.url, module);
    this.#random = random;
  }

  get report(): FuzzReport {
    return {
      actions: Object.fromEntries(this.#actions),
      statuses: Object.fromEntries(this.#statuses),
      largestMemoryBytes: this.#largestMemoryBytes,
    };
  }

  /** Throws with what is wrong. */
  async batch(): Promise<void> {
    this.#batches++;
    const kinds = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];
    const queue = Array.from({ length: ACTIONS_PER_BATCH }, () => this.#random.pick(kinds));
    const replays = this.#replays();
    const workers = Array.from({ length: AT_ONCE }, async () => {
      for (let kind = queue.pop(); kind !== undefined; kind = queue.pop()) {
        this.#actions.set(kind, (this.#actions.get(kind) ?? 0) + 1);
        await ACTIONS[kind](this);
      }
    });
    await Promise.all([replays, ...workers]);
    // Half of the half-sent ones stay open over the next batch.
    for (const socket of [...this.#half].filter(() => this.#random.below(2) === 0)) this.#drop(socket);
    await this.#look();
  }

  close(): void {
    for (const socket of this.#half) this.#drop(socket);
  }

  // ── What must hold ─────────────────────────────────────────────────────────────────────────────────────────────────

  async #look(): Promise<void> {
    if (!this.#server.isAlive()) throw new Error(`the server has ended: ${this.#server.errors()}`);
    if (this.#server.errors() !== "") throw new Error(`the server logged errors: ${this.#server.errors()}`);
    for (const key of KEYS) await this.#write(key);
    await this.#idle();
    const response = await fetch(`${this.#server.url}/metrics`);
    const [, bytes] = /^process_resident_memory_bytes (\S+)$/m.exec(await response.text()) ?? [];
    this.#largestMemoryBytes = Math.max(this.#largestMemoryBytes, Number(bytes ?? 0));
    if (Number(bytes) > MEMORY_LIMIT_BYTES) throw new Error(`the server takes ${bytes} bytes`);
  }

  /** A writer gets the unit: no lock was left. Refusals because much is under way pass. */
  async #write(key: string): Promise<void> {
    for (let poll = 0; poll < MOST_POLLS; poll++) {
      const reply = await this.#client.lvi(this.#client.requestOf("increment", key, null));
      if (reply.kind === "executed") return;
      if (reply.kind === "refused" && reply.retryAfterMs === null) throw new Error(`${key}: ${JSON.stringify(reply)}`);
      await sleep(POLL_MS);
    }
    throw new Error(`nobody can write ${key} any more`);
  }

  async #idle(): Promise<void> {
    let load: unknown;
    for (let poll = 0; poll < MOST_POLLS; poll++) {
      const { executions, pending } = (load = await (await fetch(`${this.#server.url}/healthz`)).json()) as {
        executions: number;
        pending: number;
      };
      if (executions === 0 && pending === 0) return;
      await sleep(POLL_MS);
    }
    throw new Error(`something stays under way: ${JSON.stringify(load)}`);
  }

  /** The very same signed bytes several times, at once and one after the other: each execution happens once. */
  async #replays(): Promise<void> {
    const key = `replayed-${this.#batches}-${randomUUID()}`;
    const executions = 1 + this.#random.below(4);
    for (let i = 0; i < executions; i++) {
      const request = this.#client.requestOf("increment", key, null, { retained: this.#random.below(2) === 0 });
      // One that was heard makes sure that it has happened. Refusals because much is under way pass.
      let first = await this.#client.lvi(request);
      for (let poll = 0; poll < MOST_POLLS && first.kind === "refused" && first.retryAfterMs !== null; poll++) {
        await sleep(POLL_MS);
        first = await this.#client.lvi(request);
      }
      if (first.kind !== "executed") throw new Error(`not executed: ${JSON.stringify(first)}`);
      const body = encodeLviRequest(request);
      const headers = signed("POST", LVI_PATH, body);
      await Promise.all(Array.from({ length: 3 }, () => this.send("POST", LVI_PATH, headers, body)));
    }
    const count = await this.#client.read(key);
    if (count !== executions) throw new Error(`${executions} executions, sent again and again, counted ${count}`);
  }

  // ── Sending ────────────────────────────────────────────────────────────────────────────────────────────────────────

  get random(): Random {
    return this.#random;
  }

  get client(): TestClient {
    return this.#client;
  }

  get module(): TestModule {
    return this.#module;
  }

  key(): string {
    return this.#random.pick(KEYS);
  }

  /** The status; null if the connection ended without one. */
  async send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array | null,
    abortAfterBytes?: number,
  ): Promise<number | null> {
    const { hostname, port } = new URL(this.#server.url);
    const status = await new Promise<number | null>((resolve) => {
      const outgoing = httpRequest({ hostname, port, method, path, headers, timeout: ANSWER_MS }, (incoming) => {
        incoming.resume().on("close", () => resolve(incoming.statusCode ?? null));
      });
      outgoing.on("error", () => resolve(null));
      outgoing.on("timeout", () => outgoing.destroy());
      if (abortAfterBytes === undefined) outgoing.end(body ?? undefined);
      else outgoing.write((body ?? new Uint8Array(1)).subarray(0, abortAfterBytes), () => outgoing.destroy());
    });
    return this.#note(status);
  }

  /** Bytes as they are, then the end; the status of the first answer. */
  async raw(bytes: Uint8Array | string): Promise<number | null> {
    const answer = await new Promise<string>((resolve) => {
      const socket = this.#connect();
      let text = "";
      const end = (): void => {
        socket.destroy();
        resolve(text);
      };
      socket.on("data", (data: Buffer) => (text += data.toString("latin1").slice(0, 1_000)));
      socket.on("close", end).setTimeout(ANSWER_MS, end);
      socket.end(bytes);
    });
    // Not the provisional one.
    const [, status] = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 (\d{3}) /.exec(answer) ?? [];
    return this.#note(status === undefined ? null : Number(status));
  }

  /** Sends a part, and keeps the connection open. */
  async half(bytes: Uint8Array | string): Promise<void> {
    const socket = this.#connect();
    this.#half.add(socket);
    for (const oldest of this.#half) if (this.#half.size > MOST_HALF) this.#drop(oldest);
    socket.resume().on("close", () => this.#half.delete(socket));
    await new Promise<void>((resolve) => {
      socket.on("close", resolve);
      socket.write(bytes, () => resolve());
    });
  }

  #connect(): Socket {
    const { hostname, port } = new URL(this.#server.url);
    // What breaks it is told by `close`.
    return connect(Number(port), hostname).on("error", () => {});
  }

  #drop(socket: Socket): void {
    this.#half.delete(socket);
    socket.destroy();
  }

  #note(status: number | null): number | null {
    const words = String(status ?? "broken off");
    this.#statuses.set(words, (this.#statuses.get(words) ?? 0) + 1);
    if (status !== null && !EXPECTED.has(status)) throw new Error(`answered with ${status}`);
    return status;
  }
}

// ── The actions ──────────────────────────────────────────────────────────────────────────────────────────────────────

function signed(method: string, path: string, body: Uint8Array, timeMs = Date.now()): Record<string, string> {
  return { ...signedHeaders(method, path, body, { timeMs }) };
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

/** Some request, valid as it is. */
function requestBytes(fuzzer: HttpFuzzer): Uint8Array {
  const { client, random } = fuzzer;
  const name = fuzzer.key();
  const units: readonly (readonly AccessedUnit[] | null)[] = [
    null,
    incrementUnits(name, null),
    incrementUnits(name, ABSENT),
    [{ unit: unitId("counters", name), mode: "read", version: ABSENT.version }],
    Array.from({ length: 30 }, (_, index) => ({ unit: unitId("counters", `k${index}`), mode: "write" as const })),
  ];
  const handler = random.pick(["increment", "read", "incrementNearStorage", "incrementUndeclared", "refuse", "trap"]);
  return encodeLviRequest(
    client.requestOf(handler, name, random.pick(units), {
      retained: random.below(2) === 0,
      deadlineMs: random.pick([0, 1, 500, 10_000]),
      attempt: 1 + random.below(3),
    }),
  );
}

/** For an intent that nobody has. */
function followupBytes(fuzzer: HttpFuzzer): Uint8Array {
  const { executionId } = fuzzer.client.requestOf("increment", "", null);
  return encodeFollowup(incrementFollowup(executionId, ABSENT.version.commitId, fuzzer.key(), ABSENT));
}

function textOf(random: Random, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(33 + random.below(94))).join("");
}

function changeOf(fuzzer: HttpFuzzer): Change {
  return changed(fuzzer.random, 1 + fuzzer.random.below(4));
}

const ACTIONS = {
  /** Nothing of it is signed. */
  anything: (fuzzer) => {
    const { random } = fuzzer;
    const path = random.below(3) === 0 ? `/${encodeURI(textOf(random, random.below(60)))}` : random.pick(PATHS);
    const headers: Record<string, string> = {};
    for (let i = random.below(6); i > 0; i--) headers[`x-${random.below(1_000)}`] = textOf(random, random.below(100));
    if (random.below(3) === 0) headers[SIGNATURE_HEADER] = textOf(random, random.below(80));
    if (random.below(3) === 0) headers[TIME_HEADER] = random.pick(["-1", "1e9", "NaN", "", "9".repeat(400)]);
    if (random.below(3) === 0) headers[KEY_HEADER] = random.pick([KEY_ID, "__proto__", "", textOf(random, 300)]);
    return fuzzer.send(
      random.pick(METHODS),
      path,
      headers,
      random.below(2) === 0 ? null : random.bytes(random.below(2_000)),
    );
  },
  "no HTTP": (fuzzer) => {
    const { random } = fuzzer;
    const head = `POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\n`;
    return fuzzer.raw(
      random.pick<() => Uint8Array | string>([
        () => random.bytes(random.below(500)),
        () => `${textOf(random, 30)}\r\n\r\n`,
        () => `${head}content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef`,
        () => `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n`,
        () => `${head}content-length: -1\r\n\r\n`,
        () => `${head}content-length: ${"9".repeat(30)}\r\n\r\n`,
        () => `${head}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n`,
        () => `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`,
        () => `${head}expect: 100-continue\r\ncontent-length: 3\r\n\r\nabc`,
        () => `${head}upgrade: websocket\r\nconnection: upgrade\r\n\r\n`,
        () => `${head}x: ${"y".repeat(40_000)}\r\n\r\n`,
        () => `${head}${"a: b\r\n".repeat(3_000)}\r\n`,
        () => `POST ${LVI_PATH}${"x".repeat(30_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
        () => `GET http://elsewhere/healthz HTTP/1.1\r\nhost: x\r\n\r\n`,
        () => `CONNECT example:80 HTTP/1.1\r\nhost: x\r\n\r\n`,
      ])(),
    );
  },
  "a good signature over a changed message": (fuzzer) => {
    const { random } = fuzzer;
    const change = changeOf(fuzzer);
    switch (random.below(8)) {
      case 0: {
        const path = MODULES_PATH + (random.below(2) === 0 ? fuzzer.module.hash : "0".repeat(64));
        const body = change(fuzzer.module.bytes);
        return fuzzer.send("PUT", path, signed("PUT", path, body), body);
      }
      case 1:
      case 2: {
        const body = change(followupBytes(fuzzer));
        return fuzzer.send("POST", FOLLOWUP_PATH, signed("POST", FOLLOWUP_PATH, body), body);
      }
      default: {
        const body = change(requestBytes(fuzzer));
        return fuzzer.send("POST", LVI_PATH, signed("POST", LVI_PATH, body), body);
      }
    }
  },
  "an intent, and a changed followup": async (fuzzer) => {
    const { client, random } = fuzzer;
    // A fresh one is absent, as is declared.
    const name = randomUUID();
    const request = client.requestOf("increment", name, incrementUnits(name, ABSENT));
    const reply = await client.lvi(request);
    if (reply.kind !== "valid" || reply.commitId === null) return null;
    // Also none at all: the intent is left to its timer.
    for (let i = random.below(3); i > 0; i--) {
      const body = changeOf(fuzzer)(
        encodeFollowup(incrementFollowup(request.executionId, reply.commitId, name, ABSENT)),
      );
      await fuzzer.send("POST", FOLLOWUP_PATH, signed("POST", FOLLOWUP_PATH, body), body);
    }
    return null;
  },
  "a signature that is wrong": async (fuzzer) => {
    const { random } = fuzzer;
    const body = requestBytes(fuzzer);
    const headers = signed("POST", LVI_PATH, body);
    const mac = headers[SIGNATURE_HEADER]!;
    const late = Date.now() + random.pick([-1, 1]) * (REPLAY_WINDOW_MS + 10_000);
    const wrong = random.pick<() => Readonly<Record<string, string>>>([
      () => ({ ...headers, [SIGNATURE_HEADER]: mac.slice(0, random.below(mac.length)) }),
      () => ({ ...headers, [SIGNATURE_HEADER]: mac.slice(0, -1) + (mac.endsWith("0") ? "1" : "0") }),
      () => ({ ...headers, [SIGNATURE_HEADER]: `${mac}00` }),
      () => ({ ...headers, [KEY_HEADER]: "other" }),
      () => ({ ...headers, [TIME_HEADER]: String(Number(headers[TIME_HEADER]) + 1) }),
      () => signed("POST", FOLLOWUP_PATH, body),
      () => signed("PUT", LVI_PATH, body),
      () => signed("POST", LVI_PATH, body, late),
      () => signed("POST", LVI_PATH, Uint8Array.of(...body, 0)),
      () => ({}),
    ])();
    const status = await fuzzer.send("POST", LVI_PATH, wrong, body);
    if (status !== 401) throw new Error(`a wrong signature was answered with ${status}: ${JSON.stringify(wrong)}`);
    return status;
  },
  "too large": (fuzzer) => {
    const { random } = fuzzer;
    const length = 16 * 1024 * 1024 + 1 + random.below(1_000);
    const head = `POST ${random.pick([LVI_PATH, FOLLOWUP_PATH])} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`;
    if (random.below(8) > 0) return fuzzer.raw(`${head}content-length: ${length}\r\n\r\nabc`);
    return fuzzer.raw(
      Buffer.concat([
        Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n${length.toString(16)}\r\n`),
        Buffer.alloc(length),
        Buffer.from("\r\n0\r\n\r\n"),
      ]),
    );
  },
  "half of it, and silence": async (fuzzer) => {
    const { random } = fuzzer;
    const body = requestBytes(fuzzer);
    const headers = linesOf(signed("POST", LVI_PATH, body));
    const length = random.below(4) === 0 ? 15 * 1024 * 1024 : body.length;
    const all = Buffer.concat([
      Buffer.from(`POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${length}\r\n\r\n`),
      body,
    ]);
    await fuzzer.half(all.subarray(0, random.below(all.length)));
    return null;
  },
  "a large half, and silence": async (fuzzer) => {
    const length = 15 * 1024 * 1024;
    // As if it were signed, as far as that can be seen without all of the body; or not.
    const headers = fuzzer.random.below(4) === 0 ? "" : linesOf(signed("POST", LVI_PATH, new Uint8Array()));
    const head = Buffer.from(`POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${length}\r\n\r\n`);
    await fuzzer.half(Buffer.concat([head, Buffer.alloc(length - 1)]));
    return null;
  },
  "sent, and gone before the answer": (fuzzer) => {
    const body = requestBytes(fuzzer);
    const headers = { ...signed("POST", LVI_PATH, body), "content-length": String(body.length) };
    const bytes = fuzzer.random.below(2) === 0 ? body.length : fuzzer.random.below(body.length);
    return fuzzer.send("POST", LVI_PATH, headers, body, bytes);
  },
} satisfies Readonly<Record<string, (fuzzer: HttpFuzzer) => Promise<unknown>>>;
