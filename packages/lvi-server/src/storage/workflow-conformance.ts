/** The duties of every implementation of the storage port about workflows: a part of `storage-conformance.ts`. */
import { contentHash, type ExecutionId, type ModuleHash, unitId } from "@radical/protocol";
import type { Completion, RecordChange } from "../core/intent.ts";
import { begun, entryPart, signalPart, stepPart, type Workflow, type WorkflowPart } from "../core/workflow.ts";
import type { Task } from "../core/task.ts";
import { commitOf, commitOfChanges, type Storage } from "./storage.ts";

interface Suite {
  readonly test: (
    name: string,
    run: (storage: Storage, reopen: (() => Promise<Storage>) | null) => Promise<void>,
  ) => void;
  readonly expect: (value: unknown) => { toEqual(expected: unknown): void; toMatchObject(expected: object): void };
  readonly takeOver: (storage: Storage) => Promise<{ readonly epoch: number }>;
  /** The end of an execution with this number. */
  readonly completionOf: (number: number, writes: Completion["writes"]) => Completion;
}

const MODULE = "a".repeat(64) as ModuleHash;

function workflowOf(number: number): Workflow {
  const named = {
    id: (0x70000000 + number).toString(16).padEnd(32, "5") as ExecutionId,
    module: MODULE,
    handler: "buy",
    args: Uint8Array.of(0xa1, 0x61, 0x6e, number % 24),
    seed: new Uint8Array(16).fill(number),
    caller: number % 2 === 0 ? null : `caller ${number}`,
    parent: null,
    call: { key: "k", hash: contentHash(new Uint8Array()) },
  };
  return begun(named, 1_000);
}

function taskOf(number: number, lane: string | null): Task {
  return {
    id: (0xf0000000 + number).toString(16).padEnd(32, "7") as ExecutionId,
    handler: "buy",
    args: new Uint8Array(),
    seed: new Uint8Array(16),
    caller: null,
    parent: "7".repeat(32) as ExecutionId,
    module: MODULE,
    lane,
    place: `00000001-00000000000${number}-0000`,
    createdAtMs: 1_000,
    dueMs: 5_000,
    attempt: 0,
    failures: 0,
    sentAtMs: null,
    state: "open",
    error: null,
  };
}

function entryOf(workflow: Workflow, n: number, bytesOfCall = new Uint8Array()): WorkflowPart {
  const entry = { timeMs: 1_000 + n, arrivals: [], commands: [], wait: null };
  return entryPart(workflow, n, { kind: "entry", entry, calls: [{ kind: "handler", args: bytesOfCall }], taken: [] });
}

function start(workflow: Workflow): RecordChange {
  return { id: workflow.id, expects: "new", becomes: { state: "workflow", workflow } };
}

function added(part: WorkflowPart): RecordChange {
  return { id: part.id, expects: "new", becomes: { state: "part", part } };
}

/** The workflow after one more change. */
function changed(workflow: Workflow, more: Partial<Workflow> = {}): Workflow {
  return { ...workflow, changes: workflow.changes + 1, ...more };
}

function change(before: Workflow, after: Workflow): RecordChange {
  return { id: before.id, expects: { changes: before.changes }, becomes: { state: "workflow", workflow: after } };
}

export function describeWorkflows({ test, expect, takeOver, completionOf }: Suite): void {
  const commit = (storage: Storage, epoch: number, records: readonly RecordChange[]) =>
    storage.commit(epoch, { records, items: [] });
  const openIn = async (storage: Storage, limit: number): Promise<readonly Workflow[]> => {
    const found: Workflow[] = [];
    for (let after: string | null = null; ;) {
      // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
      const page: Awaited<ReturnType<Storage["openWorkflows"]>> = await storage.openWorkflows(after, limit);
      found.push(...page.workflows);
      if (page.next === null) return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      after = page.next;
    }
  };

  test("a workflow and its parts are there as they were stored", async (storage, reopen) => {
    const { epoch } = await takeOver(storage);
    const workflow = { ...workflowOf(1), args: new Uint8Array(500_000).fill(3), untilMs: 77 };
    expect(await commit(storage, epoch, [start(workflow)])).toEqual({ kind: "applied" });
    const next = changed(workflow, {
      entries: 1,
      bytes: 9,
      outcome: { kind: "result", value: new Uint8Array(400_000) },
    });
    const parts = [entryOf(workflow, 0, new Uint8Array(900_000).fill(8)), entryOf(workflow, 1)];
    expect(await commit(storage, epoch, [change(workflow, next), ...parts.map(added)])).toEqual({ kind: "applied" });
    const later = reopen === null ? storage : await reopen();
    const { epoch: now } = await takeOver(later);
    expect(await later.lookUp(now, workflow.id)).toEqual({ state: "workflow", workflow: next });
    expect(await later.partsOf(workflow.id)).toEqual(parts);
    expect(await later.partsOf(workflowOf(2).id)).toEqual([]);
  });

  test("a workflow changes as it is expected to be, or nothing changes", async (storage) => {
    const { epoch } = await takeOver(storage);
    const workflow = workflowOf(1);
    await commit(storage, epoch, [start(workflow)]);
    const record = { state: "workflow", workflow } as const;
    expect(await commit(storage, epoch, [start(workflow)])).toEqual({ kind: "exists", id: workflow.id, record });
    const stale = { ...workflow, changes: 4 };
    const records = [change(stale, changed(stale)), added(entryOf(workflow, 0)), start(workflowOf(2))];
    expect(await commit(storage, epoch, records)).toEqual({ kind: "exists", id: workflow.id, record });
    expect(await storage.partsOf(workflow.id)).toEqual([]);
    expect(await storage.lookUp(epoch, workflowOf(2).id)).toEqual(null);
    expect(await commit(storage, epoch - 1, [change(workflow, changed(workflow))])).toEqual({ kind: "fenced" });
    const completion = { ...completionOf(1, []), executionId: workflow.id };
    expect(await storage.commit(epoch, commitOf([{ expects: "new", completion }]))).toMatchObject({ kind: "exists" });
  });

  test("a step arrives at its workflow with its writes, once", async (storage) => {
    const { epoch } = await takeOver(storage);
    const workflow = workflowOf(1);
    await commit(storage, epoch, [start(workflow)]);
    const x = unitId("t", "x");
    const arrival = stepPart(
      { workflow: workflow.id, round: 0, command: 3 },
      { kind: "value", value: Uint8Array.of(1) },
    );
    const completion = { ...completionOf(7, [{ unit: x, value: Uint8Array.of(1) }]), arrival };
    expect(await storage.commit(epoch, commitOf([{ expects: "new", completion }]))).toEqual({ kind: "applied" });
    const again = { ...completionOf(7, [{ unit: x, value: Uint8Array.of(2) }]), arrival };
    expect(await storage.commit(epoch, commitOf([{ expects: "new", completion: again }]))).toEqual({
      kind: "exists",
      id: arrival.id,
      record: { state: "part", part: arrival },
    });
    expect(await storage.partsOf(workflow.id)).toEqual([arrival]);
    expect((await storage.load([x], 100))?.get(x)?.value).toEqual(Uint8Array.of(1));
    expect(await storage.lookUp(epoch, completion.executionId)).toEqual(null);
  });

  test("signals come with the commit of their sender", async (storage) => {
    const { epoch } = await takeOver(storage);
    const workflow = workflowOf(1);
    await commit(storage, epoch, [start(workflow)]);
    const first = completionOf(7, []);
    const signals = [0, 1].map((ordinal) =>
      signalPart(workflow.id, first.commitId, ordinal, "paid", Uint8Array.of(ordinal)),
    );
    await storage.commit(epoch, commitOf([{ expects: "new", completion: { ...first, signals } }]));
    expect(await storage.partsOf(workflow.id)).toEqual(signals);
    expect(await storage.lookUp(epoch, first.executionId)).toMatchObject({ state: "done" });
  });

  test("the workflows that have not ended are listed, each once", async (storage) => {
    const { epoch } = await takeOver(storage);
    const all = Array.from({ length: 30 }, (_, index) => workflowOf(index));
    for (const workflow of all) {
      // oxlint-disable-next-line no-await-in-loop -- in order
      await commit(storage, epoch, [start(workflow)]);
    }
    const [ended, stuck, ...others] = all as [Workflow, Workflow, ...Workflow[]];
    await commit(storage, epoch, [change(ended, changed(ended, { state: "ended", endedAtMs: 5 }))]);
    const error = { code: "trap", message: "It trapped", atMs: 5 };
    const held = changed(stuck, { state: "stuck", error });
    await commit(storage, epoch, [change(stuck, held)]);
    const expected = [held, ...others].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(await openIn(storage, 7)).toEqual(expected);
    expect(await openIn(storage, 1_000)).toEqual(expected);
  });

  test("an entry brings more than one transaction takes", async (storage) => {
    const { epoch } = await takeOver(storage);
    const workflow = workflowOf(1);
    await commit(storage, epoch, [start(workflow)]);
    const children = Array.from({ length: 120 }, (_, index): Workflow => ({
      ...workflowOf(100 + index),
      parent: { workflow: workflow.id, round: 0, command: index },
    }));
    const next = changed(workflow);
    const records = [change(workflow, next), added(entryOf(workflow, 0)), ...children.map(start)];
    expect(await commit(storage, epoch, records)).toEqual({ kind: "applied" });
    expect(await storage.lookUp(epoch, workflow.id)).toEqual({ state: "workflow", workflow: next });
    expect((await openIn(storage, 50)).length).toEqual(121);
    expect(await storage.partsOf(workflow.id)).toEqual([entryOf(workflow, 0)]);
  });

  test("a round takes its parts with it, and leaves others", async (storage) => {
    const { epoch } = await takeOver(storage);
    const workflow = workflowOf(1);
    const signal = signalPart(workflow.id, completionOf(7, []).commitId, 0, "paid", Uint8Array.of(1));
    const parts = [entryOf(workflow, 0), entryOf(workflow, 1)];
    await commit(storage, epoch, [start(workflow)]);
    for (const part of [...parts, signal]) {
      // oxlint-disable-next-line no-await-in-loop -- in order
      await commit(storage, epoch, [added(part)]);
    }
    const next = changed(workflow, { round: 1, args: Uint8Array.of(9) });
    const gone = parts.map(({ id }): RecordChange => ({ id, expects: { partOf: workflow.id }, becomes: null }));
    expect(await commit(storage, epoch, [change(workflow, next), ...gone])).toEqual({ kind: "applied" });
    expect(await storage.partsOf(workflow.id)).toEqual([signal]);
    expect(await storage.lookUp(epoch, workflow.id)).toEqual({ state: "workflow", workflow: next });
  });

  test("a task that is taken back leaves a workflow that has ended, which is collected with its signals", async (storage) => {
    const { epoch } = await takeOver(storage);
    const ends = (id: ExecutionId, endedAtMs: number): Workflow => ({
      ...workflowOf(1),
      id,
      state: "ended",
      endedAtMs,
    });
    const taken = [null, "lane"].map((lane, at) => {
      const task = taskOf(at, lane);
      return { task, leaves: ends(task.id, 1_000) };
    });
    const first = { ...completionOf(7, []), tasks: taken.map(({ task }) => task) };
    await storage.commit(epoch, commitOf([{ expects: "new", completion: first }]));
    const { id } = taken[0]!.task;
    const signals = [signalPart(id, first.commitId, 0, "paid", Uint8Array.of(1))];
    const second = { ...completionOf(8, []), signals, cancelled: taken };
    expect(await storage.commit(epoch, commitOf([{ expects: "new", completion: second }]))).toEqual({
      kind: "applied",
    });
    for (const { task, leaves } of taken) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect([await storage.findTask(task.id), await storage.lookUp(epoch, task.id)]).toEqual([
        null,
        { state: "workflow", workflow: leaves },
      ]);
    }
    expect([(await storage.countTasks()).all, (await openIn(storage, 10)).length]).toEqual([0, 0]);
    expect(await storage.partsOf(id)).toEqual(signals);
    expect(await storage.collect({ doneBeforeMs: 5_000, toldBeforeMs: 0, limit: 100 })).toMatchObject({ outcomes: 0 });
    expect([await storage.partsOf(id), await storage.lookUp(epoch, id)]).toEqual([[], null]);
    // An operator's order does the same.
    const third = taskOf(3, "lane");
    const workflow = ends(third.id, 9_000);
    const enqueuing = { ...completionOf(9, []), tasks: [third] };
    await storage.commit(epoch, commitOf([{ expects: "new", completion: enqueuing }]));
    const taking = { id: third.id, expects: { attempt: 0, lane: "lane" }, becomes: null, leaves: workflow };
    expect(await storage.commit(epoch, commitOfChanges([taking]))).toEqual({ kind: "applied" });
    expect(await storage.lookUp(epoch, third.id)).toEqual({ state: "workflow", workflow });
    expect(await storage.laneTasks("lane", 10)).toEqual({ tasks: [], upTo: null });
  });

  test("what has ended long ago is collected, with its parts", async (storage) => {
    const { epoch } = await takeOver(storage);
    const [old, young, open] = [workflowOf(1), workflowOf(2), workflowOf(3)];
    for (const workflow of [old, young, open]) {
      const bytesOfCall = new Uint8Array(200_000);
      // oxlint-disable-next-line no-await-in-loop -- in order
      await commit(storage, epoch, [start(workflow), added(entryOf(workflow, 0, bytesOfCall))]);
    }
    const ends = (workflow: Workflow, endedAtMs: number) =>
      commit(storage, epoch, [change(workflow, changed(workflow, { state: "ended", endedAtMs }))]);
    await ends(old, 1_000);
    await ends(young, 9_000);
    const due = { doneBeforeMs: 5_000, toldBeforeMs: 0, limit: 100 };
    expect(await storage.collect(due)).toEqual({ intents: 1, outcomes: 0 });
    expect(await storage.collect(due)).toEqual({ intents: 0, outcomes: 0 });
    expect(await storage.lookUp(epoch, old.id)).toEqual(null);
    expect(await storage.partsOf(old.id)).toEqual([]);
    expect(await storage.lookUp(epoch, young.id)).toMatchObject({ state: "workflow" });
    expect((await storage.partsOf(young.id)).length).toEqual(1);
    expect((await storage.partsOf(open.id)).length).toEqual(1);
  });
}
