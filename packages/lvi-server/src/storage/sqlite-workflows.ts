/** Workflows in SQLite: a table of their records, and one of the parts beside these. */
import type { ContentHash, ExecutionId, ModuleHash } from "@radical/protocol";
import { decodeOutcome, encodeOutcome } from "@radical/protocol";
import type { TaskError } from "../core/task.ts";
import type { StepName, Workflow, WorkflowPart } from "../core/workflow.ts";
import type { Rows } from "./sqlite-tasks.ts";
import type { WorkflowPage } from "./storage.ts";

export const WORKFLOWS_SCHEMA = `
CREATE TABLE IF NOT EXISTS workflows (
  number        INTEGER PRIMARY KEY,
  execution_id  TEXT NOT NULL UNIQUE,
  state         TEXT NOT NULL,
  module        TEXT NOT NULL,
  handler       TEXT NOT NULL,
  args          BLOB NOT NULL,
  seed          BLOB NOT NULL,
  caller        TEXT,
  parent        TEXT,
  call_key      TEXT NOT NULL,
  call_hash     TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  round         INTEGER NOT NULL,
  changes       INTEGER NOT NULL,
  entries       INTEGER NOT NULL,
  bytes         INTEGER NOT NULL,
  until_ms      INTEGER,
  outcome       BLOB,
  again         BLOB,
  undoing       INTEGER,
  error         TEXT,
  ended_at_ms   INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS workflows_open ON workflows (number) WHERE state <> 'ended';
CREATE INDEX IF NOT EXISTS workflows_ended ON workflows (ended_at_ms) WHERE state = 'ended';
CREATE TABLE IF NOT EXISTS workflow_parts (
  number       INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL UNIQUE,
  workflow     TEXT NOT NULL,
  place        TEXT NOT NULL,
  content      BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS workflow_parts_by_place ON workflow_parts (workflow, place);
`;

interface Row {
  readonly number: number;
  readonly execution_id: ExecutionId;
  readonly state: Workflow["state"];
  readonly module: ModuleHash;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  readonly parent: string | null;
  readonly call_key: string;
  readonly call_hash: ContentHash;
  readonly created_at_ms: number;
  readonly round: number;
  readonly changes: number;
  readonly entries: number;
  readonly bytes: number;
  readonly until_ms: number | null;
  readonly outcome: Uint8Array | null;
  readonly again: Uint8Array | null;
  readonly undoing: number | null;
  readonly error: string | null;
  readonly ended_at_ms: number | null;
}

interface PartRow {
  readonly execution_id: ExecutionId;
  readonly workflow: ExecutionId;
  readonly place: string;
  readonly content: Uint8Array;
}

/** Its methods are parts of a transaction. */
export class SqliteWorkflows {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /** Null: there is none. */
  find(id: ExecutionId): Workflow | null {
    const [row] = this.#rows.all("SELECT * FROM workflows WHERE execution_id = ?", id) as Row[];
    return row === undefined ? null : workflowOf(row);
  }

  findPart(id: ExecutionId): WorkflowPart | null {
    const [row] = this.#rows.all("SELECT * FROM workflow_parts WHERE execution_id = ?", id) as PartRow[];
    return row === undefined ? null : partOf(row);
  }

  /** A new one, or what a change leaves. */
  put(workflow: Workflow): void {
    const { id, module, handler, args, seed, caller, parent, call, outcome, error } = workflow;
    this.#rows.run(
      `INSERT INTO workflows (execution_id, state, module, handler, args, seed, caller, parent, call_key, call_hash, created_at_ms,
                              round, changes, entries, bytes, until_ms, outcome, again, undoing, error, ended_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (execution_id) DO UPDATE SET
         state = excluded.state, module = excluded.module, args = excluded.args, round = excluded.round,
         changes = excluded.changes, entries = excluded.entries, bytes = excluded.bytes, until_ms = excluded.until_ms,
         outcome = excluded.outcome, again = excluded.again, undoing = excluded.undoing, error = excluded.error, ended_at_ms = excluded.ended_at_ms`,
      id,
      workflow.state,
      module,
      handler,
      args,
      seed,
      caller,
      parent === null ? null : JSON.stringify(parent),
      call.key,
      call.hash,
      workflow.createdAtMs,
      workflow.round,
      workflow.changes,
      workflow.entries,
      workflow.bytes,
      workflow.untilMs,
      outcome === null ? null : encodeOutcome(outcome),
      workflow.again,
      workflow.undoing,
      error === null ? null : JSON.stringify(error),
      workflow.endedAtMs,
    );
  }

  putPart({ id, workflow, place, content }: WorkflowPart): void {
    this.#rows.run(
      "INSERT INTO workflow_parts (execution_id, workflow, place, content) VALUES (?, ?, ?, ?)",
      id,
      workflow,
      place,
      content,
    );
  }

  removePart(id: ExecutionId): void {
    this.#rows.run("DELETE FROM workflow_parts WHERE execution_id = ?", id);
  }

  open(after: string | null, limit: number): WorkflowPage {
    const rows = this.#rows.all(
      "SELECT * FROM workflows WHERE state <> 'ended' AND number > ? ORDER BY number LIMIT ?",
      Number(after ?? 0),
      limit,
    ) as Row[];
    const last = rows.at(-1);
    return {
      workflows: rows.map(workflowOf),
      next: last === undefined || rows.length < limit ? null : String(last.number),
    };
  }

  partsOf(workflow: ExecutionId): readonly WorkflowPart[] {
    return (
      this.#rows.all("SELECT * FROM workflow_parts WHERE workflow = ? ORDER BY place", workflow) as PartRow[]
    ).map(partOf);
  }

  /** Deletes some that ended before then, with their parts. */
  collect(endedBeforeMs: number, limit: number): number {
    const ended = this.#rows.all(
      "SELECT execution_id FROM workflows WHERE state = 'ended' AND ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?",
      endedBeforeMs,
      limit,
    ) as Pick<Row, "execution_id">[];
    for (const { execution_id: id } of ended) {
      this.#rows.run("DELETE FROM workflow_parts WHERE workflow = ?", id);
      this.#rows.run("DELETE FROM workflows WHERE execution_id = ?", id);
    }
    return ended.length;
  }
}

function workflowOf(row: Row): Workflow {
  return {
    id: row.execution_id,
    module: row.module,
    handler: row.handler,
    args: row.args,
    seed: row.seed,
    caller: row.caller,
    parent: row.parent === null ? null : (JSON.parse(row.parent) as StepName),
    call: { key: row.call_key, hash: row.call_hash },
    createdAtMs: row.created_at_ms,
    round: row.round,
    changes: row.changes,
    entries: row.entries,
    bytes: row.bytes,
    state: row.state,
    untilMs: row.until_ms,
    outcome: row.outcome === null ? null : decodeOutcome(row.outcome),
    again: row.again,
    undoing: row.undoing,
    error: row.error === null ? null : (JSON.parse(row.error) as TaskError),
    endedAtMs: row.ended_at_ms,
  };
}

function partOf({ execution_id: id, workflow, place, content }: PartRow): WorkflowPart {
  return { id, workflow, place, content };
}
