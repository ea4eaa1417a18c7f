/** A storage that tells how long each operation took, and which ones failed. */
import { type Storage, StorageError } from "./storage.ts";

/** `failure` null: the operation did not fail. */
export type StorageObserver = (operation: Operation, tookMs: number, failure: Failure | null) => void;

interface Failure {
  /** `unknown`: the operation may have been done. */
  readonly effect: "none" | "unknown";
  readonly reason: string;
}

/** The names of the operations in metrics and logs. Dashboards know these names, so they outlive the names of the methods. */
const OPERATIONS = {
  readSchema: "read_schema",
  upgrade: "upgrade",
  readLeadership: "read_lease",
  acquireLeadership: "acquire_lease",
  renewLeadership: "renew_lease",
  nameReadLeases: "name_read_leases",
  recover: "recover",
  lookUp: "look_up",
  load: "load",
  scan: "scan",
  storeIntent: "store_intent",
  commit: "complete",
  dueTasks: "due_tasks",
  laneTasks: "lane_tasks",
  laneHeads: "lane_heads",
  readTasks: "read_tasks",
  countTasks: "count_tasks",
  openWorkflows: "open_workflows",
  partsOf: "parts_of",
  listTasks: "list_tasks",
  findTask: "find_task",
  collect: "collect",
  storeModule: "store_module",
  useModule: "use_module",
  removeModule: "remove_module",
  modules: "modules",
  moduleContent: "module_content",
} as const satisfies Record<
  Exclude<keyof Storage, "isExclusive" | "keyPlaces" | "throttles" | "keepQuietTime" | "close">,
  string
>;

export type Operation = (typeof OPERATIONS)[keyof typeof OPERATIONS];

export function observedStorage(storage: Storage, observe: StorageObserver): Storage {
  const observed = Object.fromEntries(
    Object.entries(OPERATIONS).map(([method, operation]) => [
      method,
      async (...args: unknown[]): Promise<unknown> => {
        const startedAtMs = performance.now();
        const tookMs = (): number => performance.now() - startedAtMs;
        try {
          const run = storage[method as keyof typeof OPERATIONS] as (...values: unknown[]) => Promise<unknown>;
          const answer = await run.apply(storage, args);
          observe(operation, tookMs(), null);
          return answer;
        } catch (error) {
          const effect = error instanceof StorageError ? error.effect : "unknown";
          observe(operation, tookMs(), { effect, reason: String(error) });
          throw error;
        }
      },
    ]),
  ) as unknown as Omit<Storage, "isExclusive" | "keyPlaces" | "throttles" | "keepQuietTime" | "close">;
  return { ...observed, isExclusive: storage.isExclusive, close: () => storage.close() };
}
