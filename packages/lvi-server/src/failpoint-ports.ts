/** The ports of the engine with failpoints before and after their calls; they are put in between only if one is armed. */
import type { Run } from "./core/run.ts";
import type { Executor } from "./execution/worker-pool.ts";
import { armed, type Failpoint, failpoint } from "./failpoints.ts";
import type { Storage } from "./storage/storage.ts";

export function storageWithFailpoints(storage: Storage): Storage {
  if (armed === null) return storage;
  return {
    isExclusive: storage.isExclusive,
    readLeadership: () => storage.readLeadership(),
    acquireLeadership: (seen, termMs, readLeaseMs, leader) =>
      storage.acquireLeadership(seen, termMs, readLeaseMs, leader),
    // A term of 0 gives the leadership up.
    renewLeadership: (epoch, termMs) =>
      termMs === 0
        ? storage.renewLeadership(epoch, termMs)
        : between("storage.leadership-renewal-unsent", "storage.leadership-renewed", () =>
            storage.renewLeadership(epoch, termMs),
          ),
    nameReadLeases: (epoch, readLeaseMs) =>
      between("storage.read-leases-unnamed", "storage.read-leases-named", () =>
        storage.nameReadLeases(epoch, readLeaseMs),
      ),
    recover: (epoch) => storage.recover(epoch),
    lookUp: (epoch, id) => between(null, "storage.looked-up", () => storage.lookUp(epoch, id)),
    load: (units, mostBytes) => between(null, "storage.loaded", () => storage.load(units, mostBytes)),
    scan: (range, limit) => between(null, "storage.scanned", () => storage.scan(range, limit)),
    storeIntent: (epoch, intent) =>
      between("storage.intent-unsent", "storage.intent-stored", () => storage.storeIntent(epoch, intent)),
    commit: (epoch, commit) => {
      const apply = () => storage.commit(epoch, commit);
      const becomes = commit.records[0]?.becomes;
      if (becomes?.state === "part") return between("storage.arrival-unsent", "storage.arrival-stored", apply);
      if (becomes?.state === "workflow")
        return becomes.workflow.changes === 0
          ? between("storage.workflow-unsent", "storage.workflow-stored", apply)
          : becomes.workflow.state === "ended"
            ? between("storage.workflow-end-unsent", "storage.workflow-ended", apply)
            : between("storage.entry-unsent", "storage.entry-stored", apply);
      if (commit.records.length > 1) return between("storage.train-unsent", "storage.train-stored", apply);
      return commit.records[0]?.expects === "pending"
        ? between("storage.completion-unsent", "storage.completed", apply)
        : between("storage.execution-unsent", "storage.execution-stored", apply);
    },
    dueTasks: (after, limit) => storage.dueTasks(after, limit),
    laneTasks: (lane, limit) => storage.laneTasks(lane, limit),
    laneHeads: (after, limit) => storage.laneHeads(after, limit),
    countTasks: () => storage.countTasks(),
    openWorkflows: (after, limit) => between(null, "storage.workflows-read", () => storage.openWorkflows(after, limit)),
    partsOf: (workflow) => between(null, "storage.parts-read", () => storage.partsOf(workflow)),
    collect: (due) => between("storage.collection-unsent", "storage.collected", () => storage.collect(due)),
    storeModule: (module, content) =>
      between("storage.module-unsent", "storage.module-stored", () => storage.storeModule(module, content)),
    useModule: (hash, usedAtMs) => storage.useModule(hash, usedAtMs),
    removeModule: (epoch, hash, usedAtMs) =>
      between("storage.module-removal-unsent", "storage.module-removed", () =>
        storage.removeModule(epoch, hash, usedAtMs),
      ),
    modules: () => storage.modules(),
    moduleContent: (hash) => storage.moduleContent(hash),
    close: () => storage.close(),
  };
}

export function executorWithFailpoints(executor: Executor): Executor {
  if (armed === null) return executor;
  return {
    execute: (run, location) => {
      if (run.access.kind === "workflow")
        return between("run.activation-unsent", "run.activated", () => executor.execute(run, location));
      return isReExecution(run)
        ? between("run.re-execution-unsent", "run.re-executed", () => executor.execute(run, location))
        : between("run.near-storage-unsent", "run.near-storage-ended", () => executor.execute(run, location));
    },
    close: () => executor.close(),
  };
}

/** Only a re-execution runs on the set that a location declared. */
function isReExecution({ access }: Run): boolean {
  return access.kind === "declared";
}

async function between<T>(before: Failpoint | null, after: Failpoint, call: () => Promise<T>): Promise<T> {
  if (before !== null) failpoint(before);
  const answer = await call();
  failpoint(after);
  return answer;
}
