/** A worker thread of the pool: runs one task at a time and keeps the modules that it was sent, compiled. */
import { parentPort } from "node:worker_threads";
import { decodeModuleContent, type ModuleHash } from "@radical/protocol";
import { compileModule, deriveAccessSet, recordHandler, runHandler } from "@radical/wasm-host";
import type { ExecutionResult, ExecutionTask } from "../core/execution-task.ts";
import { failpoint } from "../failpoints.ts";
import { executeTask, type Host, hostOf } from "./execute.ts";
import { paced } from "./pace.ts";

export interface WorkerTask {
  readonly task: ExecutionTask;
  /** Of the task's module, if this worker was not sent it before. */
  readonly content: Uint8Array | null;
  /** Whether to forget the modules that it was sent before. */
  readonly forget: boolean;
}

/** That it takes tasks, once; then the result of each. */
export type FromWorker = "up" | ExecutionResult;

const hosts = new Map<ModuleHash, Host>();

parentPort!.on("message", ({ task, content, forget }: WorkerTask) => {
  if (forget) hosts.clear();
  failpoint("worker.task-received");
  const answer = run(task, content);
  failpoint("worker.task-done");
  parentPort!.postMessage(answer satisfies FromWorker);
});
parentPort!.postMessage("up" satisfies FromWorker);

function run(task: ExecutionTask, content: Uint8Array | null): ExecutionResult {
  try {
    const { module } = task.invocation;
    let host = hosts.get(module);
    if (host === undefined) {
      if (content === null) throw new Error("the worker was not sent the module");
      host = hostOf(paced(compileModule(decodeModuleContent(content))), { deriveAccessSet, recordHandler, runHandler });
      hosts.set(module, host);
    }
    return executeTask(host, task);
  } catch (error) {
    // Not the handler's doing: its traps and aborts are outcomes.
    return {
      kind: "killed",
      reason: `the handler can't be run: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
