/**
 * A location in the simulation. The interface has the needs of the simulation. The small model below follows the protocol's
 * rules for locations literally, so that the real edge core is not the server's only partner.
 */
import {
  type AccessedUnit,
  type CommitId,
  contains,
  countEntry,
  decodeDirectory,
  decodeLine,
  directoryEntry,
  type Entry,
  entryOf,
  type Environment,
  type ExecutionId,
  type Followup,
  isSpan,
  type ListeningQuestion,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  present,
  type Query,
  type Span,
  spanOf,
  type UnitId,
  type Version,
  type Write,
} from "@radical/protocol";
import type { ListeningBounds, Verdict } from "@radical/runtime/core";
import { isWithin, type Scanned, spanSnapshot } from "@radical/wasm-host";
import type { Clock } from "./clock.ts";
import type { FaultCounts } from "./faults.ts";
import { type KnownCommits, ModelCache } from "./model-cache.ts";
import type { ToLocation, ToPrimary } from "./network.ts";
import { locationHost, MODULES, PLANS, type ProgramArguments, type ProgramName } from "./programs.ts";
import type { Stream } from "./streams.ts";
import type { Trace } from "./trace.ts";

/** A request of a client. */
export interface Invocation {
  readonly executionId: ExecutionId;
  readonly program: ProgramName;
  readonly args: ProgramArguments;
  readonly encodedArgs: Uint8Array;
  readonly caller: string | null;
  /** The client chose the id and will use it again if it gets no answer. */
  readonly retained: boolean;
  /** A GET, whatever the program does. */
  readonly mustNotWrite: boolean;
  /** The client asks to be shown a result before its confirmation. */
  readonly prefersSpeculative: boolean;
}

/** A result that a client is shown before its answer. */
export interface Shown {
  readonly result: Uint8Array;
  /** The primary had confirmed it already. */
  readonly isConfirmed: boolean;
}

/** The ways to tell a client something. */
export interface Client {
  /** The verdict is null if nothing was shown, and undefined if the client was told nothing more. */
  readonly answer: (answer: Answer, verdict?: Verdict | null) => void;
  readonly show: (shown: Shown) => void;
}

/** The answer to the client; null: nobody knows what happened. */
export type Answer = Outcome | null;

export interface Location {
  /** The build that it runs: the newest one that was deployed to it. */
  module: ModuleHash;
  invoke(invocation: Invocation, client: Client): void;
  receive(message: ToLocation): void;
  /** A part of it, or all, loses everything that is under way; the cache survives. */
  crash(): void;
  /** The platform ends a request that listens. */
  cutOff(): void;
  /** A part of it does nothing for a while. */
  stop(ms: number): void;
  /** Sets a clock: how far it is from the true time. */
  setClock(offsetMs: number): void;
  /** Does something bad to the cache. */
  disturb(): void;
}

export function isLviReply(reply: ToLocation["reply"]): reply is LviReply {
  return typeof reply === "object" && reply.kind !== "renewed" && reply.kind !== "lapsed";
}

/** As it calls itself in requests. */
export function nameOf(index: number): string {
  return `location ${index}`;
}

export interface LocationOptions {
  readonly index: number;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly counts: FaultCounts;
  /** Probability that the location ends before an effect. It changes when all is to become quiet. */
  readonly faults: { end: number };
  /** How far the rates of its clocks are from the true one at most. */
  readonly drift: number;
  /** How long it waits for a reply. */
  readonly attemptMs: number;
  /** How many the primary has. */
  readonly servers: number;
  /** How it listens to updates; null: it does not. */
  readonly listening: Partial<ListeningBounds> | null;
  /** The time after which a server ends the answer to those who listen. */
  readonly updatesMs: number;
  readonly send: (message: ToPrimary) => void;
  /** Asks a server to tell of updates; `arrived` is called with each thing that has come. */
  readonly listen: (server: number, question: ListeningQuestion, arrived: () => void) => Stream;
  readonly commits: KnownCommits;
}

interface Speculation {
  readonly result: { readonly outcome: Outcome; readonly writes: readonly Write[] } | null;
  done: boolean;
}

interface Running {
  readonly invocation: Invocation;
  readonly module: ModuleHash;
  readonly args: Uint8Array;
  readonly environment: Environment;
  /** Of everybody who asked for the execution here. */
  readonly answers: ((answer: Answer) => void)[];
  units: readonly AccessedUnit[] | null;
  speculation: Speculation | null;
  /** The commit id of `valid`, once it came. */
  valid: { readonly commitId: CommitId | null } | null;
  attempts: number;
  /** The last sending: only its answer counts, as on a connection. */
  sending: number;
}

const MAX_ATTEMPTS = 6;

function nameOfSpans({ table, kind }: Pick<Span, "table" | "kind">): string {
  return `${table} ${kind}`;
}

/** The version of a span by what is known: by nothing it is empty. Null: the known span says nothing of it. */
function versionIn(
  known: { readonly unit: UnitId; readonly entry: Entry } | undefined,
  unit: UnitId,
  span: Span,
): Version | null {
  if (known === undefined)
    return (span.kind === "rows" ? directoryEntry(NO_COMMIT, []) : countEntry(NO_COMMIT, 0)).version;
  if (known.unit === unit) return known.entry.version;
  const { version, value } = known.entry;
  const outer = present(spanOf(known.unit), "it is a span");
  if (value === null || span.kind === "count" || !isWithin(span, outer)) return null;
  const rows = decodeDirectory(value).filter(({ key }) => contains(span, key));
  return directoryEntry(version.commitId, rows).version;
}

export class ModelLocation implements Location {
  module: ModuleHash = MODULES[0];
  #offsetMs = 0;
  readonly #options: LocationOptions;
  readonly #cache = new ModelCache();
  /** The last span of each table and kind that a reply has brought. Nothing patches it. */
  readonly #spans = new Map<string, { readonly unit: UnitId; readonly entry: Entry }>();
  readonly #running = new Map<ExecutionId, Running>();
  #sent = 0;
  #seen: CommitId | null = null;
  /** Null: it does not listen at present. */
  #stream: Stream | null = null;

  constructor(options: LocationOptions) {
    this.#options = options;
  }

  invoke(invocation: Invocation, { answer: tell }: Client): void {
    const answer = (told: Answer): void => tell(told, told === null ? undefined : null);
    const same = this.#running.get(invocation.executionId);
    if (same !== undefined) {
      same.answers.push(answer);
      return;
    }
    const { clock } = this.#options;
    const running: Running = {
      invocation,
      module: this.module,
      args: invocation.encodedArgs,
      environment: { timeMs: clock.nowMs + this.#offsetMs, seed: clock.random.bytes(16), caller: invocation.caller },
      answers: [answer],
      units: null,
      speculation: null,
      valid: null,
      attempts: 0,
      sending: 0,
    };
    this.#running.set(invocation.executionId, running);
    if (PLANS.get(invocation.program) !== "near-storage") this.#speculate(running);
    this.#send(running);
  }

  #speculate(running: Running): void {
    const { clock } = this.#options;
    const { invocation, module, args, environment } = running;
    const call = { executionId: invocation.executionId, module, handler: invocation.program, args, environment };
    // One captured snapshot: the set and the run see the values whose versions are sent. Now and then a unit that the
    // cache lacks is guessed absent.
    const captured = new Map<UnitId, Entry>();
    const guess = clock.random.chance(0.5) ? entryOf(NO_COMMIT, null) : undefined;
    const item = (unit: UnitId): Entry | undefined => {
      const entry = captured.get(unit) ?? this.#cache.get(unit) ?? guess;
      if (entry !== undefined) captured.set(unit, entry);
      return entry;
    };
    const known = new Map(this.#spans);
    const { scan } = spanSnapshot(Array.from(known.values(), ({ unit, entry }) => [unit, entry] as const));
    const snapshot = Object.assign(item, {
      scan(query: Query): Scanned | undefined {
        if (known.has(nameOfSpans(query)) || guess === undefined) return scan?.(query);
        return query.kind === "rows" ? { rows: [], reachesEnd: true } : { count: 0 };
      },
    });
    const recorded =
      PLANS.get(call.handler) === "recorded"
        ? locationHost.recordHandler(call, snapshot, { guess: true, speculative: true })
        : null;
    const derived = recorded ?? locationHost.deriveAccessSet(call, snapshot);
    if ("kind" in derived && derived.kind === "failed") return;
    // It knows too few rows.
    if (derived.missingQueries.length > 0) return;
    const { reads, writes } = derived.set;
    const units: AccessedUnit[] = [];
    for (const unit of reads) {
      const span = isSpan(unit) ? spanOf(unit) : null;
      if (span !== null) {
        const version = versionIn(known.get(nameOfSpans(span)), unit, span);
        // It has touched a number that it does not know.
        if (version === null) return;
        units.push({ unit, mode: "read", version });
        continue;
      }
      units.push({
        unit,
        mode: writes.has(unit) ? "read-write" : "read",
        version: snapshot(unit)?.version ?? null,
      });
    }
    for (const unit of writes) if (!reads.has(unit)) units.push({ unit, mode: "write" });
    running.units = units;
    if ([...reads].some((unit) => !captured.has(unit) && !isSpan(unit))) return;
    const asCaptured = Object.assign((unit: UnitId) => captured.get(unit), {
      scan: (query: Query) => snapshot.scan(query),
    });
    const run =
      recorded === null ? locationHost.runHandler(call, asCaptured, derived.set, { speculative: true }) : recorded.run;
    const speculation: Speculation = { result: run?.kind === "completed" ? run : null, done: false };
    running.speculation = speculation;
    clock.after(clock.random.between(0, 60), () => {
      speculation.done = true;
      this.#settle(running);
    });
  }

  #send(running: Running): void {
    const { clock, index, send } = this.#options;
    const { invocation, module, args, environment, units } = running;
    if (this.#running.get(invocation.executionId) !== running) return;
    const sending = ++this.#sent;
    running.sending = sending;
    if (++running.attempts > MAX_ATTEMPTS) return this.#end(running, null);
    const request: LviRequest = {
      executionId: invocation.executionId,
      module,
      handler: invocation.program,
      args,
      environment,
      location: nameOf(index),
      units,
      retained: invocation.retained,
      mustNotWrite: invocation.mustNotWrite,
      mayEffect: false,
      lanes: [],
      session: null,
      deadlineMs: 5_000,
      attempt: running.attempts,
      seen: this.#seen,
    };
    send({ kind: "lvi-request", sending, signedAtMs: clock.nowMs + this.#offsetMs, request });
    clock.after(this.#options.attemptMs, () => {
      if (running.sending === sending && running.valid === null) this.#send(running);
    });
  }

  receive({ executionId, sending, reply }: ToLocation): void {
    // Nothing depends on the answer to a followup.
    if (executionId === null || !isLviReply(reply)) return;
    this.#seen = reply.asOf;
    const running = this.#running.get(executionId);
    // A location that has sent a request again has given up the answers to the earlier ones.
    if (running === undefined || running.valid !== null || sending !== running.sending) return;
    switch (reply.kind) {
      case "valid":
        running.valid = { commitId: reply.commitId };
        return this.#settle(running);
      case "executed":
        for (const { unit, entry } of reply.repairs) {
          const span = isSpan(unit) ? spanOf(unit) : null;
          if (span === null) this.#cache.put(unit, entry);
          else this.#spans.set(nameOfSpans(span), { unit, entry });
        }
        return this.#end(running, reply.outcome);
      case "refused":
        if (reply.code === "unknown_module" || reply.code === "wrote_on_get") return this.#end(running, null);
        // It has not told the answer to anybody.
        if (reply.code === "outside_tables") running.units = running.speculation = null;
        if (reply.code === "answer_not_kept") throw new Error(`${executionId} is told that its answer is not kept`);
        this.#options.clock.after(this.#options.clock.random.between(10, 300), () => {
          // The answer to another copy of that message may have come meanwhile.
          if (running.sending === sending && running.valid === null) this.#send(running);
        });
        return;
      case "working":
        throw new Error(`${executionId} is told that it is a workflow`);
    }
  }

  #settle(running: Running): void {
    const { speculation, valid, invocation } = running;
    if (valid === null || speculation === null || !speculation.done) return;
    if (this.#running.get(invocation.executionId) !== running) return;
    if (speculation.result === null) {
      // It left its set, so there is nothing to confirm: near storage, without a set.
      running.valid = null;
      running.units = null;
      running.speculation = null;
      return this.#send(running);
    }
    const { outcome, writes } = speculation.result;
    this.#end(running, outcome);
    if (valid.commitId === null) return;
    for (const { unit, value } of writes) this.#cache.put(unit, entryOf(valid.commitId, value));
    const followup: Followup = {
      executionId: invocation.executionId,
      commitId: valid.commitId,
      outcome,
      writes,
      effects: [],
    };
    this.#options.send({ kind: "followup", sending: ++this.#sent, followup });
  }

  #end(running: Running, answer: Answer): void {
    this.#running.delete(running.invocation.executionId);
    for (const tell of running.answers) tell(answer);
    this.#listen();
  }

  /** It knows hints and nothing else, as the first version that listened. */
  #listen(): void {
    const { clock, index, servers, listening, listen } = this.#options;
    if (this.#stream !== null || listening === null) return;
    const question: ListeningQuestion = {
      location: nameOf(index),
      listener: nameOf(index),
      session: undefined,
      heard: 0,
      ends: null,
    };
    const stream = listen(clock.random.below(servers), question, () =>
      stream.next(
        (lines) => {
          for (const line of lines) this.#refresh(line);
        },
        () => (this.#stream = null),
      ),
    );
    this.#stream = stream;
  }

  #refresh(line: string): void {
    const hint = decodeLine(line, { decode: (text) => Buffer.from(text, "base64") });
    const updates = hint?.kind === "hint" ? hint.entries : [];
    if (updates.some(({ unit }) => this.#cache.holds(unit))) this.#cache.refresh(updates, this.#options.counts);
  }

  crash(): void {
    this.#options.counts.add("location killed");
    this.#seen = null;
    this.#stream?.close();
    this.#stream = null;
    for (const running of this.#running.values()) this.#end(running, null);
  }

  cutOff(): void {
    this.#stream?.close();
    this.#stream = null;
  }

  /** It stands for any other implementation, which is not stopped. */
  stop(): void {}

  setClock(offsetMs: number): void {
    this.#offsetMs = offsetMs;
  }

  disturb(): void {
    const { clock, counts, commits } = this.#options;
    this.#cache.disturb(clock.random, counts, commits);
  }
}
