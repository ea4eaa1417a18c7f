/**
 * A worker thread of the pool: does one run at a time and keeps the modules that it was sent, compiled, and the values of
 * executions that may come again with some more of them.
 */
import { parentPort, workerData } from "node:worker_threads";
import { decodeModuleContent, type Entry, type ModuleHash, type UnitId } from "@radical/protocol";
import { compileModule, deriveAccessSet, recordHandler, runHandler, runWorkflow } from "@radical/wasm-host";
import type { Ended, Follower, RunAccess, RunResult } from "../core/run.ts";
import type { Invocation } from "../core/intent.ts";
import { failpoint } from "../failpoints.ts";
import { execute, executeTrain, type Host, hostOf, type RunInThread } from "./execute.ts";
import { paced } from "./pace.ts";
import { type PackedEntries, unpack } from "./packed-entries.ts";

export interface RunMessage {
  /** Among those that this worker keeps. */
  readonly execution: number;
  /** Null: it has it, and these values are besides those it has. */
  readonly invocation: Invocation | null;
  readonly values: PackedEntries;
  readonly access: RunAccess;
  /** Executions that it is to keep no longer. */
  readonly dropped: readonly number[];
  /** Of the run's module, if this worker was not sent it before. */
  readonly content: Uint8Array | null;
  /** Whether to forget the modules that it was sent before. */
  readonly forget: boolean;
  /** The other members of its train; null: it runs alone. They are of the same module. */
  readonly followers: readonly Follower[] | null;
}

/** That the worker takes runs, once; then the result of each. Of a train: those of the members that it has run, in order. */
export type FromWorker = "up" | RunResult | readonly Ended[];

export interface WorkerData {
  /** Which member of a train runs, for the thread that may have to stop it. */
  readonly member: Int32Array;
  /** No further member of a train begins after this time: those that are done are not to wait for the others. */
  readonly trainMs: number;
}

/** No further member begins when the results have so many bytes: their commit is to be one transaction as a rule. */
const TRAIN_BYTES = 1024 * 1024;

const { member, trainMs } = workerData as WorkerData;

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
  const run = runOf(message);
  const { followers, content } = message;
  const answer = followers === null ? resultOf(run, content) : resultsOf([run, ...followers], content);
  failpoint("worker.run-done");
  parentPort!.postMessage(answer satisfies FromWorker);
});
parentPort!.postMessage("up" satisfies FromWorker);

function runOf({ execution, invocation, values, access }: RunMessage): RunInThread {
  if (invocation !== null) kept.set(execution, { invocation, snapshot: new Map() });
  const { invocation: invoked, snapshot } = kept.get(execution)!;
  unpack(values, snapshot);
  return { invocation: invoked, snapshot, access };
}

function resultOf(run: RunInThread, content: Uint8Array | null): RunResult {
  try {
    return execute(hostFor(run, content), run);
  } catch (error) {
    return notRunnable(error);
  }
}

function resultsOf(members: readonly [RunInThread, ...RunInThread[]], content: Uint8Array | null): readonly Ended[] {
  const ended: Ended[] = [];
  let atMs = performance.now();
  const end = (result: RunResult): void => {
    const nowMs = performance.now();
    ended.push({ result, tookMs: nowMs - atMs });
    atMs = nowMs;
  };
  try {
    let bytes = 0;
    const host = hostFor(members[0], content);
    const startedAtMs = performance.now();
    for (const result of executeTrain(host, members)) {
      end(result);
      if (result.kind === "completed") bytes += bytesOf(result);
      if (atMs - startedAtMs >= trainMs || bytes > TRAIN_BYTES) break;
      failpoint("worker.train-under-way");
      Atomics.store(member, 0, ended.length);
    }
  } catch (error) {
    end(notRunnable(error));
  }
  return ended;
}

function bytesOf({ outcome, writes }: RunResult & { kind: "completed" }): number {
  let bytes = outcome.kind === "result" ? outcome.value.length : outcome.message.length;
  for (const { value } of writes) bytes += value?.length ?? 0;
  return bytes;
}

function hostFor({ invocation: { module } }: RunInThread, content: Uint8Array | null): Host {
  let host = hosts.get(module);
  if (host === undefined) {
    if (content === null) throw new Error("the worker was not sent the module");
    host = hostOf(paced(compileModule(decodeModuleContent(content))), {
      deriveAccessSet,
      recordHandler,
      runHandler,
      runWorkflow,
    });
    hosts.set(module, host);
  }
  return host;
}

/** Not the handler's doing: its traps and aborts are outcomes. */
function notRunnable(error: unknown): RunResult {
  return {
    kind: "killed",
    reason: `the handler can't be run: ${error instanceof Error ? error.message : String(error)}`,
  };
}
