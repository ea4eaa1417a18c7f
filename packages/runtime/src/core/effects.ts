/**
 * Events tell a machine what has happened, effects say what it wants done: of an execution, and of its location. The driver
 * performs every effect at once, in the order of the list, and returns what came of it as an event. The order between effects of
 * different lists is data too: an effect that must not begin before another one names it in `after`.
 */
import type {
  Entry,
  ErrorCode,
  ExecutionId,
  Followup,
  FollowupResult,
  Heard,
  HeardReply,
  Line,
  LocationAlarm,
  LoggedLine,
  LviReply,
  LviRequest,
  Outcome,
  UnitId,
  ListeningQuestion,
  RunEffect,
  Version,
  WorkflowState,
  Write,
} from "@radical/protocol";
import type { AccessSet } from "@radical/wasm-host";
import type { ServerIndex } from "./leader.ts";
import type { LiveEffect, LiveEvent } from "./live-queries.ts";
import type { CapturedSpan } from "./span-look.ts";

/** The values captured from the cache, each unit once: f^rw and f see the very entries whose versions are sent. */
export type CapturedSnapshot = ReadonlyMap<UnitId, Entry>;

/** The result of a run of f^rw, or of f in record mode; see `deriveAccessSet` and `recordHandler` of the host. */
export type Derivation =
  | {
      readonly kind: "derived";
      readonly set: AccessSet;
      /** Values that the run needed and did not have: with any of them the set is provisional. */
      readonly missing: readonly UnitId[];
      /** Items of rows that memory knows. The run did not see these rows, because it has no values of them. */
      readonly lacking: readonly UnitId[];
      /** Entries of items that the run took from memory, beyond the snapshot that it was given. */
      readonly captured: CapturedSnapshot;
      /** The spans among the reads, as the run has seen them. Of others it was told that they are empty, and the set is provisional. */
      readonly spans: ReadonlyMap<UnitId, CapturedSpan>;
      /** Record mode: the run of f that found the set. With units missing it is what f does if they are absent. */
      readonly run: CompletedSpeculation | null;
      /** Record mode: the run has used up the fuel of a speculation. */
      readonly isExhausted: boolean;
    }
  | { readonly kind: "failed"; readonly reason: string };

export interface CompletedSpeculation {
  readonly kind: "completed";
  readonly outcome: Outcome;
  readonly writes: readonly Write[];
  /** The tasks, cancellations and signals that f has asked for, in order. Left out: none. */
  readonly effects?: readonly RunEffect[] | undefined;
  /** The lines that f has logged. Left out: none. */
  readonly logged?: readonly LoggedLine[] | undefined;
}

/** The result of a speculative run of f. */
export type Speculation =
  | CompletedSpeculation
  /** It can't be used: an access outside the declared set, which `undeclared` tells, or the host could not run f. */
  | { readonly kind: "stopped"; readonly reason: string; readonly undeclared: "read" | "write" | "lane" | null }
  /** It can't be used: f has used up the fuel of a speculation. */
  | { readonly kind: "exhausted" };

export type ExecutionEvent =
  | { readonly kind: "started"; readonly atMs: number }
  | { readonly kind: "derived"; readonly derivation: Derivation; readonly atMs: number }
  /** Units that are not in `entries` are not in the cache. */
  | { readonly kind: "fetched"; readonly entries: ReadonlyMap<UnitId, Entry>; readonly atMs: number }
  | { readonly kind: "speculated"; readonly speculation: Speculation; readonly atMs: number }
  | { readonly kind: "replied"; readonly reply: LviReply; readonly atMs: number }
  /** The request may or may not have reached the primary. */
  | { readonly kind: "unanswered"; readonly reason: string; readonly atMs: number }
  /** The server that was asked does not lead: nothing was done. */
  | { readonly kind: "not-leading"; readonly reason: string; readonly atMs: number }
  /** The server does not take what came: its signature or its form. Nothing was done. */
  | { readonly kind: "rejected"; readonly reason: string; readonly atMs: number }
  /** The message is larger than any server takes. Nothing was done. */
  | { readonly kind: "too-large"; readonly reason: string; readonly atMs: number }
  | { readonly kind: "followup-answered"; readonly result: FollowupResult }
  /** Also by a server that does not lead. */
  | { readonly kind: "followup-unanswered"; readonly reason: string }
  /** The wait before another send is over. */
  | { readonly kind: "waited"; readonly before: "lvi" | "followup"; readonly atMs: number };

export type Effect =
  /** Run f^rw on the snapshot, and where that lacks an item, on what the cache has in memory. */
  | { readonly kind: "derive"; readonly snapshot: CapturedSnapshot }
  /** The same with f itself, in record mode. */
  | { readonly kind: "record"; readonly snapshot: CapturedSnapshot }
  /** Read the units from the cache in one batch. Those of scans bring the items of their rows with them. */
  | { readonly kind: "fetch"; readonly units: readonly UnitId[] }
  | {
      readonly kind: "send";
      readonly server: ServerIndex;
      readonly request: LviRequest;
      readonly timeoutMs: number;
    }
  /**
   * Run f on the snapshot: `send` once the LVI request is on the wire, `reply` once its reply has confirmed the snapshot. With `lease` read leases have confirmed it already.
   */
  | {
      readonly kind: "speculate";
      readonly after: "send" | "reply" | "lease";
      readonly snapshot: CapturedSnapshot;
      readonly set: AccessSet;
    }
  /** Show the client the result of a run that nobody has confirmed. */
  | { readonly kind: "show"; readonly result: Uint8Array }
  /** The verdict is there if a result was shown before. */
  | { readonly kind: "answer"; readonly answer: Answer; readonly verdict?: Verdict }
  | { readonly kind: "put"; readonly entries: readonly CachePut[] }
  | {
      readonly kind: "follow";
      readonly server: ServerIndex;
      readonly followup: Followup;
      readonly timeoutMs: number;
    }
  | { readonly kind: "wait"; readonly before: "lvi" | "followup"; readonly ms: number }
  /** Tell the primary, which counts alarms, of one that it can't see. Nothing depends on that. */
  | {
      readonly kind: "alarm";
      readonly server: ServerIndex;
      readonly alarm: LocationAlarm;
      readonly timeoutMs: number;
    }
  /** Something an operator must hear of; the execution goes on. */
  | { readonly kind: "warn"; readonly code: WarningCode; readonly message: string };

/** The result of one attempt at one server of the primary. */
export type Answered<T> =
  | { readonly kind: "reply"; readonly reply: T }
  /** The server does not lead: nothing was done. */
  | { readonly kind: "not-leading"; readonly reason: string }
  /** No answer, or none that says what happened: the request may have had its effect. */
  | { readonly kind: "unanswered"; readonly reason: string }
  /** Refused before anything was done: for its signature, or because it is not a message that the server knows. */
  | { readonly kind: "rejected"; readonly reason: string }
  /** Refused before anything was done, and would be again. */
  | { readonly kind: "too-large"; readonly reason: string };

/** An entry for the cache, under the commit id that the primary named. */
export interface CachePut {
  readonly unit: UnitId;
  /** Of a span null as value says that nothing is known of it any more. */
  readonly entry: Entry;
  /**
   * The version that the primary has just shown to be wrong although it is not older than the entry. The cause is a corrupt cache, or a
   * primary restored from a backup. Without it the cache would keep that version forever.
   */
  readonly disproved?: Version;
}

export type WarningCode =
  /** f^rw failed, so the handler runs near storage: a fault of the analyzer. */
  | "derivation_failed"
  /** Record mode did not find the set within its bounds, so the execution runs near storage. */
  | "record_mode_failed"
  /** f left its read/write set, or could not be run: a fault of the analyzer or of the host. */
  | "speculation_stopped"
  | "primary_unanswered"
  /** The primary did not take a request: a wrong key, a wrong clock, another version, or a fault on the way. */
  | "primary_rejected"
  /** An alarm: an execution that must not write was about to, or has written near storage. It had no effect. */
  | "wrote_on_get"
  /** A handler has left its set on confirmed values, time and again: it runs in record mode here from now on. */
  | "set_left"
  /** The primary confirmed what it can't have validated. */
  | "impossible_reply"
  | "followup_unanswered"
  /** The primary re-executes the handler in place of the followup. */
  | "followup_refused";

export type ExecutionPath = "speculative" | "leased" | "near-storage";

/** Why an execution took its path. docs/http.md lists them for users. */
export type PathReason =
  // Speculative:
  /** f ran beside the LVI request, and the primary confirmed what it ran on. */
  | "valid"
  /** f waited for the confirmation, because it was not likely to come. */
  | "doubted"
  // Leased:
  /** Each unit was leased in the version that was captured: nothing was asked of the primary. */
  | "unchanged"
  // Near storage:
  /** The handler's plan, or the location's settings: no read/write set was looked for. */
  | "plan"
  /** No read/write set was found: f^rw failed, or record mode was at its bounds. */
  | "no-set"
  /** f accessed a unit outside of the set. */
  | "undeclared"
  /** f has used up the fuel of a speculation, now or in most of its last runs here. */
  | "long"
  /** The cache lacked a unit that is there. */
  | "missing"
  /** The cache had another version of a unit. */
  | "stale"
  /** Likewise; and as a unit was stale here time after time, f was not run. */
  | "hot"
  /** The outcome of an earlier sending of the execution, here or at another location. */
  | "stored"
  /** The primary does not let this module speculate: its runs have differed. */
  | "suspended"
  /** The primary confirmed what it can't have validated. */
  | "impossible-reply";

export type Answer =
  | {
      readonly kind: "outcome";
      readonly outcome: Outcome;
      readonly path: Exclude<ExecutionPath, "leased">;
      readonly reason: PathReason;
      /** By the run whose outcome this is, if it was here. Near storage the primary tells. */
      readonly logged?: readonly LoggedLine[] | undefined;
    }
  | {
      readonly kind: "outcome";
      readonly outcome: Outcome;
      readonly path: "leased";
      readonly reason: "unchanged";
      readonly logged?: readonly LoggedLine[] | undefined;
      /** Its units with the values that it has read, and perhaps others. The primary knows nothing of this execution. */
      readonly reads: ReadonlySet<UnitId>;
      readonly snapshot: CapturedSnapshot;
    }
  /** A workflow that has not ended within the time for which its client waits. */
  | {
      readonly kind: "working";
      readonly workflow: ExecutionId;
      readonly state: WorkflowState;
      /** When to ask for it. */
      readonly retryAfterMs: number;
    }
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint: string;
      /** When to repeat, for errors after which that may help. */
      readonly retryAfterMs: number | null;
    };

/** The relation of an answer to the result that was shown before it. */
export type Verdict =
  /** The answer is that result. */
  | "confirmed"
  /** The answer is another result. */
  | "corrected"
  /** The answer is not a result. */
  | "failed";

export type LocationEvent =
  /** A request at this location was answered: it is free to listen for those to come. */
  | { readonly kind: "free"; readonly location: string; readonly atMs: number }
  /** Lines of one shift's stream, in their order. `held`: the units of their hints of which memory holds an entry. */
  | {
      readonly kind: "told";
      readonly shift: number;
      readonly lines: readonly Line[];
      readonly held: readonly UnitId[];
      readonly atMs: number;
    }
  /** A shift listens no more. `isOver`: the server has ended it in order. */
  | { readonly kind: "listened"; readonly shift: number; readonly isOver: boolean; readonly atMs: number }
  /** The answer to `hear`; null: none came, or none of a server that leads. */
  | { readonly kind: "heard"; readonly hearing: number; readonly reply: HeardReply | null; readonly atMs: number }
  | { readonly kind: "woken"; readonly why: Wake; readonly atMs: number }
  | LiveEvent;

export type LocationEffect =
  /** Listen to the server until it ends the answer. */
  | {
      readonly kind: "listen";
      readonly shift: number;
      readonly server: ServerIndex;
      readonly question: ListeningQuestion;
    }
  /** Put into the cache's memory what has come unasked. */
  | { readonly kind: "refresh"; readonly entries: readonly CachePut[] }
  /** Tell the server what was heard. */
  | {
      readonly kind: "hear";
      readonly hearing: number;
      readonly server: ServerIndex;
      readonly heard: Heard;
      readonly timeoutMs: number;
    }
  /** Say so after a time that no clock measures which may be set. A wake that gets lost with its request is not missed. */
  | { readonly kind: "wake"; readonly ms: number; readonly why: Wake }
  | LiveEffect;

export type Wake =
  /** The leases may be used until here, whatever the clock says. */
  | { readonly kind: "term"; readonly term: number }
  /** Another part of the time has passed in which a message of `heard` is on its way. */
  | { readonly kind: "tick"; readonly hearing: number }
  /** It is time for the message of `heard` after this one. */
  | { readonly kind: "beat"; readonly hearing: number };
