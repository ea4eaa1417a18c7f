/** The storage of the simulation as a port. Its operations take effect, and answer, when whoever asks says so. */
import type { Answer, StoragePort } from "@radical/lvi-server/core";
import { type ModelStorage, rowsIn } from "./model-storage.ts";

export function portOf(storage: ModelStorage, ask: <T>(act: () => T, answer: Answer<T>) => void): StoragePort {
  return {
    lookUp: (_epoch, id, answer) => ask(() => storage.lookUp(id), answer),
    load: (units, _most, answer) => ask(() => storage.load(units), answer),
    scan: (range, limit, answer) => ask(() => rowsIn(storage.items, range, limit), answer),
    storeIntent: (epoch, intent, answer) => ask(() => storage.storeIntent(epoch, intent), answer),
    commit: (epoch, commit, answer) => ask(() => storage.commit(epoch, commit), answer),
    renewLeadership: (epoch, termMs, answer) => ask(() => storage.renewLeadership(epoch, termMs), answer),
    nameReadLeases: (epoch, ms, answer) => ask(() => storage.nameReadLeases(epoch, ms), answer),
    useModule: (module, usedAtMs, answer) => ask(() => storage.useModule(module, usedAtMs), answer),
    removeModule: (epoch, module, usedAtMs, answer) => ask(() => storage.removeModule(epoch, module, usedAtMs), answer),
    dueTasks: (after, limit, answer) => ask(() => storage.dueTasks(after, limit), answer),
    laneTasks: (lane, limit, answer) => ask(() => storage.laneTasks(lane, limit), answer),
    laneHeads: (after, limit, answer) => ask(() => storage.laneHeads(after, limit), answer),
    readTasks: (tasks, answer) => ask(() => storage.readTasks(tasks), answer),
    countTasks: (answer) => ask(() => storage.countTasks(), answer),
    findTask: (id, answer) => ask(() => storage.findTask(id), answer),
    openWorkflows: (after, limit, answer) => ask(() => storage.openWorkflows(after, limit), answer),
    partsOf: (workflow, answer) => ask(() => storage.partsOf(workflow), answer),
    collect: (due, answer) => ask(() => storage.collect(due), answer),
  };
}
