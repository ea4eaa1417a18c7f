/**
 * Known-wrong variants of the protocol core, each a small change of its source: a simulation that does not catch them
 * proves nothing. A change whose text is no longer in the source fails, so that this list keeps up.
 */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CoreClasses } from "./primary.ts";

export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly edits: readonly { readonly find: string; readonly replace: string }[];
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "the reply `valid` leaves before the intent is durable",
    file: "lvi-core.ts",
    edits: [
      {
        find: `    this.#effects.push({ kind: "store-intent", operation, intent });\n  }`,
        replace: `    this.#effects.push({ kind: "store-intent", operation, intent });
    const early = execution.callers.find(({ id }) => id === execution.speculator)!;
    execution.callers = execution.callers.filter((caller) => caller !== early);
    this.#replyValid(early, intent.commitId, null);
  }`,
      },
      { find: `    this.#replyValid(speculator, intent.commitId, operation);\n`, replace: `` },
    ],
  },
  {
    name: "locks are released before the writes are applied",
    file: "lvi-core.ts",
    edits: [
      {
        find: `    this.#versions.applyStarted(writes);\n    const operation`,
        replace: `    this.#versions.applyStarted(writes);\n    this.#unlock(execution);\n    const operation`,
      },
    ],
  },
  {
    name: "done executions are forgotten",
    file: "finished-executions.ts",
    edits: [
      { find: `    if (this.#done.has(done.executionId)) return;`, replace: `    if (this.#maxBytes >= 0) return;` },
    ],
  },
  {
    name: "absent units are not validated",
    file: "lvi-core.ts",
    edits: [
      {
        find: `return version === null || !sameVersion(version, current);`,
        replace: `return version === null || (version.hash !== null && !sameVersion(version, current));`,
      },
    ],
  },
  {
    name: "readers pass writers that were told",
    file: "lvi-core.ts",
    edits: [
      {
        find: `findLast((holder) => holder !== execution && holder.told)`,
        replace: `findLast((holder) => holder !== execution && holder.told && holder.id === execution.id)`,
      },
    ],
  },
  {
    name: "a load beside an apply is taken",
    file: "version-table.ts",
    edits: [
      { find: `return this.#unsettled.has(unit);`, replace: `return this.#unsettled.has(unit) && this.#maxBytes < 0;` },
    ],
  },
  {
    name: "a load that was overtaken brings the old value back",
    file: "version-table.ts",
    edits: [{ find: `      for (const load of this.#loads.values()) load.units.delete(unit);\n`, replace: `` }],
  },
  {
    name: "pending intents are not adopted",
    file: "lvi-core.ts",
    edits: [
      {
        find: `    for (const { intent, first } of adoptionOrder(recovered.pending))`,
        replace: `    for (const { intent, first } of [])`,
      },
    ],
  },
  {
    name: "commit ids are used again after a restart",
    file: "lvi-core.ts",
    edits: [
      {
        find: `    return commitId(this.#epoch, this.#sequence);\n  }`,
        replace: `    return commitId(1, this.#sequence);\n  }`,
      },
    ],
  },
  {
    name: "what a recording execution read is not validated",
    file: "lvi-core.ts",
    edits: [{ find: `    if (!changed) return`, replace: `    if (!changed || reads.length > 0) return` }],
  },
  {
    name: "shared locks do not keep writers out",
    file: "lock-table.ts",
    edits: [
      {
        find: `(mode === "shared" && lock.exclusive === 0)`,
        replace: `lock.exclusive === 0`,
      },
    ],
  },
  {
    name: "every caller that joined is told `valid`",
    file: "lvi-core.ts",
    edits: [
      {
        find: `    if (execution.callers.length > 0) this.#replay(execution, "asked_again");\n    else if`,
        replace: `    for (const caller of execution.callers.splice(0)) this.#replyValid(caller, intent.commitId, operation);\n    if`,
      },
    ],
  },
  {
    name: "duplicates of what left no trace run again",
    file: "answered-requests.ts",
    edits: [
      {
        find: `    if (known !== undefined) return request.attempt <= known ? "answered" : "new";`,
        replace: `    if (known !== undefined) return "new";`,
      },
    ],
  },
  {
    name: "attempts that an earlier server may have answered run",
    file: "answered-requests.ts",
    edits: [
      {
        find: `return seen !== null && seen >= this.#olderSince && seen <= latest;`,
        replace: `return seen !== latest + "x";`,
      },
    ],
  },
  {
    name: "attempts that may have been answered and forgotten run",
    file: "answered-requests.ts",
    edits: [
      {
        find: `    this.#older = this.#recent;\n    this.#olderSince = this.#recentSince;`,
        replace: `    this.#older = this.#recent;`,
      },
    ],
  },
  {
    name: "what an earlier server did is not looked up",
    file: "finished-executions.ts",
    edits: [{ find: `(!isOurs && isRecent(this.#startedAtMs))`, replace: `(isOurs && isRecent(this.#startedAtMs))` }],
  },
  {
    name: "any version of what is about to be written is an own write",
    file: "lvi-core.ts",
    edits: [
      {
        find: `if (version === null || writer === undefined || writer.intent?.commitId !== version.commitId) return false;`,
        replace: `if (version === null || writer === undefined) return false;`,
      },
    ],
  },
  {
    name: "a followup is applied before the writes that its execution has read",
    file: "lvi-core.ts",
    edits: [
      {
        find: `    if (execution.ahead.size > 0) {\n      execution.early`,
        replace: `    if (execution.ahead.size < 0) {\n      execution.early`,
      },
    ],
  },
  {
    name: "after a crash an intent that others are behind counts as abandoned",
    file: "adoption.ts",
    edits: [{ find: ` && !firstOf.get(younger.intent)!.has(intent.commitId)`, replace: `` }],
  },
  {
    name: "the lease is never checked",
    file: "lvi-core.ts",
    edits: [
      { find: `if (monotonicMs >= this.#leaseUntilMs) {`, replace: `if (monotonicMs < 0) {` },
      {
        find: `Math.min(this.#deadlines.nextMs ?? Infinity, this.#leaseUntilMs)`,
        replace: `this.#deadlines.nextMs ?? Infinity`,
      },
    ],
  },
  {
    name: "a candidate does not wait the lease out",
    file: "lease.ts",
    edits: [
      {
        find: `    const leftMs = this.#unchangedSinceMs + lease.termMs * (1 + DRIFT) - nowMs;`,
        replace: `    const leftMs = this.#unchangedSinceMs + lease.termMs * 0.5 - nowMs;`,
      },
    ],
  },
  {
    name: "a failure after a doubtful one is believed",
    file: "lvi-core.ts",
    edits: [
      {
        find: `        failed.doubtful ||= effect === "unknown";\n        if (failed.doubtful) return`,
        replace: `        failed.doubtful = effect === "unknown";\n        if (failed.doubtful) return`,
      },
    ],
  },
];

const PACKAGE = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const CORE = path.join(path.dirname(PACKAGE), "lvi-server", "src", "core");

/** The mutated core; `dispose` removes its source. Throws if a text to change is not in the source exactly once. */
export async function loadMutant(
  mutant: Mutant,
): Promise<{ readonly core: CoreClasses; readonly dispose: () => Promise<void> }> {
  const folder = await mkdtemp(path.join(PACKAGE, ".mutant-"));
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await cp(CORE, folder, { recursive: true, filter: (source) => !/(\.test\.ts|\.json)$/.test(source) });
    const file = path.join(folder, mutant.file);
    let source = await readFile(file, "utf8");
    for (const { find, replace } of mutant.edits) {
      if (source.split(find).length !== 2) throw new Error(`"${mutant.name}" does not fit ${mutant.file} any more`);
      source = source.replace(find, () => replace);
    }
    await writeFile(file, source);
    const load = (name: string): Promise<unknown> => import(pathToFileURL(path.join(folder, name)).href);
    const { LviCore } = (await load("lvi-core.ts")) as Pick<CoreClasses, "LviCore">;
    const { Candidate } = (await load("lease.ts")) as Pick<CoreClasses, "Candidate">;
    return { core: { LviCore, Candidate }, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
