/**
 * A worker thread of the pool: does one run at a time and keeps the modules that it was sent, compiled, and the values of
 * executions that may come again with some more of them.
 */
import { parentPort } from "node:worker_threads";
import { decodeModuleContent, type Entry, type ModuleHash, type UnitId } from "@radical/protocol";
import { compileModule, deriveAccessSet, recordHandler, runHandler } from "@radical/wasm-host";
import type { RunAccess, RunResult } from "../core/run.ts";
import type { Invocation } from "../core/intent.ts";
import { failpoint } from "../failpoints.ts";
import { execute, type Host, hostOf, type RunInThread } from "./execute.ts";
import { paced } from "./pace.ts";

export interface RunMessage {
  /** Among those that this worker keeps. */
  readonly execution: number;
  /** Null: it has it, and these values are besides those it has. */
  readonly invocation: Invocation | null;
  readonly values: ReadonlyMap<UnitId, Entry>;
  readonly access: RunAccess;
  /** Executions that it is to keep no longer. */
  readonly dropped: readonly number[];
  /** Of the run's module, if this worker was not sent it before. */
  readonly content: Uint8Array | null;
  /** Whether to forget the modules that it was sent before. */
  readonly forget: boolean;
}

/** That the worker takes runs, once; then the result of each. */
export type FromWorker = "up" | RunResult;

interface Kept {
  readonly invocation: Invocation;
  readonly snapshot: Map<UnitId, Entry>;
}

const hosts = new Map<ModuleHash, Host>();
const kept = new Map<number, Kept>();

parentPort!.on("message", (message: RunMessage) => {
  if (message.forget) hosts.clear();
  for (const execution of message.dropped) kept.delete(execution);
  failpoint("worker.run-received");
  const answer = resultOf(runOf(message), message.content);
  failpoint("worker.run-done");
  parentPort!.postMessage(answer satisfies FromWorker);
});
parentPort!.postMessage("up" satisfies FromWorker);

function runOf({ execution, invocation, values, access }: RunMessage): RunInThread {
  if (invocation !== null) kept.set(execution, { invocation, snapshot: new Map() });
  const { invocation: invoked, snapshot } = kept.get(execution)!;
  for (const [unit, entry] of values) snapshot.set(unit, entry);
  return { invocation: invoked, snapshot, access };
}

function resultOf(run: RunInThread, content: Uint8Array | null): RunResult {
  try {
    const { module } = run.invocation;
    let host = hosts.get(module);
    if (host === undefined) {
      if (content === null) throw new Error("the worker was not sent the module");
      host = hostOf(paced(compileModule(decodeModuleContent(content))), { deriveAccessSet, recordHandler, runHandler });
      hosts.set(module, host);
    }
    return execute(host, run);
  } catch (error) {
    // Not the handler's doing: its traps and aborts are outcomes.
    return {
      kind: "killed",
      reason: `the handler can't be run: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
