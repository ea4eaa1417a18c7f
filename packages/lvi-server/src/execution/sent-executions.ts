/**
 * What one worker thread was sent of executions that may come again: near storage a handler runs in rounds, each with a few
 * more values than the one before, and what a thread has is not sent again. Bounded; what was sent longest ago goes first.
 */
import { type Entry, sameVersion, type UnitId, type Version } from "@radical/protocol";
import type { Run } from "../core/run.ts";
import type { Invocation } from "../core/intent.ts";

/** The part of a run that its thread lacks. */
export interface Sending {
  readonly execution: number;
  /** Null: the thread has it. */
  readonly invocation: Invocation | null;
  /** Those that the thread lacks. */
  readonly values: ReadonlyMap<UnitId, Entry>;
  /** Executions that the thread is to keep no longer. */
  readonly dropped: readonly number[];
}

interface Sent {
  readonly execution: number;
  readonly versions: Map<UnitId, Version>;
  bytes: number;
}

const MAX_EXECUTIONS = 8;

export class SentExecutions {
  /** An execution is known by its invocation, which is the same object in all of its rounds. */
  readonly #sent = new Map<Invocation, Sent>();
  readonly #mostBytes: number;
  #executions = 0;
  #bytes = 0;

  /** `mostBytes`: of the values; the execution that the thread runs may have more. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  has({ invocation }: Run): boolean {
    return this.#sent.has(invocation);
  }

  send({ invocation, snapshot }: Run): Sending {
    const dropped: number[] = [];
    let sent = this.#take(invocation);
    const isMore = sent !== null && Array.from(sent.versions.keys()).every((unit) => snapshot.has(unit));
    if (sent !== null && !isMore) dropped.push(sent.execution);
    if (sent === null || !isMore)
      sent = { execution: ++this.#executions, versions: new Map(), bytes: invocation.args.length };
    const values = new Map<UnitId, Entry>();
    for (const [unit, entry] of snapshot) {
      const known = sent.versions.get(unit);
      if (known !== undefined && sameVersion(unit, known, entry.version)) continue;
      values.set(unit, entry);
      sent.versions.set(unit, entry.version);
      sent.bytes += unit.length + (entry.value?.length ?? 0);
    }
    this.#sent.set(invocation, sent);
    this.#bytes += sent.bytes;
    for (const [other] of this.#sent) {
      if (other === invocation || (this.#bytes <= this.#mostBytes && this.#sent.size <= MAX_EXECUTIONS)) break;
      dropped.push(this.#take(other)!.execution);
    }
    return { execution: sent.execution, invocation: isMore ? null : invocation, values, dropped };
  }

  #take(invocation: Invocation): Sent | null {
    const sent = this.#sent.get(invocation);
    if (sent === undefined) return null;
    this.#sent.delete(invocation);
    this.#bytes -= sent.bytes;
    return sent;
  }
}
