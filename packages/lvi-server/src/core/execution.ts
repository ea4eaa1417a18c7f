/** An execution under way at the server: who waits for it, where it stands, and what it holds. */
import type {
  AccessedUnit,
  ContentHash,
  Entry,
  ExecutedCause,
  ExecutionId,
  Followup,
  FollowupResult,
  LviRequest,
  Outcome,
  UnitId,
  Write,
} from "@radical/protocol";
import type { Usage } from "./budgets.ts";
import type { CallerId, Effect, ReExecutionCause } from "./events.ts";
import type { Completion, Intent, Invocation } from "./intent.ts";
import type { Ticket } from "./lock-table.ts";

export interface Caller {
  readonly id: CallerId;
  readonly request: LviRequest;
  readonly receivedAtMs: number;
  readonly deadlineMs: number;
}

/** Where an execution goes on when what it waits for has come. */
export type Step = "validate" | "capture" | "confirm";

type Phase =
  /** For all its locks, under its ticket. */
  | { readonly kind: "waiting"; readonly next: Step; readonly sinceMs: number }
  /** Storage is asked whether it knows the execution id. */
  | { readonly kind: "looking-up" }
  /** For told executions to be applied. It asks for no lock meanwhile. */
  | { readonly kind: "watching"; readonly next: Step; readonly sinceMs: number }
  | { readonly kind: "loading"; readonly next: Step }
  /** The intent is on its way to storage. */
  | { readonly kind: "storing" }
  /** Told; waits for its followup. */
  | { readonly kind: "pending" }
  /** Runs near storage. */
  | { readonly kind: "running" }
  /** Writes and outcome are on their way to storage. */
  | { readonly kind: "completing"; readonly completion: Completion; readonly run: CompletedRun }
  /** An abandoned intent that is to be run near storage later. */
  | { readonly kind: "paused" }
  | { readonly kind: "ended" };

/** Beside what is stored of it. */
interface CompletedRun {
  /** Of outcome and writes, to compare with another run. */
  readonly hash: ContentHash;
  /** The sample that is told when it is durable. */
  readonly sampled: Effect | null;
}

interface NearStorage {
  cause: ExecutedCause;
  /** The handler has no f^rw, or its set proved wrong: f runs in record mode. */
  recording: boolean;
  /** Whether record mode takes what is missing for absent, until a run on such values has not ended. */
  guessing: boolean;
  /** Units to capture. */
  wanted: Set<UnitId>;
  snapshot: ReadonlyMap<UnitId, Entry>;
  result: { readonly outcome: Outcome; readonly reads: readonly UnitId[]; readonly writes: readonly Write[] } | null;
  runs: number;
  /** Rounds lost to contention. */
  rounds: number;
  /** Holds the gate, and with it every unit. */
  gated: boolean;
}

export interface Execution {
  readonly id: ExecutionId;
  /** Its place among those that wait for locks, however often it asks for some. */
  readonly ticket: Ticket;
  readonly invocation: Invocation;
  readonly location: string;
  /** Of its location's budget. */
  usage: Usage;
  readonly retained: boolean;
  /** The client chose the id, or has asked again under the id that it was told: it may ask for the outcome later, too. */
  clientMayAsk: boolean;
  /** A run that writes ends it without effect. */
  readonly mustNotWrite: boolean;
  /** What the location declared; null without a set. */
  readonly declared: readonly AccessedUnit[] | null;
  callers: Caller[];
  /** The caller whose speculation is validated: the only one that `valid` may be told. */
  readonly speculator: CallerId | null;
  phase: Phase;
  /** How often it waited without asking for locks, and how often it loaded values. */
  watches: number;
  loads: number;
  /** When its wait for locks is over. */
  readonly giveUpAtMs: number;
  /** Once it is durable. */
  intent: Intent | null;
  told: boolean;
  /** Sequence of the commit id taken under the locks held. */
  sequence: number | null;
  near: NearStorage | null;
  replay: "loading" | "running" | "paused" | null;
  /** How often a run of its intent was ended from outside, and how often it has paused because of such things. */
  kills: number;
  pauses: number;
  /** Its run has left the set that f^rw said. */
  hasLeftSet: boolean;
  /** Hash of the completion by which it ended, to compare with a second run. */
  completionHash: ContentHash | null;
  followups: { readonly caller: CallerId; readonly result: FollowupResult }[];
  /** Whose writes it has read, or whose units it takes, before they are applied: those are applied first. */
  ahead: Set<Execution>;
  /** For whom the same is true of this one. */
  readonly behind: Set<Execution>;
  /** What is to be done when nobody is ahead any more. */
  early: { readonly caller: CallerId; readonly followup: Followup }[];
  wanted: ReExecutionCause | null;
}

/** Of which nothing is known yet but the request. */
export function requested(caller: Caller, usage: Usage, ticket: Ticket): Execution {
  const { executionId, module, handler, args, environment, location, retained, units, mustNotWrite } = caller.request;
  return {
    ...BEGINNING,
    id: executionId,
    ticket,
    invocation: { module, handler, args, environment },
    location,
    usage,
    retained,
    clientMayAsk: retained,
    mustNotWrite,
    declared: units,
    callers: [caller],
    speculator: units === null ? null : caller.id,
    phase: { kind: "ended" },
    giveUpAtMs: caller.deadlineMs,
    intent: null,
    told: false,
    followups: [],
    ahead: new Set(),
    behind: new Set(),
    early: [],
  };
}

/** Left pending by an earlier server. Its reply may have left. */
export function adopted(intent: Intent, ticket: Ticket): Execution {
  const { executionId, module, handler, args, environment, location, units, retained, mustNotWrite } = intent;
  return {
    ...BEGINNING,
    id: executionId,
    ticket,
    invocation: { module, handler, args, environment },
    location,
    usage: usageOf(args, units),
    retained,
    clientMayAsk: retained,
    mustNotWrite,
    declared: null,
    callers: [],
    speculator: null,
    phase: { kind: "pending" },
    giveUpAtMs: Infinity,
    intent,
    told: true,
    followups: [],
    ahead: new Set(),
    behind: new Set(),
    early: [],
  };
}

const BEGINNING = {
  watches: 0,
  loads: 0,
  sequence: null,
  near: null,
  replay: null,
  kills: 0,
  pauses: 0,
  hasLeftSet: false,
  completionHash: null,
  wanted: null,
} as const;

/** Rough memory of an execution, and of a unit, besides their arguments and names. */
const EXECUTION_BYTES = 2_000;
const UNIT_BYTES = 400;

export function usageOf(args: Uint8Array, units: readonly { readonly unit: UnitId }[]): Usage {
  let bytes = EXECUTION_BYTES + args.length;
  for (const { unit } of units) bytes += UNIT_BYTES + unit.length;
  return { units: units.length, bytes };
}
