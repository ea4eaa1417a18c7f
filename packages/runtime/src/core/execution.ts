/**
 * One execution at a location (paper, section 3.2 and figure 3): derive the read/write set, capture it, send the LVI
 * request, speculate, join, answer, follow up.
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
  FollowupResult,
  HandlerPlan,
  LocationAlarm,
  LviReply,
  LviRequest,
  ModuleHash,
  RefusalCode,
  Repair,
  UnitId,
  Write,
} from "@radical/protocol";
import { compareCommits, compareKeys, entryOf, NO_COMMIT, sameVersion, splitUnit } from "@radical/protocol";
import type { AccessSet } from "@radical/wasm-host";
import type {
  Answer,
  CachePut,
  CapturedSnapshot,
  Derivation,
  Effect,
  ExecutionEvent,
  PathReason,
  Speculation,
  WarningCode,
} from "./effects.ts";
import { type Doubt, Experience, type Read } from "./experience.ts";
import { LeaderSearch } from "./leader.ts";
import { PrimaryLink } from "./primary-link.ts";

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
  /** Test hook: tables whose units are left out of the read/write set. */
  readonly undeclaredTables: readonly string[];
}

export interface ExecutionBounds {
  /** Most batches that are read from the cache to find the set. */
  readonly fetchRounds: number;
  /** Most runs of f in record mode: each but the last was in vain. */
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

type SpeculationState =
  | { readonly kind: "none" }
  /** For the confirmation. */
  | { readonly kind: "waiting"; readonly snapshot: CapturedSnapshot; readonly set: AccessSet }
  | { readonly kind: "running" }
  | Speculation;

/**
 * What is guessed of a unit that the cache lacks: that it is absent. The commit id is that of no execution, so the
 * version can't be taken for an own write; as an absence it is validated like any other.
 */
const GUESS: Entry = entryOf(NO_COMMIT, null);

interface Confirmation {
  readonly commitId: CommitId | null;
}

export class Execution {
  readonly #input: ExecutionInput;
  readonly #bounds: ExecutionBounds;
  readonly #experience: Experience;
  readonly #plan: HandlerPlan;
  readonly #snapshot = new Map<UnitId, Entry>();
  /** Asked of the cache, found or not: never asked for again. */
  readonly #fetched = new Set<UnitId>();
  /** Of the snapshot. */
  readonly #guessed = new Set<UnitId>();
  #doubt: Doubt | null = null;
  #fetchRounds = 0;
  #recordRuns = 0;
  #derivation: Found | null = null;

  #startedAtMs = 0;
  #request: Omit<LviRequest, "attempt" | "seen"> | null = null;
  /** Why the request names no set. */
  #nearStorageReason: PathReason | null = null;
  readonly #primary: PrimaryLink;
  /** Of this question. */
  readonly #search: LeaderSearch;
  /** How often anything was sent: the primary tells repeats from duplicates by it. */
  #sendings = 0;
  /** As the primary told it in its last reply to this execution, or before it began. */
  #seen: CommitId | null;
  #speculation: SpeculationState = { kind: "none" };
  #confirmation: Confirmation | null = null;
  #answered = false;

  #followup: Followup | null = null;
  readonly #followupSearch: LeaderSearch;

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
    this.#search = new LeaderSearch(primary.leader);
    this.#followupSearch = new LeaderSearch(primary.leader);
  }

  /** Whether the client's answer is settled; a speculation that has not begun is then needless. */
  get answered(): boolean {
    return this.#answered;
  }

  step(event: ExecutionEvent): readonly Effect[] {
    switch (event.kind) {
      case "started":
        this.#startedAtMs = event.atMs;
        if (this.#plan === "near-storage") return this.#askNearStorage("plan", event.atMs);
        if (this.#experience.isLong(this.#input.handler, event.atMs)) return this.#askNearStorage("long", event.atMs);
        return [this.#find()];
      case "derived":
        return this.#onDerived(event.derivation, event.atMs);
      case "fetched":
        return this.#onFetched(event.entries, event.atMs);
      case "speculated":
        return this.#onSpeculated(event.speculation, event.atMs);
      case "replied":
        this.#primary.heard(event.reply.asOf);
        this.#seen = event.reply.asOf ?? this.#seen;
        return this.#answered ? [] : this.#onReply(event.reply, event.atMs);
      case "unanswered":
        return this.#answered ? [] : this.#onUnanswered(event.reason, event.atMs);
      case "not-leading":
        return this.#answered ? [] : this.#onNotLeading(event.reason, event.atMs);
      case "rejected":
        return this.#answered ? [] : this.#onRejected(event.reason, event.atMs);
      case "too-large":
        return this.#answered ? [] : [this.#fail("execution_failed", TOO_LARGE, TOO_LARGE_HINT)];
      case "followup-answered":
        return this.#onFollowupAnswered(event.result);
      case "followup-unanswered":
        return this.#onFollowupUnanswered(event.reason);
      case "waited":
        if (event.before === "followup") return this.#follow();
        return this.#sendOrGiveUpSet(event.atMs);
    }
  }

  // ── 1. The read/write set, captured in one snapshot ──────────────────────────────────────────────────────────────

  #find(): Effect {
    if (!this.#records) return { kind: "derive", snapshot: this.#captured() };
    this.#recordRuns++;
    return { kind: "record", snapshot: this.#captured() };
  }

  get #records(): boolean {
    return this.#plan === "recorded";
  }

  /** A copy: what an effect holds never changes under it. */
  #captured(): CapturedSnapshot {
    return new Map(this.#snapshot);
  }

  #onDerived(derivation: Derivation, atMs: number): readonly Effect[] {
    if (derivation.kind === "failed") return this.#notFound(derivation.reason, atMs);
    this.#derivation = derivation;
    for (const [unit, entry] of derivation.captured) this.#capture(unit, entry);
    const { set } = derivation;
    const isMissing = (unit: UnitId): boolean => !this.#snapshot.has(unit) && !this.#fetched.has(unit);
    const units = [...set.reads].filter(isMissing).toSorted(compareKeys);
    if (units.length === 0 || this.#fetchRounds === this.#bounds.fetchRounds) return this.#ask(derivation, atMs);
    this.#fetchRounds++;
    for (const unit of units) this.#fetched.add(unit);
    return [{ kind: "fetch", units }];
  }

  #onFetched(entries: ReadonlyMap<UnitId, Entry>, atMs: number): readonly Effect[] {
    if (this.#derivation === null) throw new Error("fetched before anything was derived");
    const { set, missing } = this.#derivation;
    for (const unit of set.reads) {
      const entry = entries.get(unit);
      if (entry !== undefined) this.#capture(unit, entry);
    }
    // Another run sees more only if a value came that this one had missed.
    if (!missing.some((unit) => this.#snapshot.has(unit))) return this.#ask(this.#derivation, atMs);
    if (this.#recordRuns === this.#bounds.recordRuns)
      return this.#notFound(`${this.#recordRuns} runs did not find all that it reads`, atMs);
    return [this.#find()];
  }

  /** Once: a second look at the cache could show another version than the one executed on. */
  #capture(unit: UnitId, entry: Entry): void {
    if (!this.#snapshot.has(unit)) this.#snapshot.set(unit, entry);
  }

  #notFound(reason: string, atMs: number): readonly Effect[] {
    const code = this.#records ? "record_mode_failed" : "derivation_failed";
    return [warn(code, `${this.#input.handler}: ${reason}`), ...this.#askNearStorage("no-set", atMs)];
  }

  // ── 2. The LVI request, and beside it the speculation ────────────────────────────────────────────────────────────

  #ask(derived: Found, atMs: number): readonly Effect[] {
    const { run, isExhausted } = derived;
    if (this.#records && (run !== null || isExhausted)) this.#experience.ran(this.#input.handler, isExhausted, atMs);
    const [write] = derived.set.writes;
    if (this.#input.mustNotWrite && write !== undefined)
      return this.#stoppedOnGet("its read/write set has a unit that it writes", write);
    if (isExhausted) return this.#askNearStorage("long", atMs);
    const set = this.#withoutUndeclared(derived.set);
    const outside = run === null ? null : firstOutside(derived.set, set);
    if (outside !== null) {
      const warning = this.#stopped(`access of ${outside}, which is not in the read/write set`);
      return [warning, ...this.#askNearStorage("undeclared", atMs)];
    }
    // A run in record mode that was ended early has guessed nothing to its end.
    if (!this.#records || run !== null) this.#guess(set);
    this.#request = this.#requestFor(accessedUnits(set, this.#snapshot));
    const effects = this.#send(atMs);
    // A unit that goes with version null makes validation fail, so f is not run.
    if ([...set.reads].some((unit) => !this.#snapshot.has(unit))) return effects;
    if (run !== null) {
      this.#speculation = run;
      return effects;
    }
    const snapshot = this.#captured();
    this.#doubt = this.#doubtOf(set, atMs);
    if (this.#doubt !== null) {
      this.#speculation = { kind: "waiting", snapshot, set };
      return effects;
    }
    this.#speculation = { kind: "running" };
    return [...effects, { kind: "speculate", after: "send", snapshot, set }];
  }

  /**
   * Departure from the paper, where a unit that the cache lacks makes validation fail (section 3.2): absence is a value,
   * and a location that has no other guesses it. f^rw, and f in record mode, have run on the same guess.
   */
  #guess(set: AccessSet): void {
    for (const unit of set.reads) {
      // What the cache was not asked for is not said to be absent.
      if (this.#snapshot.has(unit) || !this.#fetched.has(unit)) continue;
      this.#guessed.add(unit);
      // variant: absence-guessed
      this.#snapshot.set(unit, GUESS);
    }
  }

  #doubtOf(set: AccessSet, atMs: number): Doubt | null {
    const guessed: Read[] = [];
    const known: UnitId[] = [];
    for (const unit of set.reads) {
      if (this.#guessed.has(unit)) guessed.push({ unit, written: set.writes.has(unit) });
      else known.push(unit);
    }
    return this.#experience.doubt(this.#input.handler, guessed, known, atMs);
  }

  #stopped(reason: string): Effect {
    return warn("speculation_stopped", `${this.#input.handler}: ${reason}`);
  }

  /** The primary finds the set itself. Also after a speculation that left its set, under the same execution id. */
  #askNearStorage(reason: PathReason, atMs: number): readonly Effect[] {
    this.#nearStorageReason = reason;
    this.#request = this.#requestFor(null);
    this.#speculation = { kind: "none" };
    this.#confirmation = null;
    this.#search.restart();
    return this.#send(atMs);
  }

  #requestFor(units: readonly AccessedUnit[] | null): Omit<LviRequest, "attempt" | "seen"> {
    const { executionId, module, handler, args, environment, location, retained, mustNotWrite } = this.#input;
    return {
      executionId,
      module,
      handler,
      args,
      environment,
      location,
      units,
      retained,
      mustNotWrite,
      deadlineMs: this.#bounds.totalMs,
    };
  }

  #send(atMs: number): readonly Effect[] {
    if (this.#request === null) throw new Error("nothing to send");
    const server = this.#search.next();
    const leftMs = this.#startedAtMs + this.#bounds.totalMs - atMs;
    const request = { ...this.#request, attempt: ++this.#sendings, seen: this.#seen };
    return [{ kind: "send", server, request, timeoutMs: Math.max(1, Math.min(this.#bounds.attemptMs, leftMs)) }];
  }

  #withoutUndeclared(set: AccessSet): AccessSet {
    const undeclared = this.#input.undeclaredTables;
    if (undeclared.length === 0) return set;
    const declared = (units: ReadonlySet<UnitId>): ReadonlySet<UnitId> =>
      new Set([...units].filter((unit) => !undeclared.includes(splitUnit(unit).table)));
    return { reads: declared(set.reads), writes: declared(set.writes) };
  }

  // ── 3. The join of reply and speculation ─────────────────────────────────────────────────────────────────────────

  #onSpeculated(speculation: Speculation, atMs: number): readonly Effect[] {
    const warnings = speculation.kind === "stopped" ? [this.#stopped(speculation.reason)] : [];
    // Dropped: the primary's outcome was there first, or the execution was asked near storage.
    if (this.#answered || this.#speculation.kind !== "running") return warnings;
    if (speculation.kind !== "stopped")
      this.#experience.ran(this.#input.handler, speculation.kind === "exhausted", atMs);
    if (this.#input.mustNotWrite && hasWritten(speculation))
      return [...warnings, ...this.#stoppedOnGet("its run has written")];
    this.#speculation = speculation;
    // variant: speculation-done
    return [...warnings, ...this.#join(atMs)];
  }

  #onReply(reply: LviReply, atMs: number): readonly Effect[] {
    if (reply.kind !== "refused" || reply.code !== "draining") this.#search.found();
    switch (reply.kind) {
      case "valid":
        if (!this.#canBeValid()) return this.#onImpossible("it confirmed a request that named no versions", atMs);
        this.#confirmation = reply;
        this.#learn([], atMs);
        return this.#join(atMs);
      case "executed":
        if (reply.cause === "stale") this.#learn(reply.repairs, atMs);
        return [
          this.#answer({
            kind: "outcome",
            outcome: reply.outcome,
            path: "near-storage",
            reason: this.#reasonOf(reply.cause, reply.repairs),
          }),
          ...put(reply.repairs.map((repair) => this.#repair(repair))),
        ];
      case "refused":
        return this.#onRefused(reply.code, reply.message, reply.retryAfterMs, atMs);
    }
  }

  /** Answers when both are there: the primary's confirmation and the speculation that it confirms. */
  #join(atMs: number): readonly Effect[] {
    // variant: answer-confirmed
    if (this.#confirmation === null) return [];
    // variant: confirmed-commit
    const { commitId } = this.#confirmation;
    switch (this.#speculation.kind) {
      case "none":
      case "running":
        return [];
      case "waiting": {
        const { snapshot, set } = this.#speculation;
        this.#speculation = { kind: "running" };
        return [{ kind: "speculate", after: "reply", snapshot, set }];
      }
      case "stopped":
        return [...this.#leftSet(this.#speculation), ...this.#askNearStorage("undeclared", atMs)];
      case "exhausted":
        // variant: speculation-exhausted
        return this.#askNearStorage("long", atMs);
      case "completed": {
        const { outcome, writes } = this.#speculation;
        if (commitId === null && writes.length > 0)
          return this.#onImpossible("it confirmed writes without an intent", atMs);
        const reason = this.#doubt === null ? "valid" : "doubted";
        const answer = this.#answer({ kind: "outcome", outcome, path: "speculative", reason });
        const absences = this.#confirmedAbsences(writes);
        if (commitId === null) return [answer, ...put(absences)];
        // Only now is there a commit id, so nothing speculative was ever in the cache.
        const entries = writes.map(({ unit, value }) => ({ unit, entry: entryOf(commitId, value) }));
        this.#followup = { executionId: this.#input.executionId, commitId, outcome, writes };
        return [answer, ...this.#follow(), ...put([...entries, ...absences])];
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
        `the handler "${handler}" leaves its read/write set, and runs in record mode here from now on: ${fault}`,
      ),
    ];
  }

  /** What was guessed and is not written is known from here on. */
  #confirmedAbsences(writes: readonly Write[]): readonly CachePut[] {
    const written = new Set(writes.map(({ unit }) => unit));
    return [...this.#guessed].filter((unit) => !written.has(unit)).map((unit) => ({ unit, entry: GUESS }));
  }

  /**
   * What a validation says of guesses and versions. Repairs show what was wrong, but for units that the handler may have
   * written since: those are held wrong only if nothing else explains that validation failed.
   */
  #learn(repairs: readonly Repair[], atMs: number): void {
    const repaired = new Map(repairs.map(({ unit, entry }) => [unit, entry]));
    const units = this.#request?.units ?? [];
    const explained = units.some(({ unit, mode }) => mode === "read" && repaired.has(unit));
    for (const accessed of units) {
      if (accessed.mode === "write" || accessed.version === null) continue;
      const { unit } = accessed;
      const written = accessed.mode === "read-write";
      const wrong = repaired.has(unit);
      if (wrong && written && explained) continue;
      if (this.#guessed.has(unit)) this.#experience.guessed(this.#input.handler, { unit, written }, !wrong);
      else this.#experience.compared(unit, wrong, atMs);
    }
  }

  #reasonOf(cause: ExecutedCause, repairs: readonly Repair[]): PathReason {
    switch (cause) {
      case "stored":
        return "stored";
      case "requested":
        return this.#nearStorageReason ?? "suspended";
      case "stale": {
        if (this.#doubt === "hot") return "hot";
        const lacked = (unit: UnitId): boolean => this.#guessed.has(unit) || !this.#snapshot.has(unit);
        return repairs.some(({ unit }) => this.#isRead(unit) && lacked(unit)) ? "missing" : "stale";
      }
    }
  }

  #isRead(unit: UnitId): boolean {
    return this.#request?.units?.some((accessed) => accessed.unit === unit && accessed.mode !== "write") === true;
  }

  #canBeValid(): boolean {
    const units = this.#request?.units ?? null;
    return units !== null && units.every((accessed) => accessed.mode === "write" || accessed.version !== null);
  }

  #repair({ unit, entry }: Repair): CachePut {
    const sent = this.#request?.units?.find((accessed) => accessed.unit === unit);
    if (sent === undefined || sent.mode === "write" || sent.version === null) return { unit, entry };
    const { version } = sent;
    const disproved =
      compareCommits(version.commitId, entry.version.commitId) >= 0 && !sameVersion(version, entry.version);
    return disproved ? { unit, entry, disproved: version } : { unit, entry };
  }

  // ── 4. What can go wrong with the request: never an answer from speculation ───────────────────────────────────────

  /** Whoever is asked next, also another server, is asked as one that may know of it: what was sent may have been done. */
  #onUnanswered(reason: string, atMs: number): readonly Effect[] {
    // variant: primary-unanswered
    const elsewhere = this.#elsewhere(atMs);
    return [warn("primary_unanswered", reason), ...(elsewhere ?? this.#again(atMs, 0, this.#unknown(reason)))];
  }

  /**
   * By its signature or form: a key, a clock or a version is wrong, or the bytes were changed on their way. Another server may
   * take it. The same one is not asked again, so that a wrong key costs each request one answer. Clients are not told of signatures.
   */
  #onRejected(reason: string, atMs: number): readonly Effect[] {
    return [warn("primary_rejected", reason), ...(this.#elsewhere(atMs) ?? [this.#answer(this.#notTaken())])];
  }

  #notTaken(): Answer {
    return this.#unknown("it did not take the location's request; the location's log says why");
  }

  /** A standby says so, which is nothing to warn of as long as another server can be asked. */
  #onNotLeading(reason: string, atMs: number): readonly Effect[] {
    return (
      this.#elsewhere(atMs) ?? [warn("primary_unanswered", reason), ...this.#again(atMs, 0, this.#unknown(reason))]
    );
  }

  /** The same at the next server of the round, at once; null: all were asked, or the time is used up. */
  #elsewhere(atMs: number): readonly Effect[] | null {
    if (!this.#search.missed() || atMs >= this.#startedAtMs + this.#bounds.totalMs) return null;
    return this.#sendOrGiveUpSet(atMs);
  }

  /** A speculation that can't be used makes a request with its set pointless. */
  get #givesUpSet(): boolean {
    return this.#speculation.kind === "stopped" || this.#speculation.kind === "exhausted";
  }

  #sendOrGiveUpSet(atMs: number): readonly Effect[] {
    if (!this.#givesUpSet) return this.#send(atMs);
    return this.#askNearStorage(this.#speculation.kind === "exhausted" ? "long" : "undeclared", atMs);
  }

  /** Nobody here can tell whether the execution has happened or will. */
  #unknown(reason: string, what = "the primary did not answer"): Answer {
    const { repeatKey } = this.#input;
    return this.#failure("primary_unreachable", `${what}: ${reason}`, {
      hint: `repeat the request with the header "Idempotency-Key: ${repeatKey}", and it runs once, whether or not this one did`,
      retryAfterMs: DEFAULT_RETRY_AFTER_MS,
    });
  }

  #onRefused(code: RefusalCode, message: string, retryAfterMs: number | null, atMs: number): readonly Effect[] {
    switch (code) {
      case "busy":
      case "over_budget":
      case "draining": {
        const elsewhere = code === "draining" ? this.#elsewhere(atMs) : null;
        if (elsewhere !== null) return elsewhere;
        const hint = "nothing was done: repeat the request";
        const failure = this.#failure("primary_busy", message, {
          hint,
          retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_AFTER_MS,
        });
        return this.#again(atMs, retryAfterMs ?? 0, failure);
      }
      case "in_doubt":
        // Now that it is known what the primary knows, the next sending is not in doubt.
        if (this.#givesUpSet || this.#search.rounds < this.#bounds.attempts) return this.#sendOrGiveUpSet(atMs);
        return [this.#answer(this.#unknown(message))];
      case "pending":
        return this.#again(atMs, retryAfterMs ?? 0, this.#unknown(message, "the primary goes on with it"));
      case "unknown_module": {
        const hint =
          "nothing was done: register this build at the primary before its locations serve it, then repeat the request";
        return [this.#answer(this.#failure("unknown_module", message, { hint, retryAfterMs: DEFAULT_RETRY_AFTER_MS }))];
      }
      case "unknown_handler":
        return [this.#fail("unknown_handler", message, "deploy the location and the primary from the same build")];
      case "idempotency_key_reused":
        return [
          this.#fail(
            "idempotency_key_reused",
            message,
            "use a new key for every new request; repeat a request unchanged",
          ),
        ];
      case "idempotency_key_unverified":
        return [
          this.#fail(
            "idempotency_key_unverified",
            message,
            "the keys of the deployment were replaced since: see what the request should have changed, and use a new key to send it anew",
          ),
        ];
      case "answer_not_kept":
        return [
          this.#fail("answer_not_kept", message, "do not repeat it: read what it has changed with another request"),
        ];
      case "execution_failed":
      case "too_many_units":
        return [this.#fail("execution_failed", message, "nothing was written; see the log of the primary")];
      case "wrote_on_get":
        return this.#wroteOnGet("the primary has refused it");
      case "clock_skew":
        return [warn("primary_rejected", message), this.#answer(this.#notTaken())];
    }
  }

  /** A fault of the primary. Its outcome by execution id is still to be had, unless this was the question. */
  #onImpossible(what: string, atMs: number): readonly Effect[] {
    const warning = warn("impossible_reply", `${this.#input.handler}: ${what}`);
    if (this.#request?.units === null)
      return [warning, this.#fail("internal_error", `the primary's reply is wrong: ${what}`)];
    return [warning, ...this.#askNearStorage("impossible-reply", atMs)];
  }

  /** The same request under the same execution id after a wait, or the failure when attempts or time are used up. */
  #again(atMs: number, atLeastMs: number, failure: Answer): readonly Effect[] {
    const ms = Math.max(atLeastMs, this.#backoffMs(this.#search.rounds));
    const endsAtMs = this.#startedAtMs + this.#bounds.totalMs;
    if (this.#search.rounds >= this.#bounds.attempts || atMs + ms >= endsAtMs) return [this.#answer(failure)];
    return [{ kind: "wait", before: "lvi", ms }];
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
    const message = `the handler "${this.#input.handler}" must not write, because the request is a GET, and ${how}`;
    const hint = "nothing was written; call the handler with POST, and report this fault of the build";
    const logged = unit === undefined ? message : `${message}: ${unit}`;
    return [warn("wrote_on_get", logged), this.#fail("wrote_on_get", message, hint)];
  }

  #fail(code: ErrorCode, message: string, hint = "see the logs of the location and of the primary"): Effect {
    return this.#answer(this.#failure(code, message, { hint, retryAfterMs: null }));
  }

  #failure(code: ErrorCode, message: string, advice: { hint: string; retryAfterMs: number | null }): Answer {
    return { kind: "failed", code, message, ...advice };
  }

  #answer(answer: Answer): Effect {
    if (this.#answered) throw new Error("answered twice");
    this.#answered = true;
    return { kind: "answer", answer };
  }

  // ── 5. The followup: lost, it only makes the primary re-execute ──────────────────────────────────────────────────

  #follow(): readonly Effect[] {
    if (this.#followup === null) throw new Error("no followup");
    const server = this.#followupSearch.next();
    return [{ kind: "follow", server, followup: this.#followup, timeoutMs: this.#bounds.attemptMs }];
  }

  #onFollowupAnswered(result: FollowupResult): readonly Effect[] {
    switch (result) {
      case "applied":
      case "completed_before":
        return [];
      case "unknown_intent":
      case "not_covered":
        return [warn("followup_refused", `${this.#input.handler}: ${result}`)];
    }
  }

  #onFollowupUnanswered(reason: string): readonly Effect[] {
    if (this.#followupSearch.missed()) return this.#follow();
    const { rounds } = this.#followupSearch;
    if (rounds >= this.#bounds.followupAttempts) return [warn("followup_unanswered", reason)];
    return [{ kind: "wait", before: "followup", ms: this.#backoffMs(rounds) }];
  }
}

const DEFAULT_RETRY_AFTER_MS = 1_000;
const TOO_LARGE = "the execution's message is larger than the primary takes";
const TOO_LARGE_HINT = "nothing was written; send smaller arguments, or let the handler read and write fewer items";

function hasWritten(speculation: Speculation): boolean {
  switch (speculation.kind) {
    case "completed":
      return speculation.writes.length > 0;
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

/** Each unit once, sorted; one that nothing is known of goes with version null, so that it is locked and repaired. */
function accessedUnits(set: AccessSet, snapshot: CapturedSnapshot): readonly AccessedUnit[] {
  return [...new Set([...set.reads, ...set.writes])].toSorted(compareKeys).map((unit) => {
    if (!set.reads.has(unit)) return { unit, mode: "write" };
    return { unit, mode: set.writes.has(unit) ? "read-write" : "read", version: snapshot.get(unit)?.version ?? null };
  });
}

function put(entries: readonly CachePut[]): readonly Effect[] {
  return entries.length === 0 ? [] : [{ kind: "put", entries }];
}

function warn(code: WarningCode, message: string): Effect {
  return { kind: "warn", code, message };
}
