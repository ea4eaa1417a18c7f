/**
 * Performs the effects of an execution and brings back their events. It decides nothing: what happens, and in which
 * order, is in `core/execution.ts`.
 */
import {
  deriveAccessSet,
  recordHandler,
  runHandler,
  type HandlerModule,
  type Invocation,
  type Snapshot,
} from "@radical/wasm-host";
import type { Entry, TraceContext, UnitId } from "@radical/protocol";
import type { Cache } from "./cache/cache.ts";
import type {
  Answer,
  CapturedSnapshot,
  Derivation,
  Effect,
  ExecutionEvent,
  Speculation,
  WarningCode,
} from "./core/effects.ts";
import type { Execution } from "./core/execution.ts";
import { type ArmedFailpoint, failpointBeforeEffect, failpointBeforeEvent } from "./failpoints.ts";
import type { Connection } from "./lvi/connections.ts";
import type { Primary } from "./lvi/primary.ts";
import { answerLeaves, type SpeculationLane, turns } from "./speculation-lane.ts";
import type { Timings } from "./timings.ts";

/**
 * Turns of the event loop between handing the LVI request to the platform and taking the CPU. `fetch` only queues the
 * request; whatever runs before the loop turns delays it, and then round trip and run take their sum instead of the
 * longer of the two. An open connection needs one turn, a new one to an address three, and whether one is open
 * is not known for certain; one that is not needed takes up to 0.1 ms.
 */
const TURNS_BEFORE_SPECULATION = 4;
/**
 * What a new connection is given besides: to look the name up, and to be made to a primary, or the end of a tunnel, that is
 * near. Waiting for the handshake with a primary that is far gains nothing: docs/internals/edge-speed.md.
 */
const NEW_CONNECTION_MS = 2;

export interface Surroundings {
  readonly module: HandlerModule;
  readonly invocation: Invocation;
  readonly cache: Cache;
  readonly primary: Primary;
  readonly trace: TraceContext | null;
  readonly lane: SpeculationLane;
  readonly failpoint: ArmedFailpoint | null;
  readonly timings: Timings;
  /** Milliseconds by the platform's clock, which may stand still between inputs and outputs. */
  readonly now: () => number;
  readonly warn: (code: WarningCode, message: string) => void;
  /** A fault of ours that no answer tells of: the client has its answer already. */
  readonly fault: (error: unknown) => void;
}

export interface Run {
  /** Rejects only for a fault of ours. */
  readonly answered: Promise<Answer>;
  /** When nothing is left to do, followup and cache included; never rejects. */
  readonly finished: Promise<void>;
}

export function drive(execution: Execution, surroundings: Surroundings): Run {
  const { module, invocation, cache, primary, trace, lane, failpoint, timings, now, warn, fault } = surroundings;
  const answer = Promise.withResolvers<Answer>();
  let isSettled = false;
  let sent: Promise<Connection> = Promise.resolve("open");

  const failed = (error: unknown): void => {
    if (isSettled) fault(error);
    isSettled = true;
    answer.reject(error);
  };

  const advance = async (event: ExecutionEvent): Promise<void> => {
    let effects: readonly Effect[];
    try {
      const stopped = failpoint?.reach(failpointBeforeEvent(event));
      if (stopped) await stopped;
      effects = execution.step(event);
    } catch (error) {
      return failed(error);
    }
    // What fails does not keep the rest from being done.
    await Promise.all(
      effects.map(async (effect) => {
        try {
          const next = await perform(effect);
          if (next !== null) await advance(next);
        } catch (error) {
          failed(error);
        }
      }),
    );
  };

  const perform = async (effect: Effect): Promise<ExecutionEvent | null> => {
    const stopped = failpoint?.reach(failpointBeforeEffect(effect));
    if (stopped) await stopped;
    const sinceMs = now();
    switch (effect.kind) {
      case "derive": {
        const derivation = find(effect.snapshot, cache, (snapshot) => ({
          run: null,
          isExhausted: false,
          ...deriveAccessSet(module, invocation, snapshot),
        }));
        timings.add("rw", sinceMs);
        return { kind: "derived", derivation, atMs: now() };
      }
      case "record": {
        await lane.enter();
        const startedAtMs = now();
        const derivation = find(effect.snapshot, cache, (snapshot) => {
          const recorded = recordHandler(module, invocation, snapshot, { guess: true, speculative: true });
          timings.fuel = recorded.run?.fuel ?? null;
          return { kind: "derived", ...recorded };
        });
        timings.add("f", startedAtMs);
        await Promise.all([advance({ kind: "derived", derivation, atMs: now() }), lane.leave()]);
        return null;
      }
      case "fetch": {
        const entries = await cache.getMany(effect.units);
        timings.add("cache", sinceMs);
        return { kind: "fetched", entries, atMs: now() };
      }
      case "send": {
        const sending = primary.ask(effect.server, effect.request, effect.timeoutMs, trace);
        sent = sending.sent;
        if (failpoint !== null) {
          await sent;
          await failpoint.reach("edge.request-sent");
        }
        const answered = await sending.answered;
        timings.add("lvi", sinceMs);
        return {
          ...answered,
          kind: answered.kind === "reply" ? "replied" : answered.kind,
          atMs: now(),
        } as ExecutionEvent;
      }
      case "speculate": {
        if (effect.after === "send") {
          if ((await sent) === "new") await scheduler.wait(NEW_CONNECTION_MS);
          await turns(TURNS_BEFORE_SPECULATION);
        }
        await lane.enter();
        const startedAtMs = now();
        // The primary may have answered meanwhile; then nobody needs f any more.
        const speculation = execution.answered ? null : speculate(module, invocation, effect, timings);
        if (speculation !== null) timings.add("f", startedAtMs);
        const handedOn = speculation === null ? null : advance({ kind: "speculated", speculation, atMs: now() });
        await Promise.all([handedOn, lane.leave()]);
        return null;
      }
      case "answer":
        isSettled = true;
        answer.resolve(effect.answer);
        await failpoint?.reach("edge.answered");
        return null;
      case "put":
        await cache.putMany(effect.entries);
        await failpoint?.reach("edge.put");
        return null;
      case "follow": {
        await answerLeaves();
        const answered = await primary.follow(effect.server, effect.followup, effect.timeoutMs, trace);
        return answered.kind === "reply"
          ? { kind: "followup-answered", result: answered.reply }
          : { kind: "followup-unanswered", reason: answered.reason };
      }
      case "alarm":
        await answerLeaves();
        await primary.alarm(effect.server, effect.alarm, effect.timeoutMs, trace);
        return null;
      case "wait":
        await scheduler.wait(effect.ms);
        return { kind: "waited", before: effect.before, atMs: now() };
      case "warn":
        warn(effect.code, effect.message);
        return null;
    }
  };

  return { answered: answer.promise, finished: advance({ kind: "started", atMs: now() }) };
}

type Finding = Omit<Extract<Derivation, { kind: "derived" }>, "captured"> | Extract<Derivation, { kind: "failed" }>;

/**
 * Finds the set on what was captured and on what is in memory. What the host throws (an instance that does not fit into
 * memory, say) is a failed derivation: the primary runs f.
 */
function find(captured: CapturedSnapshot, cache: Cache, run: (snapshot: Snapshot) => Finding): Derivation {
  const taken = new Map<UnitId, Entry>();
  const snapshot: Snapshot = (unit) => {
    const known = captured.get(unit) ?? taken.get(unit);
    if (known !== undefined) return known;
    const entry = cache.peek(unit);
    if (entry !== undefined) taken.set(unit, entry);
    return entry;
  };
  try {
    const found = run(snapshot);
    return found.kind === "failed" ? found : { ...found, captured: taken };
  } catch (error) {
    return { kind: "failed", reason: messageOf(error) };
  }
}

function speculate(
  module: HandlerModule,
  invocation: Invocation,
  effect: Extract<Effect, { kind: "speculate" }>,
  timings: Timings,
): Speculation {
  try {
    const snapshot: Snapshot = (unit) => effect.snapshot.get(unit);
    const run = runHandler(module, invocation, snapshot, effect.set, { speculative: true });
    switch (run.kind) {
      case "completed":
        timings.fuel = run.fuel;
        return run;
      case "exhausted":
        return run;
      case "undeclared":
        return {
          kind: "stopped",
          reason: `${run.mode} of ${run.unit}, which is not in the read/write set`,
          undeclared: run.mode,
        };
      case "missing":
        return { kind: "stopped", reason: `read of ${run.unit}, which was not captured`, undeclared: null };
    }
  } catch (error) {
    return { kind: "stopped", reason: messageOf(error), undeclared: null };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
