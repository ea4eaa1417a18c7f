/**
 * Write intents: the durable promise that an execution's writes will be applied, with all that is needed to
 * re-execute it (paper, sections 3.2 and 3.4).
 *
 * Departure from the paper, which stores a status bit, and in its replicated server every lock beside it: one intent
 * names every locked unit with its mode, so that it is the durable record of the locks, and one storage write makes
 * it whatever their number.
 */
import {
  type CommitId,
  type ContentHash,
  contentHash,
  encodeOutcome,
  type Environment,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  type UnitId,
  type Version,
  type Write,
} from "@radical/protocol";

/** What is run: the same at a location, near storage and in a re-execution. */
export interface Invocation {
  readonly module: ModuleHash;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly environment: Environment;
}

/** A unit that the intent holds: shared if it is only read, else exclusive. */
export interface IntentUnit {
  readonly unit: UnitId;
  readonly mode: "read" | "write" | "read-write";
  /** As validated; null for a blind write. */
  readonly version: Version | null;
}

export interface Intent extends Invocation {
  readonly executionId: ExecutionId;
  /** Names the writes in every cache that takes them. */
  readonly commitId: CommitId;
  readonly location: string;
  /** Sorted by unit. */
  readonly units: readonly IntentUnit[];
  readonly createdAtMs: number;
}

/** How an execution ended: stored with its intent, for retries and late followups. */
export interface Completion extends Invocation {
  readonly executionId: ExecutionId;
  /** Of the writes; differs from the pending intent's if the execution had to be run with other locks. */
  readonly commitId: CommitId;
  readonly location: string;
  readonly outcome: Outcome;
  /** Sorted by unit. */
  readonly writes: readonly Write[];
  readonly writesHash: ContentHash;
  readonly doneAtMs: number;
}

/** What is known of a done execution: the values are in the items, and it never runs again. */
export interface DoneIntent extends Omit<Completion, "writes" | "environment"> {
  readonly caller: string | null;
}

export function doneIntentOf(completion: Completion): DoneIntent {
  const { writes: _, environment, ...done } = completion;
  return { ...done, caller: environment.caller };
}

export type IntentRecord =
  | { readonly state: "pending"; readonly intent: Intent }
  | { readonly state: "done"; readonly done: DoneIntent };

/** Equal for two runs if and only if (but for hash collisions) they had the same outcome and the same writes. */
export function completionHash(outcome: Outcome, writes: readonly Write[]): ContentHash {
  const parts = [contentHash(encodeOutcome(outcome)) as string];
  for (const { unit, value } of writes) parts.push(unit, value === null ? "" : contentHash(value));
  const text = parts.join("\n");
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    bytes[2 * i] = code & 0xff;
    bytes[2 * i + 1] = code >> 8;
  }
  return contentHash(bytes);
}

/** The units whose values it was validated on. */
export function readsOf(intent: Intent): readonly UnitId[] {
  return intent.units.filter(({ mode }) => mode !== "write").map(({ unit }) => unit);
}
