/**
 * Failpoints: the places at which the crash tests stop a location, to kill its process there. The test hook `failpoint`
 * of the manifest arms one; a build of an application never has it. docs/internals/verification.md says what is done with them.
 */
import type { TestHooks } from "@radical/protocol";
import type { Effect, ExecutionEvent } from "./core/effects.ts";

/** All of them, with what has happened when a location stops there. */
export const FAILPOINTS = {
  "edge.derived": "the read/write set is known, and nothing was sent",
  "edge.recorded": "f has run in record mode, and nothing was sent",
  "edge.fetched": "the cache has answered",
  "edge.request-unsent": "the LVI request is about to be sent",
  "edge.request-sent": "the LVI request is on its way",
  "edge.replied": "the LVI reply has come, and the execution has not heard it",
  "edge.speculated": "f has run, and the execution has not heard it",
  "edge.shown": "the client was shown a result, and its answer is not known",
  "edge.answer-unsent": "the outcome is settled, and the client was not told",
  "edge.answered": "the client was told; neither the followup nor the writes for the cache have left",
  "edge.followup-unsent": "the client was told, the followup has not left",
  "edge.followup-answered": "the primary has answered the followup",
  "edge.put-unsent": "the client was told, the cache has not taken the writes",
  "edge.put": "the cache has taken the writes",
  "edge.heard-unsent": "lines of the session were processed, and the server does not know",
  "edge.heard": "the server knows that lines were processed, and its answer was not heard",
} as const;

export type Failpoint = keyof typeof FAILPOINTS;

/** Turns in which what was done before the failpoint leaves the process. */
const LEAVING_TURNS = 20;
/** The process is killed long before. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** Of an isolate. From the moment that the armed failpoint is reached, every execution stops at its next one. */
export class ArmedFailpoint {
  readonly #name: string;
  #left: number;

  constructor({ name, time }: NonNullable<TestHooks["failpoint"]>) {
    this.#name = name;
    this.#left = time;
  }

  /** Returns null to go on, or a promise that never settles. Decided at once, before anybody else runs. */
  reach(name: Failpoint | null): Promise<void> | null {
    if (this.#left === 0) return stop();
    if (name !== this.#name || --this.#left > 0) return null;
    return this.#announce();
  }

  async #announce(): Promise<void> {
    for (let turn = 0; turn < LEAVING_TURNS; turn++) await scheduler.wait(1);
    console.log(JSON.stringify({ event: "failpoint", name: this.#name }));
    await stop();
  }
}

function stop(): Promise<void> {
  return scheduler.wait(FOR_EVER_MS);
}

/** Reached when the execution is about to hear of the event. */
export function failpointBeforeEvent(event: ExecutionEvent): Failpoint | null {
  switch (event.kind) {
    case "derived":
      return event.derivation.kind === "derived" && event.derivation.run !== null ? "edge.recorded" : "edge.derived";
    case "fetched":
      return "edge.fetched";
    case "replied":
      return "edge.replied";
    case "speculated":
      return "edge.speculated";
    case "followup-answered":
      return "edge.followup-answered";
    default:
      return null;
  }
}

/** Reached when the effect is about to be performed. */
export function failpointBeforeEffect({ kind }: Effect): Failpoint | null {
  switch (kind) {
    case "send":
      return "edge.request-unsent";
    case "answer":
      return "edge.answer-unsent";
    case "follow":
      return "edge.followup-unsent";
    case "put":
      return "edge.put-unsent";
    default:
      return null;
  }
}
