/** The notes of a location on one execution, for its life. An execution whose life is not told has no notes. */
import {
  type AccessedUnit,
  type CommitId,
  type ExecutionId,
  type Life,
  type LifeSpan,
  type LifeUnit,
  type LviReply,
  type LviRequest,
  MAX_SPANS,
  MAX_UNITS,
  microseconds,
} from "@radical/protocol";
import type { Answer } from "./core/effects.ts";
import type { Phase } from "./timings.ts";

const SPANS = { rw: "set", cache: "fetch", lvi: "send", f: "run" } as const satisfies Record<Phase, LifeSpan[0]>;

/** The facts of the execution besides the notes. */
export interface LifeHead {
  readonly execution: ExecutionId;
  readonly trace: string | null;
  readonly place: string;
  readonly handler: string;
  readonly module: string;
  readonly tookMs: number;
  readonly code: string | null;
  readonly fuel: number | null;
}

export class LifeNotes {
  readonly #atMs = Date.now();
  readonly #spans: LifeSpan[] = [];
  #attempt = 0;
  #units: readonly AccessedUnit[] = [];
  #commit: CommitId | null = null;

  spent(phase: Phase, startMs: number, tookMs: number): void {
    if (this.#spans.length < MAX_SPANS) this.#spans.push([SPANS[phase], microseconds(startMs), microseconds(tookMs)]);
  }

  sent({ attempt, units }: LviRequest): void {
    this.#attempt = attempt;
    this.#units = units ?? [];
  }

  replied(reply: LviReply): void {
    if (reply.kind === "valid") this.#commit = reply.commitId;
  }

  /** `answer`: null if there is none. */
  life(head: LifeHead, answer: Answer | null): Life {
    const { tookMs, ...known } = head;
    const outcome = answer?.kind === "outcome" ? answer : null;
    const units = outcome?.path === "leased" ? leasedUnits(outcome) : this.#units.map(lifeUnit);
    return {
      v: 1,
      kind: "life",
      side: "location",
      ...known,
      attempt: this.#attempt,
      atMs: this.#atMs,
      tookUs: microseconds(tookMs),
      path: outcome?.path ?? null,
      reason: outcome?.reason ?? null,
      commit: this.#commit,
      because: null,
      spans: this.#spans,
      units: units.slice(0, MAX_UNITS),
      unitsLeftOut: Math.max(0, units.length - MAX_UNITS),
      waited: [],
    };
  }
}

function lifeUnit(accessed: AccessedUnit): LifeUnit {
  return [accessed.unit, accessed.mode, accessed.mode === "write" ? null : (accessed.version?.commitId ?? null)];
}

function leasedUnits({ reads, snapshot }: Extract<Answer, { readonly path: "leased" }>): readonly LifeUnit[] {
  return Array.from(reads, (unit) => [unit, "read", snapshot.get(unit)?.version.commitId ?? null]);
}
