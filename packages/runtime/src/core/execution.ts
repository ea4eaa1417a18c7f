/**
 * One execution at a location (paper, section 3.2 and figure 3). It derives the read/write set and captures it, sends the LVI
 * request, speculates, joins both, answers, and follows up.
 *
 *     started ─ derive ⇄ fetch ─┬─ send ──────────── replied ─┬─ answer ─ follow, put
 *                               └─ speculate ─ speculated ────┘
 *
 * In record mode f itself finds the set, so the speculation is done before the request leaves:
 *
 *     started ─ record ⇄ fetch ─── send ──────────── replied ─── answer ─ follow, put
 *
 * A synchronous function of its events: it holds no clock, reads no cache and runs no WebAssembly.
 */
import type {
  AccessedUnit,
  CommitId,
  Entry,
  Environment,
  ErrorCode,
  ExecutedCause,
  ExecutionId,
  Followup,
  HandlerPlan,
  LocationAlarm,
  LviReply,
  LviRequest,
  ModuleHash,
  RefusalCode,
  Repair,
  SessionId,
  UnitId,
  Version,
  Write,
} from "@radical/protocol";
import { compareCommits, compareKeys, entryOf, isBelow, isSpan, sameVersion, spanOf, tableOf } from "@radical/protocol";
import type { AccessSet } from "@radical/wasm-host";
import { cachedAs, isScanUnit } from "./directories.ts";
import type {
  Answer,
  CachePut,
  CapturedSnapshot,
  CompletedSpeculation,
  Derivation,
  Effect,
  ExecutionEvent,
  PathReason,
  Speculation,
  Verdict,
  WarningCode,
} from "./effects.ts";
import { type Doubt, Experience, type Read } from "./experience.ts";
import { guessOf } from "./guess.ts";
import { LeaderSearch } from "./leader.ts";
import { PrimaryLink } from "./primary-link.ts";
import type { CapturedSpan } from "./span-look.ts";

export interface ExecutionInput {
  readonly executionId: ExecutionId;
  readonly module: ModuleHash;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly environment: Environment;
  readonly location: string;
  /** Near-storage also if the location never speculates. */
  readonly plan: HandlerPlan;
  /** The client chose the execution id and may repeat it. */
  readonly retained: boolean;
  /** The `Idempotency-Key` with which the client may repeat it. */
  readonly repeatKey: string;
  /** It came as a GET: whatever the manifest says of the handler, it has no effect. */
  readonly mustNotWrite: boolean;
  /** The handler may ask for tasks. */
  readonly mayEffect: boolean;
  /** The client asks to be shown a result before its confirmation. */
  readonly prefersSpeculative: boolean;
  /** The handler has the tag `@speculative`: its developer lets clients see what is not confirmed. */
  readonly speculative: boolean;
  /** Of a workflow: how long its client waits for its end. Left out: 0. */
  readonly waitMs?: number;
  /** The session is to hear of the next change of what it reads. */
  readonly watches: boolean;
  /** It may be answered by read leases. */
  readonly takesLeases: boolean;
  /** Test hook: tables whose units are left out of the read/write set. */
  readonly undeclaredTables: readonly string[];
}

/** The reads of an answered execution. */
export interface Footprint {
  /** As far as they are known here. */
  readonly units: ReadonlySet<UnitId>;
  /** Whether these are all. The primary has run f near storage, and tells only of units that are new here. */
  readonly isWhole: boolean;
  /** The session that hears of the next change of each of them; null: none. */
  readonly session: SessionId | null;
}

export interface ExecutionBounds {
  /** Most batches that are read from the cache to find the set. */
  readonly fetchRounds: number;
  /** Most runs of f in record mode. Only the last of them counts. */
  readonly recordRuns: number;
  /** Most times that one LVI request goes round the servers of the primary, and the time in which it all must happen. */
  readonly attempts: number;
  readonly totalMs: number;
  /** How long one LVI request waits for its reply. */
  readonly attemptMs: number;
  /** Wait before the second round; it doubles with every further one, up to the longest. */
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
  readonly followupAttempts: number;
}

export const DEFAULT_BOUNDS: ExecutionBounds = {
  fetchRounds: 8,
  recordRuns: 4,
  attempts: 6,
  totalMs: 20_000,
  attemptMs: 8_000,
  backoffMs: 100,
  longestBackoffMs: 2_000,
  followupAttempts: 4,
};

type Found = Extract<Derivation, { kind: "derived" }>;

/** The search for the read/write set and its values. */
interface Sight {
  readonly endsAtMs: number;
  /** The items captured. */
  readonly snapshot: Map<UnitId, Entry>;
  /** As the last run has seen them: only its set counts. */
  spans: ReadonlyMap<UnitId, CapturedSpan>;
  /** Asked of the cache, found or not: never asked for again, unless memory loses scans. */
  readonly fetched: Set<UnitId>;
  /** The scans of which a run has seen the rows. */
  readonly scans: Set<UnitId>;
  /** Memory has lost one of them. It is too small for all, and keeps only those that come together. */
  losesScans: boolean;
  fetchRounds: number;
  recordRuns: number;
}

/** A run of f beside the question that names its set. */
type Run =
  /** A unit goes without a version: validation fails, so f is not run. */
  | { readonly kind: "none" }
  /** For the confirmation. */
  | { readonly kind: "waiting" }
  | { readonly kind: "running" }
  | Speculation;

/** The values on which f runs. */
interface Basis {
  readonly endsAtMs: number;
  readonly set: AccessSet;
  readonly snapshot: CapturedSnapshot;
  /** Items that the cache lacks, and spans of which it lacks rows or their values. */
  readonly guessed: ReadonlySet<UnitId>;
  readonly spans: ReadonlyMap<UnitId, CapturedSpan>;
}

/** The primary is to validate the set. */
export interface SetQuestion extends Basis {
  readonly kind: "set";
  readonly search: LeaderSearch;
  /** Each unit of the set once, in order. */
  readonly units: readonly AccessedUnit[];
  /** Why f waits for the confirmation, or has waited; null: it has not. */
  readonly doubt: Doubt | null;
  readonly run: Run;
}

/** The primary is to find the set itself. */
export interface NearStorageQuestion {
  readonly kind: "near-storage";
  readonly endsAtMs: number;
  readonly search: LeaderSearch;
  readonly reason: PathReason;
}

export type Question = SetQuestion | NearStorageQuestion;

export type Phase =
  | { readonly kind: "new" }
  /** f^rw, or f in record mode, runs. */
  | { readonly kind: "deriving"; readonly sight: Sight }
  /** The cache is read for what was found. */
  | { readonly kind: "fetching"; readonly sight: Sight; readonly found: Found }
  /** An LVI request is on its way. */
  | { readonly kind: "asking"; readonly question: Question }
  /** The wait before the next one. */
  | { readonly kind: "backing-off"; readonly question: Question }
  /** Read leases have confirmed the set, and f has not ended. Nothing was sent. */
  | { readonly kind: "leased"; readonly basis: Basis }
  /** The primary has confirmed the set, and f has not ended. */
  | { readonly kind: "confirmed"; readonly question: SetQuestion; readonly commitId: CommitId | null }
  /** Answered; the followup is on its way, or waits before it is sent again. */
  | { readonly kind: "following"; readonly followup: Followup; readonly search: LeaderSearch }
  /** Answered, and nothing is left that this execution decides. */
  | { readonly kind: "ended" };

export class Execution {
  readonly #input: ExecutionInput;
  readonly #bounds: ExecutionBounds;
  readonly #experience: Experience;
  readonly #plan: HandlerPlan;
  readonly #primary: PrimaryLink;
  /** How often anything was sent: the primary tells repeats from duplicates by it. */
  #sendings = 0;
  /** As the primary told it in its last reply to this execution, or before it began. */
  #seen: CommitId | null;
  #phase: Phase = { kind: "new" };
  #footprint: Footprint | null = null;
  /** The session that the last request has named to hear of changes. */
  #watcher: SessionId | null = null;
  /** The result that the client was shown before its confirmation. */
  #shown: Uint8Array | null = null;

  constructor(
    input: ExecutionInput,
    bounds: ExecutionBounds = DEFAULT_BOUNDS,
    /** Of the location: what its executions teach and ask. */
    experience: Experience = new Experience(),
    primary: PrimaryLink = new PrimaryLink(),
  ) {
    this.#input = input;
    this.#seen = primary.seen;
    this.#bounds = bounds;
    this.#experience = experience;
    this.#plan = experience.planOf(input.module, input.handler, input.plan);
    this.#primary = primary;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Whether the client's answer is settled; a speculation that has not begun is then needless. */
  get answered(): boolean {
    return this.#phase.kind === "following" || this.#phase.kind === "ended";
  }

  /** Null: it has no outcome. */
  get footprint(): Footprint | null {
    return this.#footprint;
  }

  /** Whether the client may be shown a result before its confirmation. */
  get shows(): boolean {
    // variant: shows-tagged
    return this.#input.prefersSpeculative && this.#input.speculative;
  }

  step(event: ExecutionEvent): readonly Effect[] {
    switch (event.kind) {
      case "started":
        return this.#onStarted(event);
      case "derived":
        return this.#onDerived(event);
      case "fetched":
        return this.#onFetched(event);
      case "speculated":
        return this.#onSpeculated(event.speculation, event.atMs);
      case "replied":
        this.#primary.heard(event.reply.asOf);
        this.#seen = event.reply.asOf ?? this.#seen;
        return this.#onEndOfSending(event, (question) => this.#onReply(question, event.reply, event.atMs));
      case "unanswered":
        return this.#onEndOfSending(event, (question) => this.#onUnanswered(question, event.reason, event.atMs));
      case "not-leading":
        return this.#onEndOfSending(event, (question) => this.#onNotLeading(question, event.reason, event.atMs));
      case "rejected":
        return this.#onEndOfSending(event, (question) => this.#onRejected(question, event.reason, event.atMs));
      case "too-large":
        return this.#onEndOfSending(event, () => [this.#fail("execution_failed", TOO_LARGE, TOO_LARGE_HINT)]);
      case "followup-answered":
        return this.#onFollowupAnswered(event);
      case "followup-unanswered":
        return this.#onFollowupUnanswered(event);
      case "waited":
        return event.before === "followup" ? this.#onWaitedToFollow(event) : this.#onWaitedToAsk(event);
    }
  }

  /** An invariant: a driver tells of nothing that the execution has not asked for. */
  #unexpected({ kind }: ExecutionEvent): Error {
    return new Error(`An execution that is "${this.#phase.kind}" hears "${kind}", which it did not ask for.`);
  }

  // ── 1. The read/write set, captured in one snapshot ────────────────────────────────────────────────────────────────

  #onStarted(event: Of<"started">): readonly Effect[] {
    if (this.#phase.kind !== "new") throw this.#unexpected(event);
    const { atMs } = event;
    const endsAtMs = atMs + this.#bounds.totalMs + (this.#input.waitMs ?? 0);
    if (this.#plan === "near-storage" || this.#plan === "workflow") return this.#askNearStorage("plan", endsAtMs, atMs);
    if (this.#experience.isLong(this.#input.handler, atMs)) return this.#askNearStorage("long", endsAtMs, atMs);
    const seen = { snapshot: new Map(), spans: new Map(), fetched: new Set<UnitId>(), scans: new Set<UnitId>() };
    return [this.#find({ endsAtMs, ...seen, losesScans: false, fetchRounds: 0, recordRuns: 0 })];
  }

  #find(sight: Sight): Effect {
    this.#phase = { kind: "deriving", sight };
    // A copy: an effect holds a snapshot that never changes under it.
    const snapshot = new Map(sight.snapshot);
    if (!this.#records) return { kind: "derive", snapshot };
    sight.recordRuns++;
    return { kind: "record", snapshot };
  }

  get #records(): boolean {
    return this.#plan === "recorded";
  }

  #onDerived(event: Of<"derived">): readonly Effect[] {
    if (this.#phase.kind !== "deriving") throw this.#unexpected(event);
    const { sight } = this.#phase;
    const { derivation, atMs } = event;
    if (derivation.kind === "failed") return this.#notFound(derivation.reason, sight, atMs);
    for (const [unit, entry] of derivation.captured) capture(sight, unit, entry);
    sight.spans = derivation.spans;
    for (const { of } of derivation.spans.values()) sight.scans.add(cachedAs(of));
    const missing = missingOf(derivation, sight);
    const isFirstLoss = !sight.losesScans && missing.some((unit) => sight.scans.has(unit));
    if (isFirstLoss) sight.losesScans = true;
    const news = missing.filter((unit) => !sight.fetched.has(unit));
    const units = isFirstLoss || (sight.losesScans && news.length > 0) ? withAllScans(news, sight) : news;
    if (units.length === 0 || sight.fetchRounds === this.#bounds.fetchRounds) return this.#ask(derivation, sight, atMs);
    sight.fetchRounds++;
    for (const unit of units) sight.fetched.add(unit);
    this.#phase = { kind: "fetching", sight, found: derivation };
    return [{ kind: "fetch", units }];
  }

  #onFetched(event: Of<"fetched">): readonly Effect[] {
    if (this.#phase.kind !== "fetching") throw this.#unexpected(event);
    const { sight, found } = this.#phase;
    const { entries, atMs } = event;
    let isNews = false;
    for (const [unit, entry] of entries) {
      // Its rows are in memory now.
      if (isScanUnit(unit)) isNews = true;
      else capture(sight, unit, entry);
    }
    // Another run sees more only if a value came that this one had missed.
    isNews ||= [...found.missing, ...found.lacking].some((unit) => sight.snapshot.has(unit));
    if (!isNews) return this.#ask(found, sight, atMs);
    if (sight.recordRuns === this.#bounds.recordRuns)
      return this.#notFound(`${sight.recordRuns} runs did not find all that it reads`, sight, atMs);
    return [this.#find(sight)];
  }

  #notFound(reason: string, { endsAtMs }: Sight, atMs: number): readonly Effect[] {
    const code = this.#records ? "record_mode_failed" : "derivation_failed";
    return [
      warn(code, `The read/write set of ${this.#input.handler} was not found: ${reason}.`),
      ...this.#askNearStorage("no-set", endsAtMs, atMs),
    ];
  }

  // ── 2. The LVI request, and beside it the speculation ──────────────────────────────────────────────────────────────

  #ask(found: Found, sight: Sight, atMs: number): readonly Effect[] {
    const { run, isExhausted } = found;
    const { endsAtMs, spans } = sight;
    if (run !== null && this.#asksUndeclared(run)) {
      const asked = this.#stopped(UNDECLARED_TASKS);
      return [asked, ...this.#askNearStorage("undeclared", endsAtMs, atMs)];
    }
    if (this.#records && (run !== null || isExhausted)) this.#experience.ran(this.#input.handler, isExhausted, atMs);
    const [write] = found.set.writes;
    if (this.#input.mustNotWrite && write !== undefined)
      return this.#stoppedOnGet("its read/write set has a unit that it writes", write);
    if (this.#input.mustNotWrite && run !== null && hasWritten(run))
      return this.#stoppedOnGet("its run has asked for a task");
    if (isExhausted) return this.#askNearStorage("long", endsAtMs, atMs);
    const set = this.#withoutUndeclared(found.set);
    const outside = run === null ? null : firstOutside(found.set, set);
    if (outside !== null) {
      const warning = this.#stopped(`access of ${outside}, which is not in the read/write set`);
      return [warning, ...this.#askNearStorage("undeclared", endsAtMs, atMs)];
    }
    // A run in record mode that was ended early has guessed nothing to its end.
    const snapshot = new Map(sight.snapshot);
    for (const [unit, { entry }] of spans) snapshot.set(unit, entry);
    const guessed = !this.#records || run !== null ? guess(set, sight, snapshot) : new Set<UnitId>();
    const isWhole = [...set.reads].every((unit) => snapshot.has(unit));
    const basis: Basis = { endsAtMs, set, snapshot, guessed, spans };
    if (isWhole && this.#isLeased(set, snapshot, atMs)) return this.#onLeased(basis, run, atMs);
    const doubt = isWhole && run === null ? this.#doubtOf(basis, atMs) : null;
    const runs: Run = isWhole ? (run ?? { kind: doubt === null ? "running" : "waiting" }) : { kind: "none" };
    const search = new LeaderSearch(this.#primary.leader);
    const units = accessedUnits(set, snapshot);
    const question: SetQuestion = { ...basis, kind: "set", search, units, doubt, run: runs };
    const sent = this.#send(question, atMs);
    if (runs.kind === "running") return [...sent, { kind: "speculate", after: "send", snapshot, set }];
    if (runs.kind !== "completed" || !this.shows || this.#doubtOf(basis, atMs) !== null) return sent;
    return [...sent, ...this.#show(runs)];
  }

  /**
   * Whether this execution needs no confirmation of the primary. It only reads and asks for no task, and each unit is
   * leased in the version that was captured. Its place in the order is this instant. A repeat of an execution under a chosen id
   * must find the answer of the first, so it always asks.
   */
  #isLeased({ reads, writes }: AccessSet, snapshot: CapturedSnapshot, atMs: number): boolean {
    const { module, retained, takesLeases, mayEffect } = this.#input;
    // variant: leased-read-only
    if (writes.size > 0 || mayEffect || retained || !takesLeases || !this.#experience.speculates(module, atMs))
      return false;
    return this.#primary.leases.look(reads, snapshot, atMs);
  }

  /** In record mode f has run. */
  #onLeased(basis: Basis, run: CompletedSpeculation | null, atMs: number): readonly Effect[] {
    this.#phase = { kind: "leased", basis };
    if (run !== null) return this.#onLeasedRun(basis, run, atMs);
    return [{ kind: "speculate", after: "lease", snapshot: basis.snapshot, set: basis.set }];
  }

  #onLeasedRun(basis: Basis, run: Speculation, atMs: number): readonly Effect[] {
    switch (run.kind) {
      case "stopped":
        return [...this.#leftSet(run), ...this.#askNearStorage("undeclared", basis.endsAtMs, atMs)];
      case "exhausted":
        return this.#askNearStorage("long", basis.endsAtMs, atMs);
      case "completed": {
        const { set, snapshot } = basis;
        const { outcome, logged } = run;
        const answer: Answer = {
          kind: "outcome",
          outcome,
          path: "leased",
          reason: "unchanged",
          reads: set.reads,
          snapshot,
          logged,
        };
        this.#footprint = { units: basis.set.reads, isWhole: true, session: null };
        return [this.#answer(answer), ...put(confirmedGuesses(basis, []))];
      }
    }
  }

  #doubtOf({ set, guessed, spans }: Basis, atMs: number): Doubt | null {
    const guesses: Read[] = [];
    const known: UnitId[] = [];
    for (const unit of set.reads) {
      if (guessed.has(unit)) guesses.push({ unit, written: set.writes.has(unit) });
      else known.push(spans.get(unit)?.of ?? unit);
    }
    return this.#experience.doubt(this.#input.handler, guesses, known, atMs);
  }

  #stopped(reason: string): Effect {
    return warn("speculation_stopped", `The run of ${this.#input.handler} was stopped: ${reason}.`);
  }

  /** The primary finds the set itself. Also after a speculation that left its set, under the same execution id. */
  #askNearStorage(reason: PathReason, endsAtMs: number, atMs: number): readonly Effect[] {
    const search = new LeaderSearch(this.#primary.leader);
    return this.#send({ kind: "near-storage", endsAtMs, search, reason }, atMs);
  }

  #send(question: Question, atMs: number): readonly Effect[] {
    const { executionId, module, handler, args, environment, location, retained, watches } = this.#input;
    const { mustNotWrite, mayEffect } = this.#input;
    const { totalMs, attemptMs } = this.#bounds;
    const isWorkflow = this.#plan === "workflow";
    // A later sending waits for what is left.
    const waitMs = Math.max(0, Math.min(this.#input.waitMs ?? 0, question.endsAtMs - atMs - attemptMs));
    const server = question.search.next();
    const { leases } = this.#primary;
    // The server does not wait for this session to hear that these units change. A set that is not known drops nothing, and is
    // waited for like another isolate's.
    // variant: own-leases-dropped
    if (question.kind === "set") leases.drop(question.set.writes);
    const { sender } = leases;
    this.#watcher = watches ? leases.session : null;
    const request: LviRequest = {
      executionId,
      module,
      handler,
      args,
      environment,
      location,
      units: question.kind === "set" ? question.units : null,
      // Its caller may ask for its outcome by its id.
      retained: retained || isWorkflow,
      mustNotWrite,
      mayEffect,
      lanes: question.kind === "set" ? [...(question.set.lanes ?? [])].toSorted() : [],
      deadlineMs: totalMs + waitMs,
      attempt: ++this.#sendings,
      seen: this.#seen,
      session: sender === null || !watches ? sender : { ...sender, watches },
      ...(waitMs > 0 ? { waitMs } : {}),
    };
    this.#phase = { kind: "asking", question };
    const timeoutMs = Math.max(1, Math.min(attemptMs + waitMs, question.endsAtMs - atMs));
    return [{ kind: "send", server, request, timeoutMs }];
  }

  #withoutUndeclared(set: AccessSet): AccessSet {
    const undeclared = this.#input.undeclaredTables;
    if (undeclared.length === 0) return set;
    const declared = (units: ReadonlySet<UnitId>): ReadonlySet<UnitId> =>
      new Set([...units].filter((unit) => !undeclared.includes(tableOf(unit))));
    return { ...set, reads: declared(set.reads), writes: declared(set.writes) };
  }

  // ── 3. The join of reply and speculation ───────────────────────────────────────────────────────────────────────────

  #onSpeculated(ended: Speculation, atMs: number): readonly Effect[] {
    const speculation: Speculation =
      ended.kind === "completed" && this.#asksUndeclared(ended)
        ? { kind: "stopped", reason: UNDECLARED_TASKS, undeclared: "write" }
        : ended;
    const warnings = speculation.kind === "stopped" ? [this.#stopped(speculation.reason)] : [];
    const phase = this.#phase;
    if (phase.kind === "leased")
      return [...warnings, ...(this.#ran(speculation, atMs) ?? this.#onLeasedRun(phase.basis, speculation, atMs))];
    // Dropped: the primary's outcome was there first, or the execution was asked near storage.
    if (!("question" in phase) || phase.question.kind !== "set" || phase.question.run.kind !== "running")
      return warnings;
    const forbidden = this.#ran(speculation, atMs);
    if (forbidden !== null) return [...warnings, ...forbidden];
    this.#phase = { ...phase, question: { ...phase.question, run: speculation } };
    // A run that ends after the confirmation gives the answer itself.
    // variant: shown-unconfirmed
    const isOpen = phase.kind === "asking" || phase.kind === "backing-off";
    const shown = isOpen ? this.#show(speculation) : [];
    // variant: speculation-done
    return [...warnings, ...shown, ...this.#join(atMs)];
  }

  /** The primary would not know that the execution goes the way of those that write. */
  #asksUndeclared({ effects }: CompletedSpeculation): boolean {
    return !this.#input.mayEffect && effects !== undefined;
  }

  /** Only a result: a refusal or a fault waits until it is certain. */
  #show(speculation: Speculation): readonly Effect[] {
    if (!this.shows || speculation.kind !== "completed" || speculation.outcome.kind !== "result") return [];
    const result = speculation.outcome.value;
    this.#shown = result;
    return [{ kind: "show", result }];
  }

  /** Null: the run may count. */
  #ran(speculation: Speculation, atMs: number): readonly Effect[] | null {
    if (speculation.kind !== "stopped")
      this.#experience.ran(this.#input.handler, speculation.kind === "exhausted", atMs);
    const isForbidden = this.#input.mustNotWrite && hasWritten(speculation);
    return isForbidden ? this.#stoppedOnGet("its run has written") : null;
  }

  /** A sending has its end. */
  #onEndOfSending(event: ExecutionEvent, on: (question: Question) => readonly Effect[]): readonly Effect[] {
    if (this.answered) return [];
    if (this.#phase.kind !== "asking") throw this.#unexpected(event);
    return on(this.#phase.question);
  }

  #onReply(question: Question, reply: LviReply, atMs: number): readonly Effect[] {
    if (reply.kind !== "refused" || reply.code !== "draining") question.search.found();
    switch (reply.kind) {
      case "valid":
        if (!canBeValid(question))
          return this.#onImpossible("it confirmed a request that named no versions", question, atMs);
        this.#phase = { kind: "confirmed", question, commitId: reply.commitId };
        this.#experience.confirmed(this.#input.module, true, atMs);
        this.#learn(question, [], atMs);
        return this.#join(atMs);
      case "executed":
        if (reply.cause === "stale") this.#learn(question, reply.repairs, atMs);
        if (reply.cause === "requested" && question.kind === "set")
          this.#experience.confirmed(this.#input.module, false, atMs);
        this.#footprint = {
          units: new Set([...readsOf(question), ...reply.repairs.map(({ unit }) => unit)]),
          isWhole: false,
          // The outcome of another sending is watched for the session which that one has named.
          session: reply.cause === "stored" ? null : this.#watcher,
        };
        return [
          this.#answer({
            kind: "outcome",
            outcome: reply.outcome,
            path: "near-storage",
            reason: reasonOf(question, reply.cause, reply.repairs),
          }),
          ...put(putsOf(reply.repairs, question)),
        ];
      case "refused":
        return this.#onRefused(question, reply.code, reply.message, reply.retryAfterMs, atMs);
      case "working": {
        if (this.#plan !== "workflow" || reply.workflow !== this.#input.executionId)
          return this.#onImpossible("it works at what is not this workflow", question, atMs);
        const { kind, workflow, state, retryAfterMs } = reply;
        return [this.#answer({ kind, workflow, state, retryAfterMs })];
      }
    }
  }

  /** Answers when both are there: the primary's confirmation and the speculation that it confirms. */
  #join(atMs: number): readonly Effect[] {
    const phase = this.#phase;
    // variant: answer-confirmed
    if (phase.kind !== "confirmed") return [];
    // variant: confirmed-commit
    const { question, commitId } = phase;
    const { endsAtMs, run, snapshot, set } = question;
    switch (run.kind) {
      case "none":
        throw new Error("The primary has confirmed a set without all of its versions.");
      case "running":
        return [];
      case "waiting":
        this.#phase = { ...phase, question: { ...question, run: { kind: "running" } } };
        return [{ kind: "speculate", after: "reply", snapshot, set }];
      case "stopped":
        return [...this.#leftSet(run), ...this.#askNearStorage("undeclared", endsAtMs, atMs)];
      case "exhausted":
        // variant: speculation-exhausted
        return this.#askNearStorage("long", endsAtMs, atMs);
      case "completed": {
        const { outcome, writes, effects = [], logged } = run;
        if (commitId === null && writes.length + effects.length > 0)
          return this.#onImpossible("it confirmed writes or tasks without an intent", question, atMs);
        const reason = question.doubt === null ? "valid" : "doubted";
        this.#footprint = { units: set.reads, isWhole: true, session: this.#watcher };
        const answer = this.#answer({ kind: "outcome", outcome, path: "speculative", reason, logged });
        const guesses = confirmedGuesses(question, writes);
        if (commitId === null) return [answer, ...put(guesses)];
        // Only now is there a commit id, so nothing speculative was ever in the cache.
        const entries = writes.map(({ unit, value }) => ({ unit, entry: entryOf(commitId, value) }));
        const followup: Followup = { executionId: this.#input.executionId, commitId, outcome, writes, effects };
        const search = new LeaderSearch(this.#primary.leader);
        return [answer, ...this.#follow(followup, search), ...put([...entries, ...guesses])];
      }
    }
  }

  /** The values are confirmed: if f has left its set on them, the set is wrong. */
  #leftSet({ undeclared }: Extract<Speculation, { kind: "stopped" }>): readonly Effect[] {
    const { module, handler, plan } = this.#input;
    if (undeclared === null || !this.#experience.leftSet(module, handler)) return [];
    const fault = plan === "given" ? "correct the set that its @readwrite gives" : "report this fault of the analyzer";
    return [
      warn(
        "set_left",
        `The handler "${handler}" leaves its read/write set, and runs in record mode here from now on: ${fault}.`,
      ),
    ];
  }

  /**
   * A validation tells which guesses and versions were right. Repairs show the wrong ones, but also units that the handler
   * may have written since. Such a unit counts as wrong only if nothing else explains why validation failed.
   */
  #learn(question: Question, repairs: readonly Repair[], atMs: number): void {
    if (question.kind === "near-storage") return;
    const { units, guessed, spans } = question;
    const isRepaired = repairedBy(repairs);
    const explained = units.some(({ unit, mode }) => mode === "read" && isRepaired(unit));
    for (const accessed of units) {
      if (accessed.mode === "write" || accessed.version === null) continue;
      const { unit } = accessed;
      const written = accessed.mode === "read-write";
      const wrong = isRepaired(unit);
      if (wrong && written && explained) continue;
      if (guessed.has(unit)) this.#experience.guessed(this.#input.handler, { unit, written }, !wrong);
      else this.#experience.compared(spans.get(unit)?.of ?? unit, wrong, atMs);
    }
  }

  // ── 4. What can go wrong with the request: never an answer from speculation ────────────────────────────────────────

  /** The next attempt may meet what an earlier one has done, also at another server: the request says so. */
  #onUnanswered(question: Question, reason: string, atMs: number): readonly Effect[] {
    // variant: primary-unanswered
    const elsewhere = this.#elsewhere(question, atMs);
    const next = elsewhere ?? this.#again(question, atMs, 0, this.#unknown(reason));
    return [warn("primary_unanswered", reason), ...next];
  }

  /**
   * By its signature or form: a key, a clock or a version is wrong, or the bytes were changed on their way. Another server may
   * take it. The same one is not asked again, so that a wrong key costs each request one answer. Clients are not told of signatures.
   */
  #onRejected(question: Question, reason: string, atMs: number): readonly Effect[] {
    const next = this.#elsewhere(question, atMs) ?? [this.#answer(this.#notTaken())];
    return [warn("primary_rejected", reason), ...next];
  }

  #notTaken(): Answer {
    return this.#unknown("it did not take the location's request. The location's log says why.");
  }

  /** A standby says so, which is nothing to warn of as long as another server can be asked. */
  #onNotLeading(question: Question, reason: string, atMs: number): readonly Effect[] {
    const elsewhere = this.#elsewhere(question, atMs);
    if (elsewhere !== null) return elsewhere;
    return [warn("primary_unanswered", reason), ...this.#again(question, atMs, 0, this.#unknown(reason))];
  }

  /** The same at the next server of the round, at once; null: all were asked, or the time is used up. */
  #elsewhere(question: Question, atMs: number): readonly Effect[] | null {
    if (!question.search.missed() || atMs >= question.endsAtMs) return null;
    return this.#sendOrGiveUpSet(question, atMs);
  }

  /** A speculation that can't be used makes a request with its set pointless. */
  #sendOrGiveUpSet(question: Question, atMs: number): readonly Effect[] {
    const { endsAtMs } = question;
    const run = question.kind === "set" ? question.run.kind : null;
    if (run === "stopped") return this.#askNearStorage("undeclared", endsAtMs, atMs);
    if (run === "exhausted") return this.#askNearStorage("long", endsAtMs, atMs);
    return this.#send(question, atMs);
  }

  /** Nobody here can tell whether the execution has happened or will. */
  #unknown(reason: string, what = "The primary did not answer"): Answer {
    const { repeatKey } = this.#input;
    return this.#failure("primary_unreachable", `${what}: ${reason}`, {
      hint: `Repeat the request with the header "Idempotency-Key: ${repeatKey}": it runs once, even if this one has run.`,
      retryAfterMs: DEFAULT_RETRY_AFTER_MS,
    });
  }

  #onRefused(
    question: Question,
    code: RefusalCode,
    message: string,
    retryAfterMs: number | null,
    atMs: number,
  ): readonly Effect[] {
    switch (code) {
      case "busy":
      case "over_budget":
      case "draining": {
        const elsewhere = code === "draining" ? this.#elsewhere(question, atMs) : null;
        if (elsewhere !== null) return elsewhere;
        const hint = "Nothing was done: repeat the request.";
        const failure = this.#failure("primary_busy", message, {
          hint,
          retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_AFTER_MS,
        });
        return this.#again(question, atMs, retryAfterMs ?? 0, failure);
      }
      case "in_doubt":
        // Now that it is known what the primary knows, the next sending is not in doubt.
        if (givesUpSet(question) || question.search.rounds < this.#bounds.attempts)
          return this.#sendOrGiveUpSet(question, atMs);
        return [this.#answer(this.#unknown(message))];
      case "pending":
        return this.#again(question, atMs, retryAfterMs ?? 0, this.#unknown(message, "The primary goes on with it"));
      case "unknown_module": {
        const hint =
          "Nothing was done. Register this build at the primary before its locations serve it. Then repeat the request.";
        return [this.#answer(this.#failure("unknown_module", message, { hint, retryAfterMs: DEFAULT_RETRY_AFTER_MS }))];
      }
      case "index_building": {
        const hint =
          "Nothing was done. Deploy with radical deploy, which waits until the index is built. GET /v1/indexes of the primary shows it.";
        return [this.#answer(this.#failure("index_building", message, { hint, retryAfterMs: DEFAULT_RETRY_AFTER_MS }))];
      }
      case "unknown_handler":
        return [this.#fail("unknown_handler", message, "Deploy the location and the primary from the same build.")];
      case "idempotency_key_reused":
        return [
          this.#fail(
            "idempotency_key_reused",
            message,
            "Use a new key for every new request, and repeat a request unchanged.",
          ),
        ];
      case "idempotency_key_unverified":
        return [
          this.#fail(
            "idempotency_key_unverified",
            message,
            "The keys of the deployment were replaced since. See what the request should have changed, and use a new key to send it anew.",
          ),
        ];
      case "answer_not_kept":
        return [
          this.#fail("answer_not_kept", message, "Do not repeat it: read what it has changed with another request."),
        ];
      case "execution_failed":
      case "too_many_units":
        return [this.#fail("execution_failed", message, "Nothing was written. See the log of the primary.")];
      case "wrote_on_get":
        return this.#wroteOnGet("the primary has refused it");
      case "outside_tables":
        return this.#onImpossible("it refuses the read/write set", question, atMs);
      case "unknown_workflow":
        return this.#onImpossible("it does not know the workflow that it is asked to start", question, atMs);
      case "clock_skew":
        return [warn("primary_rejected", message), this.#answer(this.#notTaken())];
    }
  }

  /** A fault of the primary. Its outcome by execution id is still to be had, unless this was the question. */
  #onImpossible(what: string, question: Question, atMs: number): readonly Effect[] {
    const warning = warn("impossible_reply", `The primary's reply to ${this.#input.handler} is wrong: ${what}.`);
    if (question.kind === "near-storage")
      return [warning, this.#fail("internal_error", `The primary's reply is wrong: ${what}.`)];
    return [warning, ...this.#askNearStorage("impossible-reply", question.endsAtMs, atMs)];
  }

  /** The same request under the same execution id after a wait, or the failure when attempts or time are used up. */
  #again(question: Question, atMs: number, atLeastMs: number, failure: Answer): readonly Effect[] {
    const { rounds } = question.search;
    const ms = Math.max(atLeastMs, this.#backoffMs(rounds));
    if (rounds >= this.#bounds.attempts || atMs + ms >= question.endsAtMs) return [this.#answer(failure)];
    this.#phase = { kind: "backing-off", question };
    return [{ kind: "wait", before: "lvi", ms }];
  }

  #onWaitedToAsk(event: Of<"waited">): readonly Effect[] {
    if (this.answered) return [];
    if (this.#phase.kind !== "backing-off") throw this.#unexpected(event);
    return this.#sendOrGiveUpSet(this.#phase.question, event.atMs);
  }

  /** Doubling, and up to half longer by the execution's own randomness, so that locations don't return in step. */
  #backoffMs(attempt: number): number {
    const { seed } = this.#input.environment;
    const jitter = 1 + (seed[attempt % seed.length] ?? 0) / 512;
    const { backoffMs, longestBackoffMs } = this.#bounds;
    return Math.round(Math.min(longestBackoffMs, backoffMs * 2 ** (attempt - 1)) * jitter);
  }

  /** It ends here, so that the primary has not seen it. */
  #stoppedOnGet(how: string, unit?: UnitId): readonly Effect[] {
    const { executionId: execution, module, handler, location } = this.#input;
    const alarm: LocationAlarm = { alarm: "wrote_on_get", execution, module, handler, location };
    const server = this.#primary.leader.believed;
    return [...this.#wroteOnGet(how, unit), { kind: "alarm", server, alarm, timeoutMs: this.#bounds.attemptMs }];
  }

  /** Nothing of it was told, and its writes are never sent. A unit is named in the log only: the run was not confirmed. */
  #wroteOnGet(how: string, unit?: UnitId): readonly Effect[] {
    const message = `The handler "${this.#input.handler}" must not write, because the request is a GET, and ${how}`;
    const hint = "Nothing was written. Call the handler with POST, and report this fault of the build.";
    const logged = unit === undefined ? message : `${message}: ${unit}`;
    return [warn("wrote_on_get", logged), this.#fail("wrote_on_get", message, hint)];
  }

  #fail(code: ErrorCode, message: string, hint = "See the logs of the location and of the primary."): Effect {
    return this.#answer(this.#failure(code, message, { hint, retryAfterMs: null }));
  }

  #failure(code: ErrorCode, message: string, advice: { hint: string; retryAfterMs: number | null }): Answer {
    return { kind: "failed", code, message, ...advice };
  }

  #answer(answer: Answer): Effect {
    if (this.answered) throw new Error("An execution is answered twice.");
    this.#phase = { kind: "ended" };
    if (this.#shown === null) return { kind: "answer", answer };
    return { kind: "answer", answer, verdict: verdictOn(this.#shown, answer) };
  }

  // ── 5. The followup: lost, it only makes the primary re-execute ────────────────────────────────────────────────────

  #follow(followup: Followup, search: LeaderSearch): readonly Effect[] {
    this.#phase = { kind: "following", followup, search };
    return [{ kind: "follow", server: search.next(), followup, timeoutMs: this.#bounds.attemptMs }];
  }

  #onFollowupAnswered(event: Of<"followup-answered">): readonly Effect[] {
    if (this.#phase.kind !== "following") throw this.#unexpected(event);
    this.#phase = { kind: "ended" };
    switch (event.result) {
      case "applied":
      case "completed_before":
        return [];
      case "unknown_intent":
      case "not_covered":
        return [
          warn("followup_refused", `The primary refused the followup of ${this.#input.handler}: ${event.result}.`),
        ];
    }
  }

  #onFollowupUnanswered(event: Of<"followup-unanswered">): readonly Effect[] {
    if (this.#phase.kind !== "following") throw this.#unexpected(event);
    const { followup, search } = this.#phase;
    if (search.missed()) return this.#follow(followup, search);
    const { rounds } = search;
    if (rounds < this.#bounds.followupAttempts)
      return [{ kind: "wait", before: "followup", ms: this.#backoffMs(rounds) }];
    this.#phase = { kind: "ended" };
    return [warn("followup_unanswered", event.reason)];
  }

  #onWaitedToFollow(event: Of<"waited">): readonly Effect[] {
    if (this.#phase.kind !== "following") throw this.#unexpected(event);
    return this.#follow(this.#phase.followup, this.#phase.search);
  }
}

type Of<Kind extends ExecutionEvent["kind"]> = Extract<ExecutionEvent, { kind: Kind }>;

const DEFAULT_RETRY_AFTER_MS = 1_000;
const UNDECLARED_TASKS = "it asks for tasks, and its manifest says that it asks for none";
const TOO_LARGE = "The execution's message is larger than the primary takes.";
const TOO_LARGE_HINT = "Nothing was written. Send smaller arguments, or let the handler read and write fewer items.";

/** Once: a second look at the cache could show another version than the one executed on. */
function capture({ snapshot }: Sight, unit: UnitId, entry: Entry): void {
  if (!snapshot.has(unit)) snapshot.set(unit, entry);
}

/** The units under which the cache may have what the run has read without a value, or would have read. */
function missingOf({ set, lacking }: Found, { snapshot, spans }: Sight): readonly UnitId[] {
  const missing = new Set(lacking);
  for (const unit of set.reads) if (!snapshot.has(unit) && !spans.has(unit)) missing.add(cachedAs(unit));
  return [...missing].toSorted(compareKeys);
}

function withAllScans(units: readonly UnitId[], { scans, fetched }: Sight): readonly UnitId[] {
  return [...new Set([...units, ...scans, ...[...fetched].filter(isScanUnit)])].toSorted(compareKeys);
}

/**
 * Departure from the paper (section 3.2), where a unit that the cache lacks makes validation fail. Here absence is a
 * value, and a location that has no other guesses it. The run of f^rw, or of f in record mode, had the same guess.
 */
function guess(set: AccessSet, { fetched, spans }: Sight, snapshot: Map<UnitId, Entry>): ReadonlySet<UnitId> {
  const guessed = new Set<UnitId>();
  for (const unit of set.reads) {
    if (snapshot.has(unit)) {
      if ((spans.get(unit)?.guess ?? null) !== null) guessed.add(unit);
      continue;
    }
    // An item that the cache was not asked for is not said to be absent.
    if (!isSpan(unit) && !fetched.has(unit)) continue;
    guessed.add(unit);
    snapshot.set(unit, guessOf(unit));
  }
  return guessed;
}

function verdictOn(shown: Uint8Array, answer: Answer): Verdict {
  if (answer.kind !== "outcome" || answer.outcome.kind !== "result") return "failed";
  const { value } = answer.outcome;
  // variant: verdict-compared
  const isSame = value.length === shown.length && value.every((byte, at) => byte === shown[at]);
  return isSame ? "confirmed" : "corrected";
}

/** The run can't be used. */
function givesUpSet(question: Question): boolean {
  return question.kind === "set" && (question.run.kind === "stopped" || question.run.kind === "exhausted");
}

function canBeValid(question: Question): question is SetQuestion {
  return question.kind === "set" && question.run.kind !== "none";
}

function readsOf(question: Question): Iterable<UnitId> {
  return question.kind === "set" ? question.set.reads : [];
}

/** A guess about a unit that is not written is known from here on. */
function confirmedGuesses({ guessed, spans }: Basis, writes: readonly Write[]): readonly CachePut[] {
  const written = new Set(writes.map(({ unit }) => unit));
  return [...guessed]
    .filter((unit) => !written.has(unit))
    .map((unit) => ({ unit, entry: spans.get(unit)?.guess ?? guessOf(unit) }));
}

/**
 * Whether repairs show that a unit was another one. The primary may have walked further than the location, or less far, so the
 * repair of a span may have other bounds.
 */
function repairedBy(repairs: readonly Repair[]): (unit: UnitId) => boolean {
  const repaired = new Set(repairs.map(({ unit }) => unit));
  const spans = [...repaired].filter(isSpan).map(spanOf);
  return (unit) => {
    const sent = isSpan(unit) ? spanOf(unit) : null;
    if (sent === null || repaired.has(unit)) return repaired.has(unit);
    return spans.some(
      (span) =>
        span?.kind === sent.kind && span.table === sent.table && isBelow(span.lo, sent.hi) && isBelow(sent.lo, span.hi),
    );
  };
}

function reasonOf(question: Question, cause: ExecutedCause, repairs: readonly Repair[]): PathReason {
  switch (cause) {
    case "stored":
      return "stored";
    case "requested":
      return question.kind === "near-storage" ? question.reason : "suspended";
    case "stale": {
      if (question.kind === "near-storage") return "stale";
      const { doubt, guessed, snapshot, set } = question;
      if (doubt === "hot") return "hot";
      const isRepaired = repairedBy(repairs);
      const isLacked = (unit: UnitId): boolean => guessed.has(unit) || !snapshot.has(unit);
      return [...set.reads].some((unit) => isLacked(unit) && isRepaired(unit)) ? "missing" : "stale";
    }
  }
}

/** The repairs for the cache, behind what they have disproved of spans with other bounds. */
function putsOf(repairs: readonly Repair[], question: Question): readonly CachePut[] {
  const puts = repairs.map((repair) => putOf(repair, question));
  if (question.kind !== "set") return puts;
  const repaired = new Set(repairs.map(({ unit }) => unit));
  const isRepaired = repairedBy(repairs);
  const forgotten = question.units.flatMap(({ unit }): readonly CachePut[] => {
    const disproved = question.spans.get(unit)?.told;
    if (disproved === undefined || repaired.has(unit) || !isRepaired(unit)) return [];
    return [{ unit, entry: { version: { ...disproved, hash: null }, value: null }, disproved }];
  });
  return [...forgotten, ...puts];
}

/** A repair for the cache, with the version that it has disproved. */
function putOf({ unit, entry }: Repair, question: Question): CachePut {
  const version = question.kind === "set" ? sentOf(unit, question) : null;
  if (version === null || sameVersion(unit, version, entry.version)) return { unit, entry };
  // A directory may be ahead of the commit id that it names.
  if (isSpan(unit)) return { unit, entry, disproved: version };
  const isDisproved = compareCommits(version.commitId, entry.version.commitId) >= 0;
  return isDisproved ? { unit, entry, disproved: version } : { unit, entry };
}

/** The version that was sent, of a row within the digest of its span. Null: none. */
function sentOf(unit: UnitId, { units, snapshot, spans }: SetQuestion): Version | null {
  if (isSpan(unit)) return spans.get(unit)?.told ?? null;
  const sent = units.find((accessed) => accessed.unit === unit);
  if (sent !== undefined) return sent.mode === "write" ? null : sent.version;
  return snapshot.get(unit)?.version ?? null;
}

function hasWritten(speculation: Speculation): boolean {
  switch (speculation.kind) {
    case "completed":
      return speculation.writes.length > 0 || speculation.effects !== undefined;
    case "stopped":
      return speculation.undeclared === "write";
    case "exhausted":
      // The primary sees to it.
      return false;
  }
}

/** The guard for a run that was there before its set: a unit that it touched and that is not asked for, or null. */
function firstOutside(touched: AccessSet, asked: AccessSet): UnitId | null {
  const outside = (touches: ReadonlySet<UnitId>, asks: ReadonlySet<UnitId>): UnitId | undefined =>
    [...touches].find((unit) => !asks.has(unit));
  return outside(touched.reads, asked.reads) ?? outside(touched.writes, asked.writes) ?? null;
}

/**
 * Each unit once, sorted. An item that nothing is known of goes with version null, so that it is locked and repaired. A span has
 * a version always.
 */
function accessedUnits(set: AccessSet, snapshot: CapturedSnapshot): readonly AccessedUnit[] {
  return [...new Set([...set.reads, ...set.writes])].toSorted(compareKeys).map((unit) => {
    if (!set.reads.has(unit)) return { unit, mode: "write" };
    const entry = snapshot.get(unit) ?? (isSpan(unit) ? guessOf(unit) : null);
    return { unit, mode: set.writes.has(unit) ? "read-write" : "read", version: entry?.version ?? null };
  });
}

function put(entries: readonly CachePut[]): readonly Effect[] {
  return entries.length === 0 ? [] : [{ kind: "put", entries }];
}

function warn(code: WarningCode, message: string): Effect {
  return { kind: "warn", code, message };
}
