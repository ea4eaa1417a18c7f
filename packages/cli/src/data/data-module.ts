/**
 * A module of no application, by which a command works on items. Each of its executions has locks, a commit id and an outcome
 * as any other has, and caches find out about it. An execution keeps its id over all attempts, so it happens once.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  DATA_PATH,
  decodeLviReply,
  DEFAULT_LIMITS,
  encodeLviRequest,
  type ExecutionId,
  handlersWith,
  type LviReply,
  type LviRequest,
  type ModuleContent,
  type ModuleHash,
  type Outcome,
  SEED_BYTES,
} from "@radical/protocol";
import { abiOf, moduleHash } from "@radical/wasm-host";
import { CommandError, messageOf } from "@radical/app/command-error";
import { putModule } from "@radical/local";
import { signedRequest } from "@radical/admin";
import type { DataServer } from "./data-server.ts";

/** Most items of one execution, so that it is one transaction of every storage. */
export const MAX_BATCH = 90;
/** Most bytes of values of one execution, unless a single item has more. */
export const MAX_BATCH_BYTES = 1024 * 1024;

const ATTEMPT_MS = 15_000;
const MAX_ATTEMPTS = 20;
const PAUSE_MS = 250;

/** Valid WebAssembly without functions: the handlers have no read/write-set functions. */
const EMPTY_WASM = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/** An execution that the server did not carry out, since it met a limit. Another one with less to do may end. */
export interface ExceededLimit {
  readonly kind: "limit";
  readonly message: string;
}

export interface DataModuleOptions {
  readonly server: DataServer;
  readonly program: Uint8Array;
  /** The names of its handlers, which all run near storage. */
  readonly handlers: readonly string[];
  /** Tells how much is done, for the words of an error. */
  readonly state: () => string;
}

export class DataModule {
  readonly #server: DataServer;
  readonly #module: ModuleHash;
  readonly #state: () => string;

  private constructor({ server, state }: DataModuleOptions, module: ModuleHash) {
    this.#server = server;
    this.#module = module;
    this.#state = state;
  }

  /** Registers the module. Throws a CommandError if the server refuses it. */
  static async register(options: DataModuleOptions): Promise<DataModule> {
    const { server, program, handlers } = options;
    const content: ModuleContent = {
      abi: abiOf([program]),
      limits: DEFAULT_LIMITS,
      handlers: handlersWith(Object.fromEntries(handlers.map((name) => [name, "near-storage"]))),
      wasm: program,
      rwWasm: EMPTY_WASM,
    };
    const module = moduleHash(content);
    await putModule(server.url, server.key, module, content, { isAside: true, deployment: server.deployment });
    return new DataModule(options, module);
  }

  /** Throws a CommandError if the server refuses the execution, or does not answer. */
  async execute(handler: string, args: Uint8Array): Promise<Outcome | ExceededLimit> {
    const first: LviRequest = {
      executionId: randomBytes(16).toString("hex") as ExecutionId,
      module: this.#module,
      handler,
      args,
      environment: { timeMs: Date.now(), seed: randomBytes(SEED_BYTES), caller: null },
      location: "data",
      units: null,
      retained: false,
      deadlineMs: ATTEMPT_MS,
      attempt: 1,
      seen: null,
      mustNotWrite: false,
      mayEffect: false,
      lanes: [],
      session: null,
    };
    let reason = "";
    let { seen } = first;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const answer = await this.#ask({ ...first, attempt, seen });
      if (typeof answer === "string") {
        reason = answer;
        await sleep(PAUSE_MS);
        continue;
      }
      seen = answer.asOf ?? seen;
      if (answer.kind === "executed") return answer.outcome;
      if (answer.kind === "refused") {
        reason = answer.message;
        // The server asks for another attempt, at once, from whoever has not heard of it.
        if (answer.retryAfterMs === 0) continue;
        if (answer.code === "execution_failed" || answer.code === "too_many_units")
          return { kind: "limit", message: reason };
        // All others say that it can't be.
        if (answer.retryAfterMs === null && answer.code !== "pending")
          throw this.failed(reason, "Nothing of this batch was written. Run the same command again.");
      } else throw new Error("the LVI server validated a set that was not sent");
      await sleep(PAUSE_MS);
    }
    throw this.failed(
      `The LVI server does not answer: ${reason}`,
      "Run the same command again: it writes the same items.",
    );
  }

  /** The error that ends the command. */
  failed(words: string, hint: string): CommandError {
    return new CommandError("not_written", `${words.replace(/\.$/, "")}; ${this.#state()}`, hint);
  }

  /** The reply; or why there is none. */
  async #ask(request: LviRequest): Promise<LviReply | string> {
    const { url, key, deployment } = this.#server;
    let response: Response;
    try {
      const body = encodeLviRequest(request);
      response = await signedRequest(url, key, "POST", DATA_PATH, body, AbortSignal.timeout(ATTEMPT_MS), {
        deployment,
      });
      if (response.ok) return decodeLviReply(new Uint8Array(await response.arrayBuffer()));
    } catch (error) {
      return messageOf(error);
    }
    const text = await response.text();
    if (response.status >= 500) return text;
    throw new CommandError(
      "not_written",
      `The LVI server refused the request: ${text}`,
      "Check --server or --env, and the administration key.",
    );
  }
}

/** Items in their order, in parts for one execution each. */
export function* batchesOf<T>(all: readonly T[], bytesOf: (item: T) => number): Iterable<readonly T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of all) {
    const size = bytesOf(item);
    if (batch.length === MAX_BATCH || (batch.length > 0 && bytes + size > MAX_BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
