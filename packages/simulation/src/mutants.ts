/**
 * Known-wrong variants of the protocol, each a small change of its source: a simulation that does not catch them proves
 * nothing. The sources name the places in anchors, comments `// variant: …`; a test fails while one does not fit.
 */
import {
  after,
  argument,
  before,
  condition,
  type Edit,
  expression,
  remove,
  replace,
  returns,
  value,
  type Variant,
} from "@radical/variants";
import type { WeatherName } from "./weather.ts";

export interface Mutant extends Variant {
  /** It is caught by one of the first so many seeds. */
  readonly within: number;
  /** Of this weather only: any other catches it too rarely. */
  readonly weather?: WeatherName;
  /** Its histories are those of an index that is built: `index-builds.ts`. */
  readonly isOfIndexes?: true;
  /** Its histories are those of tasks: `task-histories.ts`. */
  readonly isOfTasks?: true;
  /** Its histories are those of workflows: `workflow-histories.ts`. */
  readonly isOfWorkflows?: true;
  /** Its histories are those of services: `service-histories.ts`. */
  readonly isOfServices?: true;
  /** Its histories are those of schedules: `schedule-histories.ts`. */
  readonly isOfSchedules?: true;
}

const SAME_COMMIT = `((_unit, a, b) => a.hash === null || b.hash === null ? a.hash === b.hash : a.commitId === b.commitId)`;
const WITHOUT_HASHES: readonly Edit[] = [
  expression("own-write-content", `sameVersion`, SAME_COMMIT),
  expression("re-execution-reads", `sameVersion`, SAME_COMMIT),
  expression("version-compared", `words[at + CONTENT_LOW] === hexWord(hash, 8, 16)`, `true`),
  expression("version-compared", `words[at + CONTENT_HIGH] === hexWord(hash, 0, 8)`, `true`),
];
/** In place of a commit id: one more than the latest of all units that the execution holds. */
const COUNTED = `(() => {
  this.#takeCommitId();
  let count = 0;
  for (const unit of this.#locks.heldBy(execution)) {
    const version = this.#versions.get(unit)?.version;
    if (version?.hash != null) count = Math.max(count, Number.parseInt(version.commitId.slice(9), 16));
  }
  return commitId(1, count + 1);
})()`;

/** A run that has not ended may still write. */
const HAS_WRITTEN = `phase.question.run.writes?.length !== 0`;

export const MUTANTS: readonly Mutant[] = [
  {
    name: "the reply `valid` leaves before the intent is durable",
    within: 25,
    edits: [
      after(
        "intent-stored-first",
        `const early = declared.speculator;
        execution.callers = execution.callers.filter((caller) => caller !== early);
        this.#replyValid(early, intent.commitId, []);`,
      ),
      remove("valid-after-intent"),
    ],
  },
  {
    name: "a followup that is to be audited is applied at once",
    within: 100,
    weather: "lies",
    edits: [condition("followup-audited", `false`)],
  },
  {
    name: "the run of an audit is not compared with the followup",
    within: 100,
    weather: "lies",
    edits: [returns("audit-compares", `"same"`)],
  },
  {
    name: "a followup that an audit calls forged is applied",
    within: 100,
    weather: "lies",
    edits: [argument("forged-replaced", "completePending", 2, `first.followup`)],
  },
  {
    name: "a forged followup raises no alarm",
    within: 100,
    weather: "lies",
    edits: [condition("forged-told", `false`)],
  },
  {
    name: "a run of an audit that was stopped counts as one that has ended",
    within: 500,
    weather: "lies",
    edits: [condition("audit-stopped", `false`)],
  },
  {
    name: "a reply brings items of private tables",
    within: 100,
    weather: "lies",
    edits: [remove("private-repairs")],
  },
  {
    name: "a set may name items of private tables",
    within: 100,
    weather: "lies",
    edits: [value("private-declared", `undefined`)],
  },
  {
    name: "a storage that was set back takes the epochs again that it had before",
    within: 400,
    weather: "set back",
    edits: [returns("epoch-of-time", `epoch + 1`)],
  },
  {
    name: "a restored storage does not wait for the read leases of the lost time",
    within: 400,
    weather: "set back",
    edits: [value("set-back-read-leases", `0`)],
  },
  {
    name: "a server raises an alarm for each version of the time that was lost",
    within: 100,
    weather: "set back",
    edits: [condition("set-back-known", `false`)],
  },
  {
    name: "near storage a GET writes",
    within: 100,
    edits: [remove("get-must-not-write")],
  },
  {
    name: "locks are released before the writes are applied",
    within: 25,
    edits: [after("completion-starts", `this.#unlock(execution);`)],
  },
  {
    name: "done executions are forgotten",
    within: 2_500,
    edits: [condition("done-kept-once", `this.#maxBytes >= 0`)],
  },
  {
    name: "absent units are not validated",
    within: 25,
    edits: [expression("absence-compared", `hash === null && isAbsent`, `hash === null`)],
  },
  {
    name: "a guess of absence is not validated",
    within: 25,
    edits: [before("absence-compared", `if (commit === "00000000-000000000000") return true;`)],
  },
  {
    name: "a location answers from a guess without its confirmation",
    within: 100,
    edits: [
      condition("answer-confirmed", `$ && (phase.question.guessed.size === 0 || ${HAS_WRITTEN})`),
      replace("confirmed-commit", `const { question, commitId = null } = phase;`),
    ],
  },
  {
    name: "readers pass writers that were told",
    within: 25,
    edits: [expression("told-holder", `holder !== execution && isTold(holder)`, `false`)],
  },
  {
    name: "a load beside an apply is taken",
    within: 500,
    weather: "cold memory",
    edits: [returns("unsettled-unit", `$ && this.#loads.size < 0`)],
  },
  {
    name: "a load that was overtaken brings the old value back",
    within: 500,
    edits: [remove("overtaken-load")],
  },
  {
    name: "pending intents are not adopted",
    within: 25,
    edits: [value("intents-adopted", `[]`)],
  },
  {
    name: "commit ids are used again after a restart",
    within: 25,
    edits: [argument("commit-id-of-epoch", "commitId", 0, `1`)],
  },
  {
    name: "what a recording execution read is not validated",
    within: 250,
    edits: [condition("reads-confirmed", `$ || reads.length > 0`)],
  },
  {
    name: "shared locks do not keep writers out",
    within: 100,
    edits: [condition("locks-compatible", `lock.exclusive === 0`)],
  },
  {
    name: "a waiter waits for holders only, and for no waiter before it",
    within: 25,
    edits: [expression("waiter-in-way", `waiters[placeOf(waiters, ticket) - 1]?.owner`, `undefined`)],
  },
  {
    name: "those behind a waiter that has given up wait on",
    within: 100,
    edits: [expression("released-let-go", `this.#letGo(owner)`, `waiting === undefined ? $ : []`)],
  },
  {
    name: "units that are taken in addition overtake waiters",
    within: 500,
    weather: "cold memory",
    edits: [condition("waiter-not-overtaken", `false`)],
  },
  {
    name: "units that are taken behind own writes overtake waiters",
    within: 250,
    edits: [condition("waiter-ahead", `lock.observers !== null`)],
  },
  {
    name: "every caller that joined is told `valid`",
    within: 250,
    edits: [
      before(
        "joined-while-stored",
        `for (const caller of execution.callers.splice(0)) this.#replyValid(caller, intent.commitId, [{ kind: "operation", operation }]);`,
      ),
    ],
  },
  {
    name: "duplicates of what left no trace run again",
    within: 2_500,
    edits: [replace("attempt-answered", `if (this.#known(request) > 0) return "new";`)],
  },
  {
    name: "attempts that an earlier server may have answered run",
    within: 2_500,
    edits: [returns("sent-in-memory", `seen !== latest + "x"`)],
  },
  {
    name: "attempts that may have been answered and forgotten run",
    within: 2_500,
    weather: "restarts",
    edits: [remove("memory-begins")],
  },
  {
    name: "what an earlier server did is not looked up",
    within: 500,
    edits: [expression("id-forgotten", `!isOurs`, `isOurs`)],
  },
  {
    name: "any version of what is about to be written is an own write",
    within: 50,
    edits: [condition("own-write-version", `version === null || writer === undefined`)],
  },
  {
    name: "what another location writes counts as an own write",
    within: 2_500,
    weather: "storm",
    edits: [remove("own-write-location")],
  },
  {
    name: "a module goes although an intent names it",
    within: 2_500,
    edits: [argument("modules-unused", "takeUnused", 1, `() => new Set()`)],
  },
  {
    name: "a followup is applied before the writes that its execution has read",
    within: 500,
    weather: "own writes",
    edits: [condition("followup-behind", `execution.ahead.size < 0`)],
  },
  {
    name: "a contended execution behind own writes runs near storage",
    within: 5_000,
    weather: "own writes",
    edits: [expression("crowded-behind", `execution.ahead.size === 0`, `execution.ahead.size >= 0`)],
  },
  {
    name: "after a crash an intent that others are behind counts as abandoned",
    within: 2_500,
    weather: "storm",
    edits: [expression("intents-overlap", `!younger.first.has(intent.commitId)`, `true`)],
  },
  {
    name: "the leadership is never checked",
    within: 500,
    edits: [condition("leadership-held", `true`), argument("wake-for-leadership", "min", 1, `Infinity`)],
  },
  {
    name: "a candidate does not wait the leadership out",
    within: 250,
    weather: "leadership",
    edits: [expression("leadership-waited-out", `1 + DRIFT`, `0.5`)],
  },
  {
    name: "a failure after a doubtful one is believed",
    within: 1_000,
    edits: [replace("store-doubtful", `failed.doubtful = effect === "unknown";`)],
  },
  {
    name: "a late followup is applied",
    within: 100,
    edits: [
      before(
        "followup-late",
        `if (phase.kind === "completing" && phase.of.kind === "pending")
          return this.#completePending(execution, phase.of, followup, "followup", [{ caller, result: "applied" }]);`,
      ),
      condition("completion-expected", `expects === "new" ? record !== undefined : record === undefined`),
    ],
  },
  {
    name: "a followup may write what its intent does not hold",
    within: 500,
    edits: [condition("followup-covered", `writable.size < 0`)],
  },
  {
    name: "counters per item, without hashes, instead of commit ids",
    within: 25,
    edits: [
      expression("intent-commit-id", `this.#takeCommitId()`, COUNTED),
      expression("completion-commit-id", `this.#takeCommitId()`, COUNTED),
      ...WITHOUT_HASHES,
    ],
  },
  {
    name: "hashes are not compared",
    within: 50,
    edits: [...WITHOUT_HASHES],
  },
  {
    name: "the leadership is checked only when a request comes",
    within: 250,
    weather: "leadership",
    edits: [
      condition("leadership-held", `$ || event.kind !== "lvi-request"`),
      argument("wake-for-leadership", "min", 1, `Infinity`),
    ],
  },
  {
    name: "the leadership is not checked when storage has answered",
    within: 2_500,
    weather: "leadership",
    edits: [condition("leadership-held", `$ || event.kind === "intent-stored" || event.kind === "completed"`)],
  },
  {
    name: "a renewal counts from its answer",
    within: 5_000,
    weather: "leadership",
    edits: [argument("leadership-renewed", "heldUntilMs", 0, `nowMs`)],
  },
  {
    name: "a leadership that ran out is renewed whoever leads",
    within: 250,
    weather: "leadership",
    edits: [remove("renewal-fenced"), expression("renewal-stored", `epoch`, `this.leadership.epoch`)],
  },
  {
    name: "what was put off without the leadership is forgotten",
    within: 1_000,
    weather: "leadership",
    edits: [expression("put-off-resumed", `events`, `[]`)],
  },
  {
    name: "an execution is run again before those whose writes it has read",
    within: 100,
    edits: [condition("re-execution-behind", `execution.ahead.size < 0`)],
  },
  {
    name: "a queue behind own writes is left without a word to those behind",
    within: 5_000,
    weather: "leadership",
    edits: [condition("queue-left", `next.ahead.size < 0 && $`)],
  },
  {
    name: "near storage the handler runs under the set of its location",
    within: 100,
    edits: [
      expression("near-storage-run", `this.#writable(execution, near)`, `null`),
      replace("near-storage-covered", `return this.#confirm(execution, { kind: "confirm", near, ran });`),
    ],
  },
  {
    name: "a member of a train does not see the writes of those before it",
    within: 25,
    edits: [expression("train-overlay", `overlaid(member.snapshot, coming)`, `member.snapshot`)],
  },
  {
    name: "a sample of a member of a train has the values of before the train",
    within: 100,
    edits: [expression("train-values", `overlaid(member.snapshot, coming)`, `member.snapshot`)],
  },
  {
    name: "a train goes on with the writes of a member that has left it",
    within: 1_000,
    edits: [remove("train-cut")],
  },
  {
    name: "a member of a train is answered before the writes that it has read are durable",
    within: 2_500,
    edits: [expression("train-trace", `coming.size > 0`, `coming.size < 0`)],
  },
  {
    name: "a write of a build without an index comes without its entry",
    within: 25,
    isOfIndexes: true,
    edits: [condition("index-entries", `true`)],
  },
  {
    name: "a build without an index is told that its write is valid",
    within: 25,
    isOfIndexes: true,
    edits: [remove("index-near-storage"), remove("index-told")],
  },
  {
    name: "an index is built before the executions that were told by the rules without it have ended",
    within: 600,
    isOfIndexes: true,
    edits: [condition("index-before", `isToDo`)],
  },
  {
    name: "the position of a page is stored without its entries",
    within: 25,
    isOfIndexes: true,
    edits: [expression("index-page", `[...writes, state]`, `[state]`)],
  },
  {
    name: "a page does not see that an item has changed since it was read",
    within: 25,
    isOfIndexes: true,
    edits: [expression("index-page-reads", `[...reads]`, `[]`)],
  },
  {
    name: "a build without a unique index stores the same fields twice",
    within: 25,
    isOfIndexes: true,
    edits: [condition("index-unique", `false`)],
  },
  {
    name: "an item takes the entry of another one away",
    within: 1_000,
    isOfIndexes: true,
    edits: [condition("index-owner", `from !== null`)],
  },
  {
    name: "a train brings no entries of indexes",
    within: 600,
    isOfIndexes: true,
    edits: [
      expression(
        "index-train",
        `!writes.some(({ unit }) => this.#keptFor(execution, tableOf(unit)).length > 0)`,
        `true`,
      ),
    ],
  },
  {
    name: "in a train a GET writes",
    within: 250,
    weather: "hot key",
    edits: [expression("train-member", `!mustNotWrite`, `true`)],
  },
  {
    name: "a train is several commits",
    within: 50,
    edits: [replace("train-commit", `for (const each of completing) this.#completeClear([each]);`)],
  },
  {
    name: "of a train the first write of a unit lasts",
    within: 50,
    edits: [
      expression(
        "train-folded",
        `all.map((write) => [write.unit, write])`,
        `all.toReversed().map((write) => [write.unit, write])`,
      ),
    ],
  },
  {
    name: "the commit of a train writes an item twice",
    within: 50,
    edits: [expression("train-folded", `[...new Map(all.map((write) => [write.unit, write])).values()]`, `all`)],
  },
  {
    name: "a member that has left a train keeps its locks",
    within: 1_000,
    edits: [remove("train-left-unlocked")],
  },
  {
    name: "an execution follows a train although others are in its way",
    within: 100,
    edits: [expression("train-followed", `how.following.has(holder)`, `true`)],
  },
  {
    name: "the gate is taken shared",
    within: 250,
    edits: [expression("gate-taken", `"exclusive"`, `"shared"`)],
  },
  {
    name: "a shared lock is made exclusive although others share it",
    within: 2_500,
    weather: "leadership",
    edits: [condition("lock-strengthened", `$ && !lock.holders.has(owner!)`)],
  },
  {
    name: "locks are kept after a refusal",
    within: 25,
    edits: [
      replace(
        "refusal-ends",
        `execution.phase = { kind: "ended", hash: null };
        this.#executions.delete(execution.id);
        this.#budgets.end(execution.location, execution.usage, this.#nowMs);`,
      ),
    ],
  },
  {
    name: "a followup that does not come is not replaced",
    within: 500,
    edits: [remove("followup-lost")],
  },
  {
    name: "what was replaced keeps its place, and those after it in line wait forever",
    within: 1_000,
    edits: [remove("replaced-ends")],
  },
  {
    name: "an adopted intent waits for its followup forever",
    within: 500,
    weather: "leadership",
    edits: [remove("adopted-followup")],
  },
  {
    name: "what an adopted intent has read is not locked again",
    within: 2_500,
    edits: [argument("adopted-locks", "declaredLocks", 0, `$.filter(({ mode }) => mode !== "read")`)],
  },
  {
    name: "a re-execution that was killed is given up",
    within: 250,
    edits: [replace("re-execution-killed", `if (phase.kills >= 0) return this.#abandon(execution, phase, false);`)],
  },
  {
    name: "the time of a re-execution that was killed does not grow",
    within: 25,
    weather: "long runs",
    edits: [expression("handler-run", `kills`, `0`)],
  },
  {
    name: "a re-execution that used up the fuel of a speculation is tried again",
    within: 25,
    weather: "long runs",
    edits: [remove("re-execution-exhausted"), before("re-execution-tried-again", `case "exhausted":`)],
  },
  {
    name: "a location tells the outcome of a run beyond the fuel of a speculation",
    within: 100,
    weather: "long runs",
    edits: [value("speculation-fuel", `{}`)],
  },
  {
    name: "a location waits for a confirmation of a run that used up its fuel",
    within: 25,
    weather: "long runs",
    edits: [returns("speculation-exhausted", `[]`)],
  },
  {
    name: "a doubtful completion is taken for none",
    within: 100,
    edits: [condition("completion-doubtful", `failed.effect.expects === "pending"`)],
  },
  {
    name: "a read-only execution under a chosen id leaves no trace",
    within: 25,
    edits: [expression("intent-needed", `execution.retained`, `false`), expression("task-trace", `retained`, `false`)],
  },
  {
    name: "an outcome is told before it is durable",
    within: 25,
    edits: [
      after(
        "completion-stored-first",
        `for (const { execution, completing } of members)
          for (const caller of execution.callers.splice(0)) {
            const { outcome } = completing.completion;
            const times = this.#times(caller.receivedAtMs);
            this.#reply(caller, { kind: "executed", cause: "stale", outcome, repairs: [], times }, []);
          }`,
      ),
    ],
  },
  {
    name: "a re-execution runs the newest module",
    within: 100,
    edits: [expression("handler-run", `invocation`, `{ ...$, module: this.#modules.uses.at(-1)!.module }`)],
  },
  {
    name: "a re-execution has a time of its own",
    within: 25,
    edits: [
      expression(
        "handler-run",
        `invocation`,
        `{ ...$, environment: { ...invocation.environment, timeMs: this.#wallMs } }`,
      ),
    ],
  },
  {
    name: "a re-execution has no caller",
    within: 25,
    edits: [
      expression("handler-run", `invocation`, `{ ...$, environment: { ...invocation.environment, caller: null } }`),
    ],
  },
  {
    name: "a hint is told before its writes are durable",
    within: 100,
    edits: [
      after(
        "completion-stored-first",
        `for (const { completing: { completion } } of members)
          this.#listeners.applied(completion.commitId, completion.writes, () => new Set(), this.#term);`,
      ),
    ],
  },
  {
    name: "a sample is told before its writes are durable",
    within: 100,
    edits: [after("sample-taken", `this.#effects.push(...sampled);`)],
  },
  {
    name: "a sample has the primary's version of an own write that is not applied yet",
    within: 2_500,
    weather: "own writes",
    edits: [
      expression(
        "sample-made",
        `versionsOf(ground)`,
        `new Map(Array.from($.keys(), (unit) => [unit, this.#memory.get(unit)?.version ?? $.get(unit)]))`,
      ),
    ],
  },
  {
    name: "done intents are collected at once",
    within: 500,
    edits: [value("done-kept-for", `this.#wallMs`)],
  },
  {
    name: "the epoch of a completion is not checked",
    within: 1_000,
    weather: "leadership",
    edits: [remove("completion-fenced")],
  },
  {
    name: "the leadership is taken whatever was seen of it",
    within: 250,
    weather: "leadership",
    edits: [condition("leadership-as-seen", `epoch < seen.epoch || beat < 0`)],
  },
  {
    name: "an intent that arrives after a takeover counts",
    within: 1_000,
    weather: "leadership",
    edits: [condition("intent-late", `epoch < 0`)],
  },
  {
    name: "what is done is completed again",
    within: 25,
    edits: [condition("completion-expected", `expects === "new" ? record?.state === "pending" : record === undefined`)],
  },
  {
    name: "a location reads its snapshot twice",
    within: 2_500,
    edits: [
      expression(
        "speculation-reads",
        `spanSnapshot(snapshot)`,
        `Object.assign((unit) => ports.peek(unit) ?? $(unit), { scan: $.scan })`,
      ),
    ],
  },
  {
    name: "an update reaches a run that is under way",
    within: 1_000,
    edits: [
      after(
        "update-heard",
        `const heard = lines.map((line) => JSON.parse(line)).filter(([first]) => typeof first !== "string").flat();
        for (const running of this.#life.running.keys())
          running.told = new Map(heard.map(([unit]) => [unit, memory.get(unit)]));`,
      ),
      argument("speculation-host", "runHandler", 1, `(unit) => running.told?.get(unit) ?? snapshot(unit)`),
    ],
  },
  {
    name: "a location takes the answer to an attempt that it has given up",
    within: 5_000,
    edits: [
      after("reply-awaited", `running.hears = this.#life.sendings.get(sending);`),
      replace(
        "reply-heard",
        `const { hears } = [...this.#life.running.keys()].find((it) => it.invocation.executionId === message.executionId) ?? {};
        (sendings.get(message.sending) ?? hears)?.(message.reply);`,
      ),
    ],
  },
  {
    name: "a location answers reads from speculation",
    within: 25,
    edits: [
      condition("answer-confirmed", `$ && ${HAS_WRITTEN}`),
      replace("confirmed-commit", `const { question, commitId = null } = phase;`),
    ],
  },
  {
    name: "a location answers from speculation when the primary does not",
    within: 25,
    edits: [
      before(
        "primary-unanswered",
        `if (question.run?.kind === "completed")
          return [this.#answer({ kind: "outcome", outcome: question.run.outcome, path: "speculative", reason: "valid" })];`,
      ),
    ],
  },
  {
    name: "a location shows a result of a handler without the tag",
    within: 25,
    edits: [returns("shows-tagged", `this.#input.prefersSpeculative`)],
  },
  {
    name: "a location shows a result that nobody asked to see early",
    within: 25,
    edits: [returns("shows-tagged", `this.#input.speculative`)],
  },
  {
    name: "a location shows the result of a doubted run before its answer",
    within: 100,
    edits: [value("shown-unconfirmed", `true`)],
  },
  {
    name: "a location confirms a shown result that is not the answer",
    within: 100,
    edits: [value("verdict-compared", `true`)],
  },
  {
    name: "a location puts its writes into the cache before it is told their commit id",
    within: 25,
    edits: [
      replace(
        "speculation-done",
        `const writes = speculation.kind === "completed" ? speculation.writes : [];
        const early = writes.map(({ unit, value }) => ({ unit, entry: entryOf(this.#seen ?? "", value) }));
        return [...warnings, ...shown, ...this.#join(atMs), ...put(early)];`,
      ),
    ],
  },
  {
    name: "a writer is told before read leases of its units have ended",
    within: 500,
    weather: "leases",
    edits: [remove("clear-before-valid"), expression("valid-after-intent", `this.#clearFacts(execution)`, `[]`)],
  },
  {
    name: "near storage an execution completes before read leases of its units have ended",
    within: 1_000,
    weather: "leases",
    edits: [
      replace(
        "clear-before-complete",
        `#mayComplete({ execution, of, ended }) {
          return ended.writes.length === 0 || of.kind === "near-storage" || this.#isClear(execution);
        }`,
      ),
      expression(
        "complete-when-clear",
        `completing.completion.writes.length > 0`,
        `$ && completing.of.kind === "pending"`,
      ),
    ],
  },
  {
    name: "a unit is leased while a writer asks for it",
    within: 25,
    weather: "leases",
    edits: [remove("grant-wanted")],
  },
  {
    name: "the other isolates of the writer's location are not waited for",
    within: 250,
    weather: "leases",
    edits: [replace("holders-waited-for", `for (const each of session.at.sessions) this.#drop(each, unit);`)],
  },
  {
    name: "a lease on its way to the writer's isolate counts as dropped",
    within: 2_500,
    weather: "leases",
    edits: [remove("grant-on-its-way")],
  },
  {
    name: "an early successor does not wait for the read leases before it",
    within: 1_000,
    weather: "leases",
    edits: [value("inherited-leases", `[]`)],
  },
  {
    name: "read leases are given before storage names their time",
    within: 1_000,
    weather: "leases",
    edits: [remove("leases-named"), value("lease-after-naming", `{ after: [] }`)],
  },
  {
    name: "adopted intents are applied without a wait for the read leases before them",
    within: 2_500,
    weather: "leases",
    edits: [
      replace(
        "clear-before-complete",
        `#mayComplete({ execution, of, ended }) {
          const isAdopted = of.kind === "pending" && of.sequence === null;
          return ended.writes.length === 0 || isAdopted || this.#isClear(execution);
        }`,
      ),
      expression(
        "complete-when-clear",
        `completing.completion.writes.length > 0`,
        `$ && !(completing.of.kind === "pending" && completing.of.sequence === null)`,
      ),
    ],
  },
  {
    name: "a session that has lapsed is renewed",
    within: 50,
    weather: "leases",
    edits: [remove("lapsed-forgotten"), remove("lapsed-renewed")],
  },
  {
    name: "the id of a session that has lapsed is opened again",
    within: 2_500,
    weather: "leases",
    edits: [
      before("session-known", `this.#sessions.asked = id;`),
      expression("session-minted", `sessionId(this.#epoch, this.#number(++this.#minted))`, `this.asked ?? $`),
    ],
  },
  {
    name: "an insert revokes no lease of the absence",
    within: 25,
    weather: "leases",
    edits: [condition("exclusive-revokes", `$ || this.#ground.versionOf(wanted)?.hash === null`)],
  },
  {
    name: "a session is renewed although it has not heard of a revocation",
    within: 100,
    weather: "leases",
    edits: [
      expression("renewed-unheard", `session.revocations.length === 0`, `true`),
      condition("lease-renewed-unheard", `true`),
    ],
  },
  {
    name: "a revocation is heard and not processed",
    within: 50,
    weather: "leases",
    edits: [replace("revocation-processed", `this.drop(this.late ?? []); this.late = line.units;`)],
  },
  {
    name: "a revocation of a span ends the leases of all items in it",
    within: 100,
    weather: "leased ranges",
    edits: [replace("revocation-processed", `this.drop(line.units);`)],
  },
  {
    name: "leases that a writer has dropped count until it gets its locks",
    within: 100,
    weather: "leases",
    edits: [
      remove("drops-told"),
      before(
        "leases-revoked",
        `if (execution.sender !== null && execution.declared !== null)
          leases.dropped(execution.location, execution.declared.units, execution.sender);`,
      ),
    ],
  },
  {
    name: "the time of a lease is not looked at",
    within: 2_500,
    weather: "leases",
    edits: [condition("term-looked-at", `this.#validUntilMs === -Infinity`)],
  },
  {
    name: "a lease allows for no difference of clocks",
    within: 500,
    weather: "cut off",
    edits: [expression("drift-allowed", `forMs * RATE`, `forMs`)],
  },
  {
    name: "a lease counts from the answer instead of from the question",
    within: 250,
    weather: "cut off",
    edits: [
      expression("term-from-question", `sentAtMs`, `this.#greatestMs`),
      expression("timer-from-question", `begun.ms - (ticks + 1) * CLOCK_MARGIN_MS`, `begun.ms`),
    ],
  },
  {
    name: "units are looked at one after the other",
    within: 500,
    weather: "leases",
    edits: [
      value("unit-looked-at", `this.#leases.get(unit) ?? this.before?.get(unit)`),
      before(
        "revocation-processed",
        `this.before ??= new Map();
        for (const unit of line.units) if (this.#leases.get(unit) !== undefined) this.before.set(unit, this.#leases.get(unit));`,
      ),
    ],
  },
  {
    name: "the version of a lease is not compared",
    within: 50,
    weather: "leases",
    edits: [expression("lease-version", `!sameVersion(unit, version, entry.version)`, `false`)],
  },
  {
    name: "leased spans cover what lies between them",
    within: 1_000,
    weather: "leased ranges",
    edits: [condition("cover-gap", `false`)],
  },
  {
    name: "the rows in memory are not compared with the lease that covers them",
    within: 1_000,
    weather: "leased ranges",
    edits: [expression("cover-rows", `digestOf(rows) !== hash`, `false`)],
  },
  {
    name: "a leased span covers all versions of what lies within",
    within: 1_000,
    weather: "leased ranges",
    edits: [expression("cover-version", `hasVersion(unit, version, rows)`, `true`)],
  },
  {
    name: "a read that is to be kept is answered by leases",
    within: 100,
    weather: "leases",
    edits: [expression("leased-read-only", `retained`, `false`)],
  },
  {
    name: "an execution that may write is answered by leases",
    within: 25,
    weather: "leases",
    edits: [expression("leased-read-only", `writes.size > 0`, `false`)],
  },
  {
    name: "the leases of a session count in the next one",
    within: 1_000,
    weather: "leases",
    edits: [replace("session-before", `this.endTerm();`)],
  },
  {
    name: "an isolate keeps its own leases of units that it writes",
    within: 1_000,
    weather: "leases",
    edits: [remove("own-leases-dropped")],
  },
  {
    name: "the units of a live query are watched after the step that validates them",
    within: 250,
    weather: "live queries",
    edits: [
      replace(
        "watch-registered",
        `(this.later ??= []).push({ steps: 5, register: () => this.#listeners.watch(sender, units, this.#nowMs) });`,
      ),
      before(
        "step-ends",
        `for (const late of this.later?.splice(0) ?? [])
          if (late.steps-- > 0) this.later.push(late);
          else late.register();`,
      ),
    ],
  },
  {
    name: "a change that comes during the run of a live query is lost",
    within: 250,
    weather: "live queries",
    edits: [remove("change-during-run")],
  },
  {
    name: "a live query goes on trusting a session that is over",
    within: 250,
    weather: "live queries",
    edits: [remove("session-over"), returns("covered-in-session", `state !== null && state.session !== null`)],
  },
  {
    name: "a subscriber is sent the same state again",
    within: 25,
    weather: "live queries",
    edits: [expression("state-compared", `state.message.id !== sent`, `true`)],
  },
  {
    name: "states of a live query are compared by a part of their digest",
    within: 100,
    weather: "live queries",
    edits: [
      expression("state-compared", `state.message.id !== sent`, `state.message.id.slice(0, 1) !== sent?.slice(0, 1)`),
    ],
  },
  {
    name: "a subscriber is sent a state that was computed before it asked",
    within: 250,
    weather: "live queries",
    edits: [value("state-computed-after", `state !== null`)],
  },
  {
    name: "the end that a walk has reached is not a part of what it has seen",
    within: 100,
    weather: "ranges",
    edits: [condition("end-observed", `$ && seen.length === 0`)],
  },
  {
    name: "the digest of a span has the keys of its rows only",
    within: 25,
    weather: "ranges",
    edits: [expression("row-hashed", `key + id + hash`, `key`)],
  },
  {
    name: "the digest of a span is not compared",
    within: 25,
    weather: "ranges",
    edits: [returns("span-compared", `hash !== null`)],
  },
  {
    name: "a told writer inside a span is passed",
    within: 25,
    weather: "ranges",
    edits: [expression("told-holder", `holder !== execution`, `!unit.includes(":") && holder !== execution`)],
  },
  {
    name: "an execution that writes does not lock the spans that it reads",
    within: 25,
    weather: "ranges",
    edits: [expression("spans-locked", `units`, `units.filter(({ unit }) => !unit.includes(":"))`)],
  },
  {
    name: "a span passes writers inside that wait",
    within: 25,
    weather: "ranges",
    edits: [
      expression(
        "waiter-in-way",
        `waiters[placeOf(waiters, ticket) - 1]?.owner`,
        `(unit.includes(":") ? undefined : waiters[placeOf(waiters, ticket) - 1]?.owner)`,
      ),
    ],
  },
  {
    name: "rows that are applied beside a load are taken from the load",
    within: 250,
    weather: "ranges",
    edits: [remove("range-overtaken")],
  },
  {
    name: "keys are ordered by UTF-16",
    within: 100,
    weather: "ranges",
    edits: [expression("utf8-order", `afterAll(x) - afterAll(y)`, `x - y`)],
  },
  {
    name: "an insert leaves the read lease on a span around it",
    within: 25,
    weather: "ranges",
    edits: [
      expression(
        "span-revoked",
        `this.#holders.overlapping(wanted)`,
        `this.#holders.overlapping(wanted).filter(([held]) => held === wanted)`,
      ),
    ],
  },
  {
    name: "rows that were loaded for one execution are forgotten before it has all of them",
    within: 100,
    weather: "ranges",
    edits: [remove("ranges-kept")],
  },
  {
    name: "rows are loaded beside an apply that is under way",
    within: 2_500,
    weather: "watched ranges",
    edits: [remove("range-unsettled")],
  },
  {
    name: "pending intents are adopted as if spans overlapped nothing",
    within: 1_000,
    weather: "ranges at takeovers",
    edits: [
      expression(
        "intents-overlap",
        `holders.overlapping(unit)`,
        `holders.overlapping(unit).filter(([held]) => held === unit)`,
      ),
    ],
  },
  {
    name: "a location is believed about a span in which it has a coming write",
    within: 25,
    weather: "ranges",
    edits: [
      replace(
        "own-write-span",
        `if (isSpan(unit)) return this.#toldHolder(execution, unit)?.location === execution.location;`,
      ),
    ],
  },
  {
    name: "a told writer inside a span is passed by those of its location",
    within: 25,
    weather: "ranges",
    edits: [
      expression(
        "told-holder",
        `holder !== execution`,
        `(!unit.includes(":") || holder.location !== execution?.location) && holder !== execution`,
      ),
    ],
  },
  {
    name: "rows that memory lacks are not in the digest of a span",
    within: 25,
    weather: "ranges",
    edits: [value("span-hole", `null`), remove("digest-holes")],
  },
  {
    name: "a newer version of a row stands beside the old one",
    within: 25,
    weather: "ranges",
    edits: [condition("row-replaced", `false`)],
  },
  {
    name: "what a query asks for counts as what its walk has seen",
    within: 25,
    weather: "ranges",
    edits: [condition("end-observed", `true`)],
  },
  {
    name: "an isolate keeps its leases on spans around what it writes",
    within: 2_500,
    weather: "leased ranges",
    edits: [
      expression(
        "leases-dropped-overlap",
        `this.#leases.overlapping(changed)`,
        `this.#leases.overlapping(changed).filter(([held]) => held === changed)`,
      ),
    ],
  },
  {
    name: "the spans that an adopted intent has read are not locked again",
    within: 25,
    weather: "ranges",
    edits: [argument("adopted-locks", "declaredLocks", 0, `$.filter(({ unit }) => !unit.includes(":"))`)],
  },
  {
    name: "those who watch a span are not told of an insert",
    within: 25,
    weather: "watched ranges",
    edits: [
      expression(
        "watched-overlap",
        `this.#watchers.overlapping(written)`,
        `this.#watchers.overlapping(written).filter(([watched]) => watched === written)`,
      ),
    ],
  },
  {
    name: "the spans of a run near storage are not confirmed",
    within: 2_500,
    weather: "ranges",
    edits: [condition("reads-confirmed", `$ || reads.some((unit) => unit.includes(":"))`)],
  },
  {
    name: "the tasks of an execution are not in its commit",
    within: 25,
    isOfTasks: true,
    edits: [remove("task-inserted")],
  },
  {
    name: "a task that was answered with an abort is tried again",
    within: 25,
    isOfTasks: true,
    edits: [condition("task-final", `false`)],
  },
  {
    name: "a task is tried forever",
    within: 25,
    isOfTasks: true,
    edits: [condition("task-attempts", `false`)],
  },
  {
    name: "the first task of a lane runs while an earlier commit may still enqueue there",
    within: 150,
    isOfTasks: true,
    edits: [condition("lane-named", `false`)],
  },
  {
    name: "the lanes of an intent are not known before its followup",
    within: 150,
    isOfTasks: true,
    edits: [remove("lanes-named")],
  },
  {
    name: "an adopted intent names no lane",
    within: 1_000,
    isOfTasks: true,
    edits: [remove("adopted-lanes")],
  },
  {
    name: "a task is read from storage before its parent has heard of its commit",
    within: 600,
    isOfTasks: true,
    edits: [expression("task-parent", `!underWay.inserts(task)`, `true`)],
  },
  {
    name: "an old answer of storage brings a task back that is gone",
    within: 1_000,
    isOfTasks: true,
    edits: [remove("task-stale")],
  },
  {
    name: "a task is taken for one that is coming while a repeat of its parent is under way",
    within: 600,
    isOfTasks: true,
    edits: [returns("task-coming-now", `phase !== undefined`)],
  },
  {
    name: "a page of due tasks ends with its last task, wherever that stands by now",
    within: 2_500,
    isOfTasks: true,
    edits: [expression("task-page", `upTo`, `tasks.at(-1) ?? null`)],
  },
  {
    name: "an execution that waits with a commit id names no lanes",
    within: 250,
    isOfTasks: true,
    edits: [remove("lanes-named-clear")],
  },
  {
    name: "a task begins before it is due",
    within: 25,
    isOfTasks: true,
    edits: [value("task-due", `nowMs`)],
  },
  {
    name: "a dead task is tried again by the next server",
    within: 150,
    isOfTasks: true,
    edits: [expression("task-dead", `task.state === "dead"`, `false`)],
  },
  {
    name: "the number of tasks is never counted again",
    within: 150,
    isOfTasks: true,
    edits: [value("task-count", `true`)],
  },
  {
    name: "a task that comes while storage is asked for its lane is lost",
    within: 600,
    isOfTasks: true,
    edits: [remove("task-coming")],
  },
  {
    name: "a task that memory has no room for is not read again",
    within: 25,
    isOfTasks: true,
    edits: [remove("task-bound")],
  },
  {
    name: "the arguments of tasks in lanes stay in memory, whatever room there is",
    within: 25,
    isOfTasks: true,
    edits: [value("lane-room", `true`)],
  },
  {
    name: "a task that memory has without its arguments is not read again",
    within: 25,
    isOfTasks: true,
    edits: [remove("task-unread")],
  },
  {
    name: "the arguments of a task that is gone make it begin",
    within: 150,
    isOfTasks: true,
    edits: [condition("task-read-stale", `false`)],
  },
  {
    name: "arguments that storage could not give are not asked for again",
    within: 150,
    isOfTasks: true,
    edits: [remove("task-read-failed")],
  },
  {
    name: "a full memory holds up tasks behind those that can't begin",
    within: 25,
    isOfTasks: true,
    edits: [condition("task-blocked", `false`)],
  },
  {
    name: "a handler without a task in memory waits for room",
    within: 150,
    isOfTasks: true,
    edits: [condition("task-parked", `false`)],
  },
  {
    name: "a task runs for nobody",
    within: 25,
    isOfTasks: true,
    edits: [expression("task-caller", `environment`, `{ caller: null }`)],
  },
  {
    name: "an execution that enqueues and writes nothing leaves no trace",
    within: 600,
    isOfTasks: true,
    edits: [expression("task-trace", `effects.length > 0`, `false`)],
  },
  {
    name: "an attempt of a task without effect is the last one",
    within: 150,
    isOfTasks: true,
    edits: [remove("task-put-back")],
  },
  {
    name: "the limit of a handler does not hold for its tasks",
    within: 150,
    isOfTasks: true,
    edits: [expression("task-limit", `!this.#takeToken(handler, nowMs)`, `this.#takeToken(handler, nowMs) === null`)],
  },
  {
    name: "a server that starts does not look for lanes",
    within: 25,
    isOfTasks: true,
    edits: [condition("task-heads", `true`)],
  },
  {
    name: "each attempt of a task draws anew",
    within: 25,
    isOfTasks: true,
    edits: [
      expression("task-seed", `task`, `{ ...task, seed: Uint8Array.from(task.seed, (byte) => byte ^ task.attempt) }`),
    ],
  },
  {
    name: "a followup enqueues in lanes that its intent does not name",
    within: 150,
    isOfTasks: true,
    edits: [
      expression("followup-lanes", `lanesOf(followup.effects).every((lane) => intent.lanes.includes(lane))`, `true`),
    ],
  },
  {
    name: "a task that is taken back stays in storage",
    within: 25,
    isOfTasks: true,
    edits: [remove("cancel-committed")],
  },
  {
    name: "a task is taken back while it runs",
    within: 25,
    isOfTasks: true,
    edits: [condition("cancel-running", `found?.state === "held"`)],
  },
  {
    name: "a task is taken back before its parent has enqueued it",
    within: 25,
    isOfTasks: true,
    edits: [value("cancel-parent", `null`)],
  },
  {
    name: "a task is enqueued that its own execution has taken back",
    within: 25,
    isOfTasks: true,
    edits: [remove("cancel-own")],
  },
  {
    name: "a task begins while the commit that takes it back is on its way",
    within: 25,
    isOfTasks: true,
    edits: [remove("cancel-hold")],
  },
  {
    name: "a task that was not taken back after all never begins",
    within: 600,
    isOfTasks: true,
    edits: [remove("cancel-let-go")],
  },
  {
    name: "a canceller counts on another one whose commit may fail",
    within: 600,
    isOfTasks: true,
    edits: [condition("cancel-held", `false`)],
  },
  {
    name: "an old answer about a task counts that has changed since",
    within: 2_500,
    isOfTasks: true,
    edits: [condition("lookup-stale", `!isComing`)],
  },
  {
    name: "a task that is taken back while storage is asked for others comes back",
    within: 600,
    isOfTasks: true,
    edits: [remove("task-coming-changed")],
  },
  {
    name: "each attempt calls a service under a key of its own",
    within: 25,
    isOfServices: true,
    edits: [expression("service-key", `serviceKeyOf(task)`, "`${task} ${attempt}`")],
  },
  {
    name: "a service is called before its mark is durable",
    within: 25,
    isOfServices: true,
    edits: [value("service-facts", `[]`), after("service-marked", `call.task = marked; return this.#send(call);`)],
  },
  {
    name: "a service is called after the window of its key",
    within: 25,
    isOfServices: true,
    edits: [returns("service-window", `null`)],
  },
  {
    name: "a service that knows no keys is called twice",
    within: 25,
    isOfServices: true,
    edits: [condition("service-once", `false`), expression("service-once-lost", `rules.once`, `false`)],
  },
  {
    name: "a service that has refused is called again",
    within: 25,
    isOfServices: true,
    edits: [
      replace(
        "service-refused",
        `return this.#change(call, "settle", answer.kind === "value" ? null : this.#afterFailure(call, errorIn(answer, now.wallMs), false, now));`,
      ),
    ],
  },
  {
    name: "each attempt marks the task anew",
    within: 25,
    isOfServices: true,
    edits: [value("service-first", `true`)],
  },
  {
    name: "a call that was not made uses an attempt",
    within: 25,
    isOfServices: true,
    edits: [
      replace(
        "service-not-called",
        `return this.#change(call, "settle", this.#afterFailure(call, error, false, now));`,
      ),
    ],
  },
  {
    name: "a call that was not made takes the mark of an earlier one away",
    within: 100,
    isOfServices: true,
    edits: [value("service-put-off", `null`)],
  },
  {
    name: "a service is called again when its answer could not be stored",
    within: 100,
    isOfServices: true,
    edits: [
      replace(
        "service-answer-kept",
        `if (call.change.kind === "mark") $ else { this.#changes.delete(operation); this.#send(call); }`,
      ),
    ],
  },
  {
    name: "all calls behind an open breaker are probes",
    within: 100,
    isOfServices: true,
    edits: [returns("breaker-probe", `this.#state !== "open" || nowMs >= this.#openUntilMs`)],
  },
  {
    name: "an order does not wait for a commit that takes the task back",
    within: 600,
    isOfTasks: true,
    edits: [expression("order-held", `known?.state === "held"`, `false`)],
  },
  {
    name: "a tick becomes a task, and its schedule moves in another transaction",
    within: 25,
    isOfSchedules: true,
    edits: [
      expression(
        "schedule-stored",
        `change.becomes`,
        `{ ...change.becomes, lastMs: change.ticks.length === 0 ? change.becomes.lastMs : change.ticks[0] - 1 }`,
      ),
    ],
  },
  {
    name: "a schedule goes back with the clock",
    within: 25,
    isOfSchedules: true,
    edits: [
      expression(
        "schedule-clock",
        `entry`,
        `{ ...entry, state: entry.state && { ...entry.state, lastMs: Math.min(entry.state.lastMs, wallMs) } }`,
      ),
    ],
  },
  {
    name: "a schedule that begins makes up for ticks of before",
    within: 25,
    isOfSchedules: true,
    edits: [expression("schedule-begins", `Math.max(lastMs, wallMs)`, `Math.max(lastMs, wallMs - 86_400_000)`)],
  },
  {
    name: "a schedule that another build lacks makes up for its ticks after a rollback",
    within: 25,
    isOfSchedules: true,
    edits: [condition("schedule-due", `state === null`)],
  },
  {
    name: "all missed ticks are made up for",
    within: 25,
    isOfSchedules: true,
    edits: [expression("schedule-catch-up", `isInTime ? 1 : 0`, `all.length`)],
  },
  {
    name: "a tick that is late counts as in time",
    within: 25,
    isOfSchedules: true,
    edits: [expression("schedule-late", `wallMs - Math.max(latestMs, freedMs) <= LATE_MS`, `true`)],
  },
  {
    name: "a tick does not wait until the one before is done",
    within: 25,
    isOfSchedules: true,
    edits: [condition("schedule-overlap", `true`)],
  },
  {
    name: "a server that starts does not ask whether the latest tick is done",
    within: 150,
    isOfSchedules: true,
    edits: [remove("schedule-open")],
  },
  {
    name: "a pause ends with its server",
    within: 150,
    isOfSchedules: true,
    edits: [expression("schedule-stored", `change.becomes`, `{ ...change.becomes, isPaused: false }`)],
  },
  {
    name: "a schedule makes up for the ticks of its pause",
    within: 25,
    isOfSchedules: true,
    edits: [expression("schedule-resumes", `Math.max(state.lastMs, wallMs)`, `state.lastMs`)],
  },
  {
    name: "a step begins before the entry with its command is durable",
    within: 25,
    isOfWorkflows: true,
    edits: [before("entry-stored-first", `this.#journaled(entry, made)`)],
  },
  {
    name: "a sample of a workflow's run is told before its entry is durable",
    within: 25,
    isOfWorkflows: true,
    edits: [before("entry-stored-first", `for (const effect of made.sampled) this.#host.emit(effect);`)],
  },
  {
    name: "the journal has arrivals in another order than the run has seen",
    within: 150,
    isOfWorkflows: true,
    edits: [expression("entry-as-seen", `run.entry`, `{ ...run.entry, arrivals: run.entry.arrivals.toReversed() }`)],
  },
  {
    name: "the first of several steps is the one with the smallest number",
    within: 600,
    isOfWorkflows: true,
    edits: [
      expression(
        "entry-as-seen",
        `run.entry`,
        `{ ...run.entry, arrivals: run.entry.arrivals.toSorted((a, b) => (a.command ?? 1e9) - (b.command ?? 1e9)) }`,
      ),
    ],
  },
  {
    name: "a step arrives at its workflow apart from its writes",
    within: 150,
    isOfWorkflows: true,
    edits: [condition("step-arrives", `false`)],
  },
  {
    name: "a workflow runs while its last entry is on its way",
    within: 150,
    isOfWorkflows: true,
    edits: [
      condition("one-activation", `loaded === null`),
      condition("one-run", `entry.loaded !== null && needsRun(entry.loaded)`),
    ],
  },
  {
    name: "the time of a workflow is that of the clock",
    within: 150,
    isOfWorkflows: true,
    edits: [value("workflow-time", `this.#now.wallMs`)],
  },
  {
    name: "the oldest undo comes first",
    within: 150,
    isOfWorkflows: true,
    edits: [returns("undo-order", `undos.find(({ command }) => !undone.has(command))`)],
  },
  {
    name: "a signal does not wake the workflow that it is for",
    within: 150,
    isOfWorkflows: true,
    edits: [condition("signal-wakes", `false`)],
  },
  {
    name: "what a workflow has done is undone while its steps are under way",
    within: 600,
    isOfWorkflows: true,
    edits: [returns("steps-end", `true`)],
  },
  {
    name: "after a start a workflow takes the signals that it has taken",
    within: 150,
    isOfWorkflows: true,
    edits: [condition("signal-taken", `false`)],
  },
  {
    name: "a signal to a workflow that has not begun is dropped",
    within: 25,
    isOfWorkflows: true,
    edits: [returns("signal-early", `false`)],
  },
  {
    name: "a workflow drops what another workflow has sent it before it has begun",
    within: 100,
    isOfWorkflows: true,
    edits: [returns("signal-early-sent", `false`)],
  },
  {
    name: "a workflow that begins does not look for the signals that have come before",
    within: 60,
    isOfWorkflows: true,
    edits: [remove("signal-before-start")],
  },
  {
    name: "a signal is dropped if memory does not have the task that is to become the workflow",
    within: 100,
    isOfWorkflows: true,
    edits: [value("signal-looked-up", `CANCELLING`)],
  },
  {
    name: "a workflow that was cancelled before it has begun leaves nothing",
    within: 100,
    isOfWorkflows: true,
    edits: [expression("withdrawn-ends", `this.#workflows.commands.withdrawnAs(task)`, `null`)],
  },
  {
    name: "a workflow that has failed waits for the workflows that it has started",
    within: 600,
    isOfWorkflows: true,
    edits: [condition("children-cancelled", `true`)],
  },
  {
    name: "a workflow that has failed ends the workflow that undoes",
    within: 100,
    isOfWorkflows: true,
    edits: [expression("undo-child", `{ kind: "owed" }`, `{ kind: "child", isCancelled: false }`)],
  },
  {
    name: "an undo that was not done counts as done, in silence",
    within: 25,
    isOfWorkflows: true,
    edits: [remove("undo-told")],
  },
  {
    name: "an undo that fails forever raises no alarm",
    within: 150,
    isOfWorkflows: true,
    edits: [condition("undo-failures", `false`)],
  },
  {
    name: "a signal is not in the commit of its sender",
    within: 150,
    isOfWorkflows: true,
    edits: [remove("signal-inserted")],
  },
  {
    name: "a workflow that fails undoes nothing",
    within: 25,
    isOfWorkflows: true,
    edits: [value("workflow-undo", `undefined`)],
  },
  {
    name: "the end of a workflow does not arrive at the one whose step it is",
    within: 25,
    isOfWorkflows: true,
    edits: [condition("child-arrival", `false`)],
  },
  {
    name: "an undo is given up after some attempts",
    within: 150,
    isOfWorkflows: true,
    edits: [condition("step-attempts", `open.failures < attempts`)],
  },
  {
    name: "a workflow runs on the module of its steps",
    within: 150,
    isOfWorkflows: true,
    edits: [expression("activation-module", `workflow`, `{ ...workflow, module: this.#host.current()?.module }`)],
  },
  {
    name: "a workflow that has ended is found once more by a starting server",
    within: 600,
    isOfWorkflows: true,
    edits: [condition("workflow-stale", `known !== undefined`)],
  },
  {
    name: "a starting server drops signals for workflows that it has not found yet",
    within: 600,
    isOfWorkflows: true,
    edits: [returns("workflow-known", `this.#entries.has(id)`)],
  },
  {
    name: "a handler cancels a workflow that a new server has not read yet, and it goes on",
    within: 600,
    isOfWorkflows: true,
    edits: [condition("cancel-walk", `false`)],
  },
  {
    name: "the end of a service's call does not arrive at the workflow whose step it is",
    within: 25,
    isOfWorkflows: true,
    edits: [value("service-step-arrives", `{ id, expects, becomes }`)],
  },
];
