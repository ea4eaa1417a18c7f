/**
 * Known-wrong variants of the protocol, each a small change of its source: a simulation that does not catch them proves
 * nothing. A change whose text is no longer in the source fails, so that this list keeps up.
 */
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Parts, PARTS, simulate } from "./simulate.ts";
import type { WeatherName } from "./weather.ts";

interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  /** It is caught by one of the first so many seeds. */
  readonly within: number;
  /** Of this weather only: any other catches it too rarely. */
  readonly weather?: WeatherName;
  readonly edits: readonly Edit[];
}

/** The core of the server, the core of a location, and what stands in for the driver of a location and for storage. */
const FOLDERS = { server: "lvi-server/src/core", location: "runtime/src/core", simulation: "simulation/src" } as const;

function inFile(file: `${keyof typeof FOLDERS}/${string}`, find: string, replace: string): Edit {
  return { file, find, replace };
}

function inCore(find: string, replace: string): Edit {
  return inFile("server/lvi-core.ts", find, replace);
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "the reply `valid` leaves before the intent is durable",
    within: 25,
    edits: [
      inCore(
        `    this.#effects.push({ kind: "store-intent", operation, intent });\n  }`,
        `    this.#effects.push({ kind: "store-intent", operation, intent });
    const early = execution.callers.find(({ id }) => id === execution.speculator)!;
    execution.callers = execution.callers.filter((caller) => caller !== early);
    this.#replyValid(early, intent.commitId, null);
  }`,
      ),
      inCore(`    this.#replyValid(speculator, intent.commitId, operation);\n`, ``),
    ],
  },
  {
    name: "near storage a GET writes",
    within: 100,
    edits: [
      inCore(
        `        if (execution.mustNotWrite && result.writes.length > 0) return this.#refuseWrites(execution);\n`,
        ``,
      ),
    ],
  },
  {
    name: "locks are released before the writes are applied",
    within: 25,
    edits: [
      inCore(
        `    this.#versions.applyStarted(writes);\n    const operation`,
        `    this.#versions.applyStarted(writes);\n    this.#unlock(execution);\n    const operation`,
      ),
    ],
  },
  {
    name: "done executions are forgotten",
    within: 2_500,
    edits: [
      inFile(
        "server/finished-executions.ts",
        `    if (this.#done.has(done.executionId)) return;`,
        `    if (this.#maxBytes >= 0) return;`,
      ),
    ],
  },
  {
    name: "absent units are not validated",
    within: 25,
    edits: [
      inFile(
        "server/entry-log.ts",
        `if (hash === null || isAbsent) return hash === null && isAbsent;`,
        `if (hash === null || isAbsent) return hash === null;`,
      ),
    ],
  },
  {
    name: "a guess of absence is not validated",
    within: 25,
    edits: [
      inFile(
        "server/entry-log.ts",
        `if (hash === null || isAbsent) return hash === null && isAbsent;`,
        `if (commit === "00000000-000000000000") return true;
    if (hash === null || isAbsent) return hash === null && isAbsent;`,
      ),
    ],
  },
  {
    name: "a location guesses under a commit id that was taken",
    within: 1_000,
    weather: "calm",
    edits: [
      inFile(
        "location/execution.ts",
        `      this.#snapshot.set(unit, GUESS);`,
        `      this.#snapshot.set(unit, entryOf(this.#seen ?? NO_COMMIT, null));`,
      ),
    ],
  },
  {
    name: "a location answers from a guess without its confirmation",
    within: 100,
    edits: [
      inFile(
        "location/execution.ts",
        `    if (this.#confirmation === null) return [];\n    const { commitId } = this.#confirmation;`,
        `    if (this.#confirmation === null && (this.#guessed.size === 0 || this.#request === null)) return [];
    const commitId = this.#confirmation?.commitId ?? null;`,
      ),
    ],
  },
  {
    name: "readers pass writers that were told",
    within: 100,
    edits: [
      inCore(
        `findLast((holder) => holder !== execution && holder.told)`,
        `findLast((holder) => holder !== execution && holder.told && holder.id === execution.id)`,
      ),
    ],
  },
  {
    name: "a load beside an apply is taken",
    within: 500,
    weather: "cold memory",
    edits: [
      inFile(
        "server/version-table.ts",
        `return this.#unsettled.has(unit);`,
        `return this.#unsettled.has(unit) && this.#loads.size < 0;`,
      ),
    ],
  },
  {
    name: "a load that was overtaken brings the old value back",
    within: 500,
    edits: [
      inFile(
        "server/version-table.ts",
        `      for (const load of this.#loads.values()) load.units.delete(unit);\n`,
        ``,
      ),
    ],
  },
  {
    name: "pending intents are not adopted",
    within: 25,
    edits: [
      inCore(
        `    for (const { intent, first } of adoptionOrder(recovered.pending))`,
        `    for (const { intent, first } of [])`,
      ),
    ],
  },
  {
    name: "commit ids are used again after a restart",
    within: 25,
    edits: [inCore(`id: commitId(this.#epoch, this.#sequence) };`, `id: commitId(1, this.#sequence) };`)],
  },
  {
    name: "what a recording execution read is not validated",
    within: 250,
    edits: [inCore(`    if (!changed) return`, `    if (!changed || reads.length > 0) return`)],
  },
  {
    name: "shared locks do not keep writers out",
    within: 100,
    edits: [
      inFile("server/lock-table.ts", `|| (mode === "shared" && lock.exclusive === 0)`, `|| lock.exclusive === 0`),
    ],
  },
  {
    name: "every caller that joined is told `valid`",
    within: 250,
    edits: [
      inCore(
        `    if (execution.callers.length > 0) this.#replay(execution, "asked_again");\n    else if`,
        `    for (const caller of execution.callers.splice(0)) this.#replyValid(caller, intent.commitId, operation);\n    if`,
      ),
    ],
  },
  {
    name: "duplicates of what left no trace run again",
    within: 1_000,
    edits: [
      inFile(
        "server/answered-requests.ts",
        `    if (request.attempt <= this.#known(request)) return "answered";\n`,
        `    if (this.#known(request) > 0) return "new";`,
      ),
    ],
  },
  {
    name: "attempts that an earlier server may have answered run",
    within: 2_500,
    edits: [
      inFile(
        "server/answered-requests.ts",
        `return seen !== null && compareCommits(seen, this.#olderSince) >= 0 && compareCommits(seen, latest) <= 0;`,
        `return seen !== latest + "x";`,
      ),
    ],
  },
  {
    name: "attempts that may have been answered and forgotten run",
    within: 2_500,
    weather: "restarts",
    edits: [
      inFile(
        "server/answered-requests.ts",
        `    this.#older = this.#recent;\n    this.#olderSince = this.#recentSince;`,
        `    this.#older = this.#recent;`,
      ),
    ],
  },
  {
    name: "what an earlier server did is not looked up",
    within: 250,
    edits: [
      inFile(
        "server/finished-executions.ts",
        `(!isOurs && isRecent(this.#startedAtMs))`,
        `(isOurs && isRecent(this.#startedAtMs))`,
      ),
    ],
  },
  {
    name: "any version of what is about to be written is an own write",
    within: 50,
    edits: [
      inCore(
        `if (version === null || writer === undefined || writer.intent?.commitId !== version.commitId) return false;`,
        `if (version === null || writer === undefined) return false;`,
      ),
    ],
  },
  {
    name: "what another location writes counts as an own write",
    within: 1_500,
    weather: "storm",
    edits: [inCore(`    if (writer.location !== execution.location) return false;\n`, ``)],
  },
  {
    name: "a module goes although an intent names it",
    within: 2_500,
    edits: [inCore(`() => this.#namedModules()`, `() => new Set()`)],
  },
  {
    name: "a followup is applied before the writes that its execution has read",
    within: 500,
    weather: "own writes",
    edits: [
      inCore(
        `    if (execution.ahead.size > 0) {\n      execution.early`,
        `    if (execution.ahead.size < 0) {\n      execution.early`,
      ),
    ],
  },
  {
    name: "after a crash an intent that others are behind counts as abandoned",
    within: 2_500,
    edits: [inFile("server/adoption.ts", ` && !firstOf.get(younger.intent)!.has(intent.commitId)`, ``)],
  },
  {
    name: "the lease is never checked",
    within: 500,
    edits: [
      inCore(`else if (monotonicMs >= this.#leaseUntilMs) this`, `else if (monotonicMs < 0) this`),
      inCore(`Math.min(this.#deadlines.nextMs ?? Infinity, this.#leaseUntilMs)`, `this.#deadlines.nextMs ?? Infinity`),
    ],
  },
  {
    name: "a candidate does not wait the lease out",
    within: 250,
    weather: "leases",
    edits: [
      inFile(
        "server/lease.ts",
        `    const leftMs = this.#unchangedSinceMs + lease.termMs * (1 + DRIFT) - nowMs;`,
        `    const leftMs = this.#unchangedSinceMs + lease.termMs * 0.5 - nowMs;`,
      ),
    ],
  },
  {
    name: "a failure after a doubtful one is believed",
    within: 1_000,
    edits: [
      inCore(
        `        failed.doubtful ||= effect === "unknown";\n        if (failed.doubtful) return`,
        `        failed.doubtful = effect === "unknown";\n        if (failed.doubtful) return`,
      ),
    ],
  },
  {
    name: "a late followup is applied",
    within: 25,
    edits: [
      inCore(
        `if (execution.phase.kind === "completing" && execution.told) {`,
        `if (execution.phase.kind === "ended") {`,
      ),
      inCore(
        `if (execution.phase.kind !== "pending") return answer("not_covered", "followup_not_covered");`,
        `if (execution.phase.kind === "running") return answer("not_covered", "followup_not_covered");`,
      ),
      inFile(
        "simulation/model-storage.ts",
        `if (expects === "new" ? record !== undefined : record?.state !== "pending")`,
        `if (expects === "new" ? record !== undefined : record === undefined)`,
      ),
    ],
  },
  {
    name: "a followup may write what its intent does not hold",
    within: 500,
    edits: [inCore(`if (!followup.writes.every(({ unit }) => writable.has(unit))) {`, `if (writable.size < 0) {`)],
  },
  {
    name: "counters per item, without hashes, instead of commit ids",
    within: 25,
    edits: [
      inCore(
        `    execution.sequence = ++this.#sequence;\n    return this.#latest;`,
        `    execution.sequence = ++this.#sequence;
    let count = 0;
    for (const unit of this.#locks.heldBy(execution)) {
      const version = this.#versions.get(unit)?.version;
      if (version?.hash != null) count = Math.max(count, Number.parseInt(version.commitId.slice(9), 16));
    }
    return commitId(1, count + 1);`,
      ),
      inCore(`  sameVersion,\n`, ``),
      inCore(
        `const WAITED =`,
        `const sameVersion = (a: Version, b: Version): boolean =>
  a.hash === null || b.hash === null ? a.hash === b.hash : a.commitId === b.commitId;
const WAITED =`,
      ),
      inFile(
        "server/entry-log.ts",
        `      words[at + CONTENT_LOW] === hexWord(hash, 8, 16) &&
      words[at + CONTENT_HIGH] === hexWord(hash, 0, 8) &&
`,
        ``,
      ),
    ],
  },
  {
    name: "hashes are not compared",
    within: 50,
    edits: [
      inCore(`  sameVersion,\n`, ``),
      inCore(
        `const WAITED =`,
        `const sameVersion = (a: Version, b: Version): boolean =>
  a.hash === null || b.hash === null ? a.hash === b.hash : a.commitId === b.commitId;
const WAITED =`,
      ),
      inFile(
        "server/entry-log.ts",
        `      words[at + CONTENT_LOW] === hexWord(hash, 8, 16) &&
      words[at + CONTENT_HIGH] === hexWord(hash, 0, 8) &&
`,
        ``,
      ),
    ],
  },
  {
    name: "the lease is checked only when a request comes",
    within: 250,
    weather: "leases",
    edits: [
      inCore(
        `else if (monotonicMs >= this.#leaseUntilMs) this`,
        `else if (monotonicMs >= this.#leaseUntilMs && event.kind === "lvi-request") this`,
      ),
      inCore(`Math.min(this.#deadlines.nextMs ?? Infinity, this.#leaseUntilMs)`, `this.#deadlines.nextMs ?? Infinity`),
      inCore(`this.#renewAtMs, this.#putOff?.refusesAtMs ?? Infinity)`, `this.#renewAtMs)`),
    ],
  },
  {
    name: "the lease is not checked when storage has answered",
    within: 2_500,
    weather: "leases",
    edits: [
      inCore(
        `else if (monotonicMs >= this.#leaseUntilMs) this`,
        `else if (monotonicMs >= this.#leaseUntilMs && event.kind !== "intent-stored" && event.kind !== "completed") this`,
      ),
    ],
  },
  {
    name: "a renewal counts from its answer",
    within: 5_000,
    weather: "leases",
    edits: [inCore(`heldUntilMs(sentAtMs, this.#leaseTermMs)`, `heldUntilMs(this.#nowMs, this.#leaseTermMs)`)],
  },
  {
    name: "a lease that ran out is renewed whoever has it",
    within: 250,
    weather: "leases",
    edits: [
      inFile(
        "simulation/model-storage.ts",
        `    if (epoch !== this.lease.epoch) return false;\n    this.lease = { epoch, beat`,
        `    this.lease = { epoch: this.lease.epoch, beat`,
      ),
    ],
  },
  {
    name: "what was put off without the lease is forgotten",
    within: 1_000,
    weather: "leases",
    edits: [
      inCore(`this.#effects.push({ kind: "resume", events });`, `this.#effects.push({ kind: "resume", events: [] });`),
    ],
  },
  {
    name: "an execution is run again before those whose writes it has read",
    within: 100,
    edits: [
      inCore(
        `    if (execution.ahead.size > 0) {\n      execution.wanted`,
        `    if (execution.ahead.size < 0) {\n      execution.wanted`,
      ),
    ],
  },
  {
    name: "a queue behind own writes is left without a word to those behind",
    within: 5_000,
    weather: "leases",
    edits: [
      inCore(
        `      next.ahead.delete(execution);\n      if (next.ahead.size`,
        `      next.ahead.delete(execution);\n      if (next.ahead.size < 0 && next.ahead.size`,
      ),
    ],
  },
  {
    name: "near storage the handler runs under the set of its location",
    within: 100,
    edits: [
      inCore(`: { kind: "derive", writable: this.#writable(execution) },`, `: { kind: "derive", writable: null },`),
      inCore(
        `        return this.#cover(
          execution,
          result.reads,
          result.writes.map(({ unit }) => unit),
          "confirm",
        );`,
        `        return this.#confirm(execution);`,
      ),
    ],
  },
  {
    name: "the gate is taken shared",
    within: 250,
    edits: [inCore(`[{ unit: GATE, mode: "exclusive" }], next)`, `[{ unit: GATE, mode: "shared" }], next)`)],
  },
  {
    name: "a shared lock is made exclusive although others share it",
    within: 1_000,
    weather: "leases",
    edits: [
      inFile(
        "server/lock-table.ts",
        `return own === "exclusive" || mode === "shared" || lock.holders.size === 1;`,
        `return own === "exclusive" || lock.holders.size > 0;`,
      ),
    ],
  },
  {
    name: "locks are kept after a refusal",
    within: 25,
    edits: [
      inCore(
        `    this.#endWithoutTrace(execution, callers);
    for (const caller of callers) this.#reply(caller, { kind: "refused", code, message, retryAfterMs }, null);`,
        `    execution.phase = { kind: "ended" };
    this.#executions.delete(execution.id);
    this.#budgets.end(execution.location, execution.usage, this.#nowMs);
    for (const caller of callers) this.#reply(caller, { kind: "refused", code, message, retryAfterMs }, null);`,
      ),
    ],
  },
  {
    name: "a followup that does not come is not replaced",
    within: 500,
    edits: [inCore(`          if (due.execution.phase.kind === "pending") this.#lost.add(due.execution);\n`, ``)],
  },
  {
    name: "what was replaced keeps its place, and those after it in line wait for ever",
    within: 1_000,
    edits: [
      inCore(
        `    this.#lost.delete(execution);\n    this.#replaced.delete(execution);`,
        `    this.#lost.delete(execution);`,
      ),
    ],
  },
  {
    name: "an adopted intent waits for its followup for ever",
    within: 500,
    weather: "leases",
    edits: [
      inCore(
        `        throw new Error(\`the locks of intent \${intent.commitId} can't be installed\`);
      this.#deadlines.add(this.#nowMs + this.#options.followupTimeoutMs, { kind: "followup", execution });`,
        `        throw new Error("no locks");`,
      ),
    ],
  },
  {
    name: "what an adopted intent has read is not locked again",
    within: 2_500,
    edits: [
      inCore(
        `[{ unit: GATE, mode: "shared" }, ...declaredLocks(intent.units)], ahead)`,
        `[{ unit: GATE, mode: "shared" }, ...declaredLocks(intent.units.filter(({ mode }) => mode !== "read"))], ahead)`,
      ),
    ],
  },
  {
    name: "a re-execution that was killed is given up",
    within: 250,
    edits: [
      inCore(
        `        this.#note("re_execution_killed", execution, { detail });`,
        `        if (execution.kills >= 0) return this.#abandon(execution);`,
      ),
    ],
  },
  {
    name: "the time of a re-execution that was killed does not grow",
    within: 25,
    weather: "long runs",
    edits: [
      inCore(`task: { invocation, snapshot, access, kills }`, `task: { invocation, snapshot, access, kills: 0 }`),
    ],
  },
  {
    name: "a re-execution that used up the fuel of a speculation is tried again",
    within: 25,
    weather: "long runs",
    edits: [
      inCore(`      case "exhausted":\n      case "needs":`, `      case "needs":`),
      inCore(
        `      case "crowded-out":\n      case "killed": {`,
        `      case "crowded-out":\n      case "exhausted":\n      case "killed": {`,
      ),
    ],
  },
  {
    name: "a location tells the outcome of a run beyond the fuel of a speculation",
    within: 100,
    weather: "long runs",
    edits: [inFile("simulation/edge-location.ts", `const bound = { speculative: true };`, `const bound = {};`)],
  },
  {
    name: "a location waits for a confirmation of a run that used up its fuel",
    within: 25,
    weather: "long runs",
    edits: [
      inFile(
        "location/execution.ts",
        `      case "exhausted":\n        return this.#askNearStorage("long", atMs);`,
        `      case "exhausted":\n        return [];`,
      ),
    ],
  },
  {
    name: "a doubtful completion is taken for none",
    within: 100,
    edits: [
      inCore(
        `if (failed.doubtful || execution.intent !== null) return again(failed.effect);`,
        `if (execution.intent !== null) return again(failed.effect);`,
      ),
    ],
  },
  {
    name: "a read-only execution under a chosen id leaves no trace",
    within: 25,
    edits: [
      inCore(`if (execution.retained || execution.declared!.some`, `if (execution.declared!.some`),
      inCore(
        `if (result.writes.length === 0 && !execution.retained && execution.intent === null)`,
        `if (result.writes.length === 0 && execution.intent === null)`,
      ),
    ],
  },
  {
    name: "an outcome is told before it is durable",
    within: 25,
    edits: [
      inCore(
        `    this.#effects.push(effect);\n  }\n\n  #completed(`,
        `    this.#effects.push(effect);
    for (const caller of execution.callers.splice(0)) {
      const times = this.#times(caller.receivedAtMs);
      this.#reply(caller, { kind: "executed", cause: "stale", outcome, repairs: [], times }, null);
    }
  }

  #completed(`,
      ),
    ],
  },
  {
    name: "a re-execution runs the newest module",
    within: 25,
    edits: [
      inCore(
        `this.#effects.push({ kind: "execute", run, task: { invocation, snapshot, access, kills }, location });`,
        `const module = this.#modules.newest();
    this.#effects.push({ kind: "execute", run, task: { invocation: { ...invocation, module }, snapshot, access, kills }, location });`,
      ),
      inFile(
        "server/module-table.ts",
        `  plansOf(`,
        `  newest(): ModuleHash {
    return [...this.#modules.keys()].at(-1)!;
  }

  plansOf(`,
      ),
    ],
  },
  {
    name: "a re-execution has a time of its own",
    within: 25,
    edits: [
      inCore(
        `this.#effects.push({ kind: "execute", run, task: { invocation, snapshot, access, kills }, location });`,
        `const environment = { ...invocation.environment, timeMs: this.#wallMs };
    this.#effects.push({ kind: "execute", run, task: { invocation: { ...invocation, environment }, snapshot, access, kills }, location });`,
      ),
    ],
  },
  {
    name: "a re-execution has no caller",
    within: 25,
    edits: [
      inCore(
        `this.#effects.push({ kind: "execute", run, task: { invocation, snapshot, access, kills }, location });`,
        `const environment = { ...invocation.environment, caller: null };
    this.#effects.push({ kind: "execute", run, task: { invocation: { ...invocation, environment }, snapshot, access, kills }, location });`,
      ),
    ],
  },
  {
    name: "done intents are collected at once",
    within: 500,
    edits: [
      inCore(
        `const doneBeforeMs = this.#wallMs - retentionMs;`,
        `const doneBeforeMs = this.#wallMs + retentionMs * 0;`,
      ),
    ],
  },
  {
    name: "the epoch of a completion is not checked",
    within: 1_000,
    weather: "leases",
    edits: [
      inFile(
        "simulation/model-storage.ts",
        `    if (epoch !== this.lease.epoch) return { kind: "fenced" };\n    const record`,
        `    const record`,
      ),
    ],
  },
  {
    name: "the lease is taken whatever was seen of it",
    within: 250,
    weather: "leases",
    edits: [
      inFile(
        "simulation/model-storage.ts",
        `if (epoch !== seen.epoch || beat !== seen.beat) return null;`,
        `if (epoch < seen.epoch || beat < 0) return null;`,
      ),
    ],
  },
  {
    name: "an intent that arrives after a takeover counts",
    within: 1_000,
    weather: "leases",
    edits: [inFile("simulation/model-storage.ts", `if (epoch < this.#recovered) {`, `if (epoch < 0) {`)],
  },
  {
    name: "what is done is completed again",
    within: 25,
    edits: [
      inFile(
        "simulation/model-storage.ts",
        `if (expects === "new" ? record !== undefined : record?.state !== "pending")`,
        `if (expects === "new" ? record?.state === "pending" : record === undefined)`,
      ),
    ],
  },
  {
    name: "a location reads its snapshot twice",
    within: 2_500,
    edits: [
      inFile(
        "simulation/edge-location.ts",
        `locationHost.runHandler(running.call, (unit) => snapshot.get(unit), set, bound)`,
        `locationHost.runHandler(running.call, (unit) => this.#cache.get(unit) ?? snapshot.get(unit), set, bound)`,
      ),
    ],
  },
  {
    name: "an update reaches a run that is under way",
    within: 1_000,
    edits: [
      inFile(
        "simulation/edge-location.ts",
        `  #sent = 0;`,
        `  #sent = 0;\n  readonly #told = new WeakMap<Running, Map<UnitId, Entry | undefined>>();`,
      ),
      inFile(
        "simulation/edge-location.ts",
        `    this.#cache.refresh(line, this.#options.counts);`,
        `    this.#cache.refresh(line, this.#options.counts);
    for (const running of this.#running.values())
      this.#told.set(running, new Map(JSON.parse(line).map(([unit]) => [unit, this.#cache.get(unit)])));`,
      ),
      inFile(
        "simulation/edge-location.ts",
        `(unit) => snapshot.get(unit)`,
        `(unit) => this.#told.get(running)?.get(unit) ?? snapshot.get(unit)`,
      ),
    ],
  },
  {
    name: "a location takes the answer to an attempt that it has given up",
    within: 2_500,
    edits: [
      inFile(
        "simulation/edge-location.ts",
        `if (running === undefined || running.sending !== sending) return;`,
        `if (running === undefined || sending < 0) return;`,
      ),
    ],
  },
  {
    name: "a location answers reads from speculation",
    within: 25,
    edits: [
      inFile(
        "location/execution.ts",
        `    if (this.#confirmation === null) return [];\n    const { commitId } = this.#confirmation;`,
        `    const commitId = this.#confirmation?.commitId ?? null;`,
      ),
    ],
  },
  {
    name: "a location answers from speculation when the primary does not",
    within: 25,
    edits: [
      inFile(
        "location/execution.ts",
        `    const elsewhere = this.#elsewhere(atMs);`,
        `    if (this.#speculation.kind === "completed")
      return [this.#answer({ kind: "outcome", outcome: this.#speculation.outcome, path: "speculative", reason: "valid" })];
    const elsewhere = this.#elsewhere(atMs);`,
      ),
    ],
  },
  {
    name: "a location puts its writes into the cache before it is told their commit id",
    within: 25,
    edits: [
      inFile(
        "location/execution.ts",
        `    return [...warnings, ...this.#join(atMs)];`,
        `    const writes = speculation.kind === "completed" ? speculation.writes : [];
    const early = writes.map(({ unit, value }) => ({ unit, entry: entryOf(this.#seen ?? ("" as CommitId), value) }));
    return [...warnings, ...this.#join(atMs), ...put(early)];`,
      ),
    ],
  },
];

const PACKAGE = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** The first seed from `from` on, of at most so many, whose history is wrong, and what is wrong with it; null: none. */
export async function firstCaught(
  mutant: Mutant,
  from: number,
  most: number,
): Promise<{ readonly seed: number; readonly problem: string } | null> {
  const { parts, dispose } = await loadMutant(mutant);
  const weather = mutant.weather === undefined ? {} : { weather: mutant.weather };
  try {
    for (let seed = from; seed < from + most; seed++) {
      try {
        const { problems } = simulate({ seed, parts, ...weather });
        if (problems.length > 0) return { seed, problem: problems[0]! };
      } catch (error) {
        // An invariant of the core, or of its driver; anything else may be a mistake of the variant itself.
        if (error instanceof TypeError || error instanceof ReferenceError) continue;
        return { seed, problem: String(error) };
      }
    }
    return null;
  } finally {
    await dispose();
  }
}

/** Why a variant can't be made: a text that it changes is not in its source exactly once. Null: it can. */
export function faultOf({ edits }: Mutant): string | null {
  for (const { file, find } of edits) {
    const [folder = "", name = ""] = file.split("/");
    const source = path.join(path.dirname(PACKAGE), FOLDERS[folder as keyof typeof FOLDERS], name);
    const found = readFileSync(source, "utf8").split(find).length - 1;
    if (found !== 1) return `${file} has ${found} times: ${find}`;
  }
  return null;
}

/** The changed parts; `dispose` removes their sources. Throws if a text to change is not in its source exactly once. */
export async function loadMutant(
  mutant: Mutant,
): Promise<{ readonly parts: Parts; readonly dispose: () => Promise<void> }> {
  const folder = await mkdtemp(path.join(PACKAGE, ".mutant-"));
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const changed = new Set(mutant.edits.map(({ file }) => file.split("/")[0] as keyof typeof FOLDERS));
    for (const name of changed) {
      const source = path.join(path.dirname(PACKAGE), FOLDERS[name]);
      await mkdir(path.join(folder, name));
      await cp(source, path.join(folder, name), {
        recursive: true,
        filter: (file) => !/(\.test\.ts|\.json)$/.test(file),
      });
    }
    for (const { file, find, replace } of mutant.edits) {
      const source = await readFile(path.join(folder, file), "utf8");
      if (source.split(find).length !== 2) throw new Error(`"${mutant.name}" does not fit ${file} any more`);
      await writeFile(
        path.join(folder, file),
        source.replace(find, () => replace),
      );
    }
    if (changed.has("simulation")) await useOriginals(path.join(folder, "simulation"));
    const load = async (file: string): Promise<Partial<Parts>> =>
      (await import(pathToFileURL(path.join(folder, file)).href)) as Partial<Parts>;
    const parts: { -readonly [name in keyof Parts]: Parts[name] } = { ...PARTS };
    if (changed.has("server")) {
      parts.LviCore = (await load("server/lvi-core.ts")).LviCore!;
      parts.Candidate = (await load("server/lease.ts")).Candidate!;
    }
    if (changed.has("location")) parts.Execution = (await load("location/execution.ts")).Execution!;
    if (changed.has("simulation")) {
      parts.EdgeLocation = (await load("simulation/edge-location.ts")).EdgeLocation!;
      const { ModelStorage } = (await load("simulation/model-storage.ts")) as { ModelStorage?: Parts["Storage"] };
      parts.Storage = ModelStorage!;
    }
    return { parts, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** What is not changed is the same as everybody else's: modules with a state of their own must not be there twice. */
async function useOriginals(folder: string): Promise<void> {
  for (const file of ["edge-location.ts", "model-storage.ts"]) {
    const source = await readFile(path.join(folder, file), "utf8");
    await writeFile(path.join(folder, file), source.replaceAll('from "./', 'from "../../src/'));
  }
}
