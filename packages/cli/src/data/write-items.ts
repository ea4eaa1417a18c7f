/**
 * Writes items as executions of the data module, a batch each: the LVI server locks what is written, gives it a commit id and
 * stores it in one transaction, and caches find out when they are next validated. An execution keeps its id over all
 * attempts, so it happens once.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CborReader,
  CborWriter,
  decodeLviReply,
  DEFAULT_LIMITS,
  encodeLviRequest,
  type ExecutionId,
  LVI_PATH,
  type LviReply,
  type LviRequest,
  handlersWith,
  type ModuleContent,
  SEED_BYTES,
} from "@radical/protocol";
import { abiOf, moduleHash } from "@radical/wasm-host";
import { CommandError, messageOf } from "../command-error.ts";
import { putModule } from "../local/register-module.ts";
import { signedRequest } from "../local/signed-request.ts";
import type { DataServer } from "./data-server.ts";

export interface ItemWrite {
  readonly table: string;
  readonly key: string;
  /** Null deletes the item. */
  readonly value: Uint8Array | null;
}

/** Of one execution: within one transaction of every storage. */
const MAX_BATCH = 90;
const MAX_BATCH_BYTES = 1024 * 1024;

const ATTEMPT_MS = 15_000;
const MAX_ATTEMPTS = 20;
const PAUSE_MS = 250;

/** Valid WebAssembly without functions: the data module's handler has no read/write-set function. */
const EMPTY_WASM = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/**
 * Resolves when all are stored, with how many those are: what is not there is not deleted. Throws a CommandError that
 * says how many were, if not all: each batch is, or is not.
 * `program`: that of the data module.
 */
export async function writeItems(
  server: DataServer,
  program: Uint8Array,
  writes: readonly ItemWrite[],
): Promise<number> {
  const content: ModuleContent = {
    abi: abiOf(program),
    limits: DEFAULT_LIMITS,
    handlers: handlersWith({ write: "near-storage" }),
    wasm: program,
    rwWasm: EMPTY_WASM,
  };
  const module = moduleHash(content);
  await putModule(server.url, server.key, module, content);
  let done = 0;
  for (const batch of batchesOf(writes)) {
    const args = new CborWriter().array(batch.length);
    for (const { table, key, value } of batch) {
      args.array(3).text(table).text(key);
      if (value === null) args.null();
      else args.bytes(value);
    }
    done += await execute(server, done, {
      executionId: randomBytes(16).toString("hex") as ExecutionId,
      module,
      handler: "write",
      args: args.finish(),
      environment: { timeMs: Date.now(), seed: randomBytes(SEED_BYTES), caller: null },
      location: "data",
      units: null,
      retained: false,
      deadlineMs: ATTEMPT_MS,
      attempt: 1,
      seen: null,
      mustNotWrite: false,
      session: null,
    });
  }
  return done;
}

/** How many items it wrote or deleted. */
async function execute(server: DataServer, written: number, first: LviRequest): Promise<number> {
  const failed = (words: string, hint: string): CommandError =>
    new CommandError("not_written", `${words}; ${written} items were written before`, hint);
  let reason = "";
  let { seen } = first;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const answer = await ask(server, { ...first, attempt, seen });
    if (typeof answer === "string") {
      reason = answer;
      await sleep(PAUSE_MS);
      continue;
    }
    seen = answer.asOf ?? seen;
    if (answer.kind === "executed") {
      const { outcome } = answer;
      if (outcome.kind === "result") return new CborReader(outcome.value).integerIn(0, MAX_BATCH);
      throw failed(`the LVI server could not write: ${outcome.message}`, "nothing of this batch was written");
    } else if (answer.kind === "refused") {
      reason = answer.message;
      // The server asks for another attempt, at once, from whoever has not heard of it.
      if (answer.retryAfterMs === 0) continue;
      // All others say that it can't be.
      if (answer.retryAfterMs === null && answer.code !== "pending")
        throw failed(reason, "nothing of this batch was written");
    } else throw new Error("the LVI server validated a set that was not sent");
    await sleep(PAUSE_MS);
  }
  throw failed(`the LVI server does not answer: ${reason}`, "the same command again is safe: it writes the same");
}

/** The reply; or why there is none. */
async function ask(server: DataServer, request: LviRequest): Promise<LviReply | string> {
  let response: Response;
  try {
    const body = encodeLviRequest(request);
    response = await signedRequest(server.url, server.key, "POST", LVI_PATH, body, AbortSignal.timeout(ATTEMPT_MS));
    if (response.ok) return decodeLviReply(new Uint8Array(await response.arrayBuffer()));
  } catch (error) {
    return messageOf(error);
  }
  const text = await response.text();
  if (response.status >= 500) return text;
  throw new CommandError("not_written", `the LVI server refused the request: ${text}`, "see --server and RADICAL_KEYS");
}

function* batchesOf(writes: readonly ItemWrite[]): Iterable<readonly ItemWrite[]> {
  let batch: ItemWrite[] = [];
  let bytes = 0;
  for (const write of writes) {
    const size = write.value?.length ?? 0;
    if (batch.length === MAX_BATCH || (batch.length > 0 && bytes + size > MAX_BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(write);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
