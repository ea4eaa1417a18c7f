/**
 * Failpoints: the places at which the crash tests stop this server, to kill it there. The environment variable
 * RADICAL_FAILPOINT names one, as `<name>` or `<name>:<n>` for the n-th time that it is reached, which counts from when there
 * is the file that RADICAL_FAILPOINT_FILE names, if it names one; without the first a failpoint is one comparison. docs/internals/verification.md says what is done with them.
 */
import { existsSync, writeSync } from "node:fs";

/** All of them, with what has happened when a server stops there. */
export const FAILPOINTS = {
  "http.request-received": "an LVI request was read and its signature checked",
  "http.reply-made": "the reply to an LVI request is there, and none of it was sent",
  "http.replied": "the reply to an LVI request has been handed to the network",
  "http.followup-received": "a followup was read and its signature checked",
  "http.followup-reply-made": "a followup has been dealt with, and nobody was told",
  "http.module-received": "a module was read and its signature checked",
  "http.module-registered": "a module is stored and known, and nobody was told",

  "storage.looked-up": "storage has said whether it knows an execution; the core has not heard it",
  "storage.loaded": "storage has given values; the core has not heard it",
  "storage.scanned": "storage has given rows of a range; the core has not heard it",
  "storage.intent-unsent": "an intent is about to be stored",
  "storage.intent-stored": "an intent is durable; the core has not heard it",
  "storage.completion-unsent": "the writes of a pending intent are about to be applied",
  "storage.completed": "the writes of a pending intent are applied; the core has not heard it",
  "storage.execution-unsent": "the writes of a near-storage execution are about to be applied",
  "storage.execution-stored": "the writes of a near-storage execution are applied; the core has not heard it",
  "storage.train-unsent": "the writes of a train are about to be applied",
  "storage.train-stored": "the writes of a train are applied; the core has not heard it",
  "storage.workflow-unsent": "a workflow is about to start",
  "storage.workflow-stored": "a workflow has started; the core has not heard it",
  "storage.entry-unsent": "an entry of a journal is about to be stored, with what its commands ask for",
  "storage.entry-stored": "an entry of a journal is durable; nothing that it asks for has begun",
  "storage.arrival-unsent": "the writes of a step are about to be applied, with its arrival at its workflow",
  "storage.arrival-stored": "the writes of a step are applied; its workflow has not heard it",
  "storage.workflow-end-unsent": "the end of a workflow is about to be stored",
  "storage.workflow-ended": "the end of a workflow is durable; nobody was told",
  "storage.workflows-read": "a starting server has the workflows that have not ended; the core has not heard it",
  "storage.parts-read": "the parts of a workflow are read; the core has not heard it",
  "storage.enqueue-unsent": "an execution and its tasks are about to be committed",
  "storage.enqueued": "an execution is committed with its tasks; the core has not heard it",
  "storage.cancellation-unsent": "an execution that takes tasks back is about to be committed",
  "storage.cancelled": "an execution is committed with the tasks gone that it takes back; the core has not heard it",
  "storage.settlement-unsent": "a task is about to be removed with the writes of its attempt",
  "storage.settled": "a task is gone with the writes of its attempt; the core has not heard it",
  "storage.next-attempt-unsent": "the record of a task whose attempt has failed is about to be stored",
  "storage.next-attempt-stored": "the next attempt of a task is stored; the core has not heard it",
  "storage.death-unsent": "the record of a task whose attempts are over is about to be stored",
  "storage.death-stored": "a task is stored as dead; the core has not heard it",
  "storage.due-tasks-unread": "storage is about to be asked for tasks that are due next",
  "storage.due-tasks-read": "storage has given tasks that are due next; the core has not heard it",
  "storage.lane-unread": "storage is about to be asked for the next tasks of a lane",
  "storage.lane-read": "storage has given the next tasks of a lane; the core has not heard it",
  "storage.lanes-unread": "storage is about to be asked for lanes",
  "storage.lanes-read": "storage has given the first tasks of lanes; the core has not heard it",
  "storage.task-found": "storage has said whether there is a task that is to be taken back; the core has not heard it",
  "storage.tasks-counted": "storage has given the number of tasks; the core has not heard it",
  "storage.schedule-unsent": "a tick of a schedule is about to become a task",
  "storage.schedule-stored": "the task of a tick is durable, and the schedule is behind it; the core has not heard it",
  "storage.leadership-renewal-unsent": "the leadership is about to be renewed",
  "storage.leadership-renewed": "the leadership is renewed; the core has not heard it",
  "storage.read-leases-unnamed": "the leadership is about to name the time of read leases, before the first of them",
  "storage.read-leases-named": "the leadership names the time of read leases; the core has not heard it",
  "storage.collection-unsent": "old done intents are about to be deleted",
  "storage.collected": "old done intents are deleted",
  "storage.module-unsent": "a module is about to be stored",
  "storage.module-stored": "a module is durable; the core has not heard it",
  "storage.module-removal-unsent": "a module that nobody asks for is about to be removed",
  "storage.module-removed": "a module that nobody asks for is removed",

  "storage.mark-unsent": "the mark that a service is called for a task is about to be stored",
  "storage.marked": "the mark that a service is called for a task is durable; the core has not heard it",

  "service.call-unsent": "a service is about to be called",
  "service.called": "a service has answered; the core has not heard it",

  "start.leadership-acquired": "the server leads with a new epoch, and has read no pending intent",
  "start.recovered": "the pending intents are this server's; nothing holds their locks yet",
  "start.listening": "requests are taken, and nobody was told where",
  "stop.draining": "new executions are refused, and those under way go on",
  "stop.drained": "all callers have their answers, and the server still leads",

  "run.re-execution-unsent": "a re-execution is about to be given to a worker",
  "run.re-executed": "a re-execution has ended; the core has not heard it",
  "run.near-storage-unsent": "a near-storage run is about to be given to a worker",
  "run.near-storage-ended": "a near-storage run has ended; the core has not heard it",
  "run.activation-unsent": "the run of a workflow is about to be given to a worker",
  "run.activated": "the run of a workflow has ended; the core has not heard it",
  "run.enqueuing-re-executed": "a re-execution that asks for tasks has ended; the core has not heard it",
  "run.task-unsent": "an attempt of a task is about to be given to a worker",
  "run.task-ended": "an attempt of a task has ended; the core has not heard it",
  "worker.run-received": "a worker thread has a run and has not begun it",
  "worker.train-under-way": "a worker thread has the results of some members of a train and has told nobody",
  "worker.run-done": "a worker thread has a result and has told nobody",

  "sqlite.begun": "a transaction has begun and nothing is in it",
  "sqlite.half-written": "in a transaction an intent is done, and only a part of its writes is there",
  "sqlite.half-arrived": "in a transaction a step has arrived at its workflow, and its writes are not there",
  "sqlite.half-enqueued": "in a transaction there is a new task, and not yet the writes of its parent",
  "sqlite.half-settled": "in a transaction a task is gone, and none of the writes of its attempt is there",
  "sqlite.uncommitted": "all of a transaction is written and not committed",
  "sqlite.committed": "a transaction is on disk, and nobody was told",

  "dynamo.adopted": "a starting server owns one more open record; others may be left",
  "dynamo.writes-stored": "a commit over one transaction is in parts, to which nothing refers",
  "dynamo.decided": "a record is partly applied, and nothing else of its commit is applied",
  "dynamo.part-applied": "one transaction of a larger commit is applied",
  "dynamo.all-applied": "all of a larger commit is applied, and the record that decided it is not done",
  "dynamo.done": "the record that decided a larger commit is done, and its parts are left",
} as const;

export type Failpoint = keyof typeof FAILPOINTS;

/** Of the process, from any of its threads. */
const STDOUT = 1;

/** Null: none is armed. */
export const armed = parse(process.env["RADICAL_FAILPOINT"]);
/** Of this thread: how often it is passed before it is where to stop. */
let left = armed?.time ?? 0;
/** Before there is this file nothing counts. */
let awaited = process.env["RADICAL_FAILPOINT_FILE"] ?? "";

/** If this one is armed: says so on standard output, and stops the thread for good. */
export function failpoint(name: Failpoint): void {
  if (armed === null || armed.name !== name || !counts() || --left > 0) return;
  writeSync(STDOUT, `${JSON.stringify({ event: "failpoint", name, pid: process.pid })}\n`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function counts(): boolean {
  if (awaited !== "" && existsSync(awaited)) awaited = "";
  return awaited === "";
}

function parse(text: string | undefined): { readonly name: Failpoint; readonly time: number } | null {
  if (text === undefined || text === "") return null;
  const [name = "", time = "1"] = text.split(":");
  if (!Object.hasOwn(FAILPOINTS, name) || !/^[1-9]\d{0,6}$/.test(time))
    throw new Error(`RADICAL_FAILPOINT="${text}" is no <name> or <name>:<n> with a name of ${import.meta.url}`);
  return { name: name as Failpoint, time: Number(time) };
}
