/** A deployment on this machine for tests of sealing, and records with words that can be searched for. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { commitId, type ExecutionId, type ModuleHash, type Outcome } from "@radical/protocol";
import type { Completion, Intent } from "../../core/intent.ts";
import { nextEpoch } from "../../core/leadership.ts";
import { placeOf, type Task } from "../../core/task.ts";
import { type WorkflowPart } from "../../core/workflow.ts";
import { createLog } from "../../log.ts";
import { SqliteStorage } from "../sqlite-storage.ts";
import { type Storage } from "../storage.ts";
import { FileSealingKeys } from "./file-sealing-keys.ts";
import { SealedStorage } from "./sealed-storage.ts";

export const DAY_MS = 86_400_000;
export const START_MS = Date.UTC(2026, 10, 1);
const MODULE = "a".repeat(64) as ModuleHash;

interface Served {
  readonly storage: SealedStorage;
  readonly epoch: number;
  /** With what is sealed. */
  readonly inner: SqliteStorage;
}

/** A deployment on this machine: its file, its keys, and its time. */
export class Place {
  readonly folder: string;
  nowMs = START_MS;
  logged: string[] = [];
  readonly #open: SealedStorage[] = [];

  constructor(folder: string) {
    this.folder = folder;
  }

  get keys(): string {
    return path.join(this.folder, "data.sqlite.keys");
  }

  /** In the order in which they were made. */
  get keyIds(): readonly string[] {
    return readdirSync(this.keys)
      .map((name) => name.replace(/\.key$/, ""))
      .toSorted();
  }

  /** A server that leads, on the file or on a copy of it. */
  async serve({ file = "data.sqlite", givesUp = false } = {}): Promise<Served> {
    const inner = new SqliteStorage(path.join(this.folder, file));
    const storage = new SealedStorage(inner, {
      keys: new FileSealingKeys(this.keys),
      retentionMs: DAY_MS,
      givesUp,
      log: createLog("info", (line) => this.logged.push(line)),
      nowMs: () => this.nowMs,
    });
    this.#open.push(storage);
    const epoch = await lead(storage);
    await storage.begin();
    return { storage, epoch, inner };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((storage) => storage.close()));
  }

  /** Which of the words the files have in clear, keys left out. */
  found(words: readonly string[]): readonly string[] {
    const files = readdirSync(this.folder).filter((name) => statSync(path.join(this.folder, name)).isFile());
    const bytes = files.map((name) => readFileSync(path.join(this.folder, name)));
    return words.filter((word) => bytes.some((each) => each.includes(word)));
  }
}

/** Leads as a server does: its epoch is a time. */
export async function lead(storage: Storage): Promise<number> {
  const seen = await storage.readLeadership();
  return (await storage.acquireLeadership(seen, 0, 0, undefined, nextEpoch(seen.epoch, START_MS)))!.epoch;
}

export async function inPlace(run: (place: Place) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "radical-sealed-"));
  const place = new Place(folder);
  try {
    await run(place);
  } finally {
    await place.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

export const idOf = (number: number): ExecutionId => number.toString(16).padStart(32, "0") as ExecutionId;
export const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const seedOf = (number: number): Uint8Array => bytesOf(`seed-of-${number}-----`);

export const intentOf = (number: number): Intent => ({
  executionId: idOf(number),
  commitId: commitId(1, number),
  module: MODULE,
  handler: "login",
  args: bytesOf(`password-of-${number}`),
  environment: { timeMs: 1, seed: seedOf(number), caller: `caller-of-${number}` },
  location: "here",
  units: [],
  lanes: [],
  retained: true,
  mustNotWrite: false,
  createdAtMs: 1,
});

export const taskOf = (number: number, more: Partial<Task> = {}): Task => ({
  id: idOf(1_000 + number),
  handler: "mail",
  args: bytesOf(`password-of-task-${number}`),
  seed: seedOf(number),
  caller: `caller-of-task-${number}`,
  parent: idOf(number),
  module: MODULE,
  lane: null,
  place: placeOf(commitId(1, number), 0),
  createdAtMs: 1,
  dueMs: 30 * DAY_MS,
  attempt: 0,
  failures: 0,
  sentAtMs: null,
  state: "open",
  error: null,
  ...more,
});

export const completionOf = (number: number, more: Partial<Completion> = {}): Completion => {
  const { executionId, module, handler, args, environment, location } = intentOf(number);
  const outcome: Outcome = { kind: "result", value: bytesOf(`token-of-${number}`) };
  const call = { key: "k", hash: "f".repeat(64) };
  return {
    executionId,
    module,
    handler,
    args,
    environment,
    location,
    commitId: commitId(1, number),
    outcome,
    writes: [],
    resultHash: "e".repeat(64),
    doneAtMs: 5,
    call,
    keeps: "retained",
    ...more,
  };
};

export const partOf = (number: number): WorkflowPart => ({
  id: idOf(2_000 + number),
  workflow: idOf(3_000),
  place: "signal 1",
  content: bytesOf(`signal-of-${number}`),
});
