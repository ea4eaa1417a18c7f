/** The wire as locations and administration have it, for tests: signs, sends, decodes. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import {
  type AccessedUnit,
  ADMINISTRATIVE_PATHS,
  administrativeText,
  BODY_HASH_HEADER,
  type CommitId,
  decodeFollowupReply,
  decodeLviReply,
  DEPLOYMENT_HEADER,
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
  NONCE_HEADER,
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

/** Of administration. */
export const ADMIN_ID = "test-admin";
const { privateKey: ADMIN_KEY } = generateKeyPairSync("ed25519");
const OTHER_ADMIN_KEY = generateKeyPairSync("ed25519").privateKey;

/** As a server takes it: `<id>:ed25519:<hex>`. */
function publicText(): string {
  const { x = "" } = createPublicKey(ADMIN_KEY).export({ format: "jwk" });
  return `${ADMIN_ID}:ed25519:${Buffer.from(x, "base64url").toString("hex")}`;
}

export const ADMIN_TEXT = publicText();
/** As an operator has it. */
export const ADMIN_PRIVATE_HALF = Buffer.from(ADMIN_KEY.export({ format: "jwk" }).d ?? "", "base64url").toString("hex");
export const KEYS_VARIABLE = `${KEY_ID}:${SECRET.toString("hex")},${ADMIN_TEXT}`;

export const ABSENT: Entry = entryOf(NO_COMMIT, null);

/** What to break in a signed request. */
export interface Signing {
  /** In whose name it is signed; left out: as the path wants it. */
  readonly as?: "location" | "administration";
  readonly keyId?: string;
  /** Of a location. */
  readonly secret?: Uint8Array;
  /** With another administration key than the server knows under the name. */
  readonly isForged?: boolean;
  /** With this private half, as 64 hexadecimal digits. */
  readonly privateHalf?: string;
  readonly timeMs?: number;
  /** The path that is signed, if not the one that is sent to. */
  readonly path?: string;
  /** Of administration; left out: a fresh one, and no deployment. */
  readonly nonce?: string;
  readonly deployment?: string;
  /** The body that is signed. */
  readonly body?: Uint8Array;
}

/** Whether the server wants the path signed by administration. */
function isAdministrative(path: string): boolean {
  const [place = ""] = path.split("?");
  return (ADMINISTRATIVE_PATHS as readonly string[]).includes(place) || place.startsWith(MODULES_PATH);
}

/** The headers of a signed request. */
export function signedHeaders(
  method: string,
  path: string,
  body: Uint8Array,
  signing: Signing = {},
): Readonly<Record<string, string>> {
  const { as = isAdministrative(path) ? "administration" : "location", timeMs = Date.now() } = signing;
  const signed = { path: signing.path ?? path, body: signing.body ?? body };
  if (as === "location") {
    const mac = createHmac("sha256", signing.secret ?? SECRET).update(
      signedBytes(method, signed.path, timeMs, signed.body),
    );
    return {
      [KEY_HEADER]: signing.keyId ?? KEY_ID,
      [TIME_HEADER]: String(timeMs),
      [SIGNATURE_HEADER]: mac.digest("hex"),
    };
  }
  const { nonce = randomBytes(16).toString("hex"), deployment = "" } = signing;
  const bodyHash = createHash("sha256").update(signed.body).digest("hex");
  const text = administrativeText({ deployment, node: "", method, path: signed.path, timeMs, nonce, bodyHash });
  const key = keyOf(signing);
  return {
    [KEY_HEADER]: signing.keyId ?? ADMIN_ID,
    [TIME_HEADER]: String(timeMs),
    [NONCE_HEADER]: nonce,
    [BODY_HASH_HEADER]: bodyHash,
    [SIGNATURE_HEADER]: sign(null, Buffer.from(text), key).toString("hex"),
    ...(deployment === "" ? {} : { [DEPLOYMENT_HEADER]: deployment }),
  };
}

function keyOf({ isForged = false, privateHalf }: Signing): KeyObject {
  if (privateHalf === undefined) return isForged ? OTHER_ADMIN_KEY : ADMIN_KEY;
  const der = Buffer.from(`302e020100300506032b657004220420${privateHalf}`, "hex");
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

export class TestClient {
  readonly #url: string;
  readonly #module: TestModule;
  #seen: CommitId | null = null;
  /** With which key it signs as a location, and what else. */
  signing: Signing = {};
  /** As administration. */
  administration: Signing = {};

  constructor(url: string, module: TestModule) {
    this.#url = url;
    this.#module = module;
  }

  send(
    method: string,
    path: string,
    body: Uint8Array,
    signing = isAdministrative(path) ? this.administration : this.signing,
  ): Promise<Response> {
    return fetch(this.#url + path, {
      method,
      headers: { "content-type": "application/cbor", ...signedHeaders(method, path, body, signing) },
      ...(method === "GET" ? {} : { body: Buffer.from(body) }),
    });
  }

  /** A question in JSON. */
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

export function questionOf(question: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(question));
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
