/** A location's side of the wire, for tests: signs, sends, decodes. */
import { createHmac, randomBytes } from "node:crypto";
import {
  type AccessedUnit,
  type AskedOnce,
  type CommitId,
  decodeFollowupReply,
  decodeLviReply,
  encodeFollowup,
  encodeLviRequest,
  encodeWorkflowQuestion,
  type Entry,
  entryOf,
  type ExecutionId,
  type Followup,
  FOLLOWUP_PATH,
  type FollowupResult,
  KEY_HEADER,
  LVI_PATH,
  type LviReply,
  type LviRequest,
  MODULES_PATH,
  NO_COMMIT,
  SIGNATURE_HEADER,
  signedBytes,
  TIME_HEADER,
  unitId,
  WORKFLOW_PATH,
  type WorkflowQuestion,
} from "@radical/protocol";
import type { TestModule } from "./test-module.ts";

export const KEY_ID = "test";
export const SECRET = Buffer.from("00112233445566778899aabbccddeeff", "hex");
export const KEYS_VARIABLE = `${KEY_ID}:${SECRET.toString("hex")}`;

export const ABSENT: Entry = entryOf(NO_COMMIT, null);

/** What to break in a signed request. */
export interface Signing {
  readonly keyId?: string;
  readonly secret?: Uint8Array;
  readonly timeMs?: number;
  /** The path that is signed, if not the one that is sent to. */
  readonly path?: string;
}

export class TestClient {
  readonly #url: string;
  readonly #module: TestModule;
  #seen: CommitId | null = null;
  /** With which key it signs, and what else. */
  signing: Signing = {};

  constructor(url: string, module: TestModule) {
    this.#url = url;
    this.#module = module;
  }

  send(method: string, path: string, body: Uint8Array, signing = this.signing): Promise<Response> {
    const timeMs = signing.timeMs ?? Date.now();
    const mac = createHmac("sha256", signing.secret ?? SECRET).update(
      signedBytes(method, signing.path ?? path, timeMs, body),
    );
    return fetch(this.#url + path, {
      method,
      headers: {
        "content-type": "application/cbor",
        [KEY_HEADER]: signing.keyId ?? KEY_ID,
        [TIME_HEADER]: String(timeMs),
        [SIGNATURE_HEADER]: mac.digest("hex"),
      },
      ...(method === "GET" ? {} : { body: Buffer.from(body) }),
    });
  }

  /** A question of an operator's command. The server answers it once. */
  question(path: string, question: object, signing?: Signing): Promise<Response> {
    return this.send("POST", path, questionOf(question), signing);
  }

  async register(): Promise<void> {
    const response = await this.send("PUT", MODULES_PATH + this.#module.hash, this.#module.bytes);
    if (response.status !== 204) throw new Error(await response.text());
  }

  /** A request for a handler of the test module. */
  requestOf(
    handler: string,
    argument: string,
    units: readonly AccessedUnit[] | null,
    more: Partial<LviRequest> = {},
  ): LviRequest {
    return {
      executionId: newExecutionId(),
      module: this.#module.hash,
      handler,
      args: new TextEncoder().encode(argument),
      environment: { timeMs: Date.now(), seed: randomBytes(16), caller: null },
      location: "test",
      units,
      retained: false,
      mustNotWrite: false,
      mayEffect: false,
      lanes: [],
      session: null,
      deadlineMs: 60_000,
      attempt: 1,
      seen: this.#seen,
      ...more,
    };
  }

  async lvi(request: LviRequest): Promise<LviReply> {
    const response = await this.send("POST", LVI_PATH, encodeLviRequest(request));
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    const reply = decodeLviReply(new Uint8Array(await response.arrayBuffer()));
    this.#seen = reply.asOf;
    if (reply.kind !== "refused" || reply.code !== "in_doubt" || request.seen === reply.asOf) return reply;
    return this.lvi({ ...request, attempt: request.attempt + 1, seen: reply.asOf });
  }

  /** Asks for a workflow, or for its end. */
  async workflow(question: Omit<WorkflowQuestion, "caller" | "seen">): Promise<LviReply> {
    const body = encodeWorkflowQuestion({ ...question, caller: null, seen: this.#seen });
    const response = await this.send("POST", WORKFLOW_PATH, body);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return decodeLviReply(new Uint8Array(await response.arrayBuffer()));
  }

  async followup(followup: Followup): Promise<FollowupResult> {
    const response = await this.send("POST", FOLLOWUP_PATH, encodeFollowup(followup));
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return decodeFollowupReply(new Uint8Array(await response.arrayBuffer()));
  }

  /** The counter as primary storage has it. What may be asked again is: a machine that stops for a moment makes callers wait too long. */
  async read(key: string): Promise<number> {
    let reply = await this.lvi(this.requestOf("read", key, null));
    for (let asked = 1; asked < 10 && reply.kind === "refused" && reply.retryAfterMs !== null; asked++)
      reply = await this.lvi(this.requestOf("read", key, null));
    if (reply.kind !== "executed" || reply.outcome.kind !== "result")
      throw new Error(`not read: ${JSON.stringify(reply)}`);
    return reply.outcome.value[0]!;
  }
}

/** The bytes of a question, with a nonce of its own. */
export function questionOf(question: object): Uint8Array {
  const once: AskedOnce = { nonce: randomBytes(16).toString("hex") };
  return new TextEncoder().encode(JSON.stringify({ ...question, ...once }));
}

function newExecutionId(): ExecutionId {
  return randomBytes(16).toString("hex") as ExecutionId;
}

/** The set of `increment` on a counter whose entry the location holds. */
export function incrementUnits(key: string, entry: Entry | null): readonly AccessedUnit[] {
  return [{ unit: unitId("counters", key), mode: "read-write", version: entry === null ? null : entry.version }];
}

/** What the location's own run of `increment` gave. */
export function incrementFollowup(executionId: ExecutionId, commit: CommitId, key: string, entry: Entry): Followup {
  const value = Uint8Array.of((entry.value?.[0] ?? 0) + 1);
  return {
    executionId,
    commitId: commit,
    outcome: { kind: "result", value },
    writes: [{ unit: unitId("counters", key), value }],
    effects: [],
  };
}
