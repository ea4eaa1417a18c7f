/** The ports of the engine with failpoints before and after their calls; they are put in between only if one is armed. */
import { SCHEDULE_STATES, tableOf } from "@radical/protocol";
import { TASKS } from "./core/execution.ts";
import type { RecordChange } from "./core/intent.ts";
import type { EndedRun, Run } from "./core/run.ts";
import type { Executor } from "./execution/worker-pool.ts";
import { armed, type Failpoint, failpoint } from "./failpoints.ts";
import type { Commit, Storage } from "./storage/storage.ts";

export function storageWithFailpoints(storage: Storage): Storage {
  if (armed === null) return storage;
  return {
    isExclusive: storage.isExclusive,
    readSchema: () => storage.readSchema(),
    upgrade: (epoch, isFinished) => storage.upgrade(epoch, isFinished),
    readLeadership: () => storage.readLeadership(),
    acquireLeadership: (...leadership) => storage.acquireLeadership(...leadership),
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
      const [before, after] = isMark(commit)
        ? (["storage.mark-unsent", "storage.marked"] as const)
        : aroundCommit(commit);
      return between(before, after, () => storage.commit(epoch, commit));
    },
    dueTasks: (after, limit) =>
      between("storage.due-tasks-unread", "storage.due-tasks-read", () => storage.dueTasks(after, limit)),
    laneTasks: (lane, limit) =>
      between("storage.lane-unread", "storage.lane-read", () => storage.laneTasks(lane, limit)),
    laneHeads: (after, limit) =>
      between("storage.lanes-unread", "storage.lanes-read", () => storage.laneHeads(after, limit)),
    readTasks: (tasks) => storage.readTasks(tasks),
    countTasks: () => between(null, "storage.tasks-counted", () => storage.countTasks()),
    listTasks: (selection, after, limit) => storage.listTasks(selection, after, limit),
    findTask: (id) => between(null, "storage.task-found", () => storage.findTask(id)),
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
      const execute = () => executor.execute(run, location);
      if (run.access.kind === "workflow") return between("run.activation-unsent", "run.activated", execute);
      if (isReExecution(run)) return between("run.re-execution-unsent", "run.re-executed", () => reExecuted(execute));
      return location === TASKS
        ? between("run.task-unsent", "run.task-ended", execute)
        : between("run.near-storage-unsent", "run.near-storage-ended", execute);
    },
    close: () => executor.close(),
  };
}

/** Of the end of an execution, or of several. The tasks that it enqueues and takes back are further records of the commit. */
function aroundCommit({ records, items }: Commit): readonly [Failpoint, Failpoint] {
  if (items.some(({ unit }) => tableOf(unit) === SCHEDULE_STATES))
    return ["storage.schedule-unsent", "storage.schedule-stored"];
  const leader = records[0]?.becomes;
  if (leader?.state === "workflow") {
    if (leader.workflow.changes === 0) return ["storage.workflow-unsent", "storage.workflow-stored"];
    return leader.workflow.state === "ended"
      ? ["storage.workflow-end-unsent", "storage.workflow-ended"]
      : ["storage.entry-unsent", "storage.entry-stored"];
  }
  if (leader?.state === "part") return ["storage.arrival-unsent", "storage.arrival-stored"];
  const isOfAnother = ({ expects }: RecordChange): boolean =>
    typeof expects === "object" && "attempt" in expects && expects.attempt === null;
  const ends = records.filter((change) => {
    const { expects, becomes } = change;
    const isAskedFor = expects === "new" && (becomes?.state === "task" || becomes?.state === "part");
    return !isAskedFor && !isOfAnother(change);
  });
  const [first] = ends;
  if (first === undefined || ends.length > 1) return ["storage.train-unsent", "storage.train-stored"];
  const { expects, becomes } = first;
  if (becomes === null) return ["storage.settlement-unsent", "storage.settled"];
  if (becomes.state === "task")
    return becomes.task.state === "dead"
      ? ["storage.death-unsent", "storage.death-stored"]
      : ["storage.next-attempt-unsent", "storage.next-attempt-stored"];
  if (records.some((each) => each !== first && each.becomes === null))
    return ["storage.cancellation-unsent", "storage.cancelled"];
  if (records.length > 1) return ["storage.enqueue-unsent", "storage.enqueued"];
  return expects === "pending"
    ? ["storage.completion-unsent", "storage.completed"]
    : ["storage.execution-unsent", "storage.execution-stored"];
}

async function reExecuted(execute: () => Promise<EndedRun>): Promise<EndedRun> {
  const ended = await execute();
  const { result } = ended;
  if (result.kind === "completed" && (result.effects ?? []).length > 0) failpoint("run.enqueuing-re-executed");
  return ended;
}

/** Only the mark of a call leaves the attempt of a task as it is. */
function isMark({ records: [change] }: Commit): boolean {
  const { expects, becomes = null } = change ?? {};
  if (typeof expects !== "object" || !("attempt" in expects)) return false;
  return becomes?.state === "task" && becomes.task.attempt === expects.attempt;
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
