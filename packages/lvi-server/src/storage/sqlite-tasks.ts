/** Tasks in SQLite: one table, with an index for those that come by time and one for those that come by lane. */
import type { SQLInputValue } from "node:sqlite";
import type { ExecutionId, ModuleHash } from "@radical/protocol";
import type { Task, TaskError, TaskOutline, TaskPlace, TaskStep } from "../core/task.ts";
import type { LaneCursor, LanePage, TaskListCursor, TaskListPage, TaskPage, TaskSelection } from "./storage.ts";

/** The part of a database that tasks need. */
export interface Rows {
  /** The number of rows changed. */
  readonly run: (sql: string, ...values: SQLInputValue[]) => number;
  readonly all: (sql: string, ...values: SQLInputValue[]) => unknown[];
}

export const TASKS_SCHEMA = `
CREATE TABLE IF NOT EXISTS tasks (
  number        INTEGER PRIMARY KEY,
  execution_id  TEXT NOT NULL UNIQUE,
  state         TEXT NOT NULL,
  due_ms        INTEGER NOT NULL,
  lane          TEXT,
  place         TEXT NOT NULL,
  handler       TEXT NOT NULL,
  args          BLOB NOT NULL,
  seed          BLOB NOT NULL,
  caller        TEXT,
  module        TEXT NOT NULL,
  parent        TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  failures      INTEGER NOT NULL,
  sent_at_ms    INTEGER,
  step          TEXT,
  error         TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS tasks_by_time ON tasks (due_ms, execution_id) WHERE lane IS NULL AND state = 'open';
CREATE INDEX IF NOT EXISTS tasks_dead ON tasks (number) WHERE state = 'dead';
CREATE INDEX IF NOT EXISTS tasks_by_lane ON tasks (lane, place) WHERE lane IS NOT NULL;
`;

interface Row {
  readonly number: number;
  readonly execution_id: ExecutionId;
  readonly state: Task["state"];
  readonly due_ms: number;
  readonly lane: string | null;
  readonly place: string;
  readonly handler: string;
  readonly args: Uint8Array;
  readonly seed: Uint8Array;
  readonly caller: string | null;
  readonly module: ModuleHash;
  readonly parent: ExecutionId;
  readonly created_at_ms: number;
  readonly attempt: number;
  readonly failures: number;
  readonly sent_at_ms: number | null;
  readonly step: string | null;
  readonly error: string | null;
}

/** Its methods are parts of a transaction. */
export class SqliteTasks {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /** Null: there is none. */
  find(id: ExecutionId): Task | null {
    return this.#all("SELECT * FROM tasks WHERE execution_id = ?", id)[0] ?? null;
  }

  insert(task: Task): void {
    this.#rows.run(
      `INSERT INTO tasks (execution_id, state, due_ms, lane, place, handler, args, seed, caller, module, parent, created_at_ms,
                          attempt, failures, sent_at_ms, step, error)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      task.id,
      task.state,
      task.dueMs,
      task.lane,
      task.place,
      task.handler,
      task.args,
      task.seed,
      task.caller,
      task.module,
      task.parent,
      task.createdAtMs,
      task.attempt,
      task.failures,
      task.sentAtMs,
      task.step === undefined ? null : JSON.stringify(task.step),
      errorText(task.error),
    );
  }

  /** In an attempt, or after it: all that such a record changes. */
  update({ id, state, dueMs, attempt, failures, sentAtMs, error }: Task): void {
    this.#rows.run(
      "UPDATE tasks SET state = ?, due_ms = ?, attempt = ?, failures = ?, sent_at_ms = ?, error = ? WHERE execution_id = ?",
      state,
      dueMs,
      attempt,
      failures,
      sentAtMs,
      errorText(error),
      id,
    );
  }

  remove(id: ExecutionId): void {
    this.#rows.run("DELETE FROM tasks WHERE execution_id = ?", id);
  }

  due(after: TaskPlace | null, limit: number): TaskPage<TaskPlace> {
    const tasks =
      after === null
        ? this.#all(`${DUE} ${BY_TIME}`, limit + 1)
        : this.#all(`${DUE} AND (due_ms, execution_id) > (?, ?) ${BY_TIME}`, after.dueMs, after.id, limit + 1);
    return pageOf(tasks, limit, ({ dueMs, id }) => ({ dueMs, id }));
  }

  inLane(lane: string, limit: number): TaskPage<string> {
    const tasks = this.#all("SELECT * FROM tasks WHERE lane = ? ORDER BY place LIMIT ?", lane, limit + 1);
    return pageOf(tasks, limit, ({ place }) => place);
  }

  /** By name. From a lane to the next one is one look into the index, however many tasks it has. */
  laneHeads(after: LaneCursor | null, limit: number): LanePage {
    const heads: TaskOutline[] = [];
    for (let last = after; heads.length < limit; last = heads.at(-1)!.lane) {
      const [head] = (
        last === null
          ? this.#rows.all(`${OUTLINE} WHERE lane IS NOT NULL ${FIRST_IN_LANE}`)
          : this.#rows.all(`${OUTLINE} WHERE lane > ? ${FIRST_IN_LANE}`, last)
      ) as OutlineRow[];
      if (head === undefined) return { heads, next: null };
      heads.push(outlineOf(head));
    }
    return { heads, next: heads.at(-1)?.lane ?? after };
  }

  /** Those of one lane in the order of the lane, others in that in which they came. */
  list({ state, lane }: TaskSelection, after: TaskListCursor | null, limit: number): TaskListPage {
    const isInOne = typeof lane === "string";
    const [column, from] = isInOne ? ["place", after ?? ""] : ["number", Number(after ?? 0)];
    const wanted = [
      `${column} > ?`,
      ...(lane === undefined ? [] : [isInOne ? "lane = ?" : "lane IS NULL"]),
      // As text: a parameter would keep SQLite from the index of dead tasks.
      ...(state === undefined ? [] : [state === "dead" ? "state = 'dead'" : "state = 'open'"]),
    ];
    const values = [from, ...(isInOne ? [lane] : []), limit + 1];
    const sql = `SELECT * FROM tasks WHERE ${wanted.join(" AND ")} ORDER BY ${column} LIMIT ?`;
    const rows = this.#rows.all(sql, ...values) as Row[];
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const next = last === undefined ? null : isInOne ? last.place : String(last.number);
    return { tasks: rows.slice(0, limit).map(taskOf), next };
  }

  count(): number {
    const [row] = this.#rows.all("SELECT COUNT(*) AS count FROM tasks") as { readonly count: number }[];
    return row?.count ?? 0;
  }

  #all(sql: string, ...values: SQLInputValue[]): Task[] {
    return (this.#rows.all(sql, ...values) as Row[]).map(taskOf);
  }
}

/** `found`: one more than are wanted, if there are so many. */
function pageOf<Place>(found: readonly Task[], limit: number, placeOf: (task: Task) => Place): TaskPage<Place> {
  const tasks = found.slice(0, limit);
  return { tasks, upTo: found.length > limit ? placeOf(tasks[limit - 1]!) : null };
}

const DUE = "SELECT * FROM tasks WHERE lane IS NULL AND state = 'open'";
/** Of a task with large arguments, SQLite reads none of the pages that have these. */
const OUTLINE = "SELECT execution_id, handler, lane, place, parent, due_ms, state, failures, error FROM tasks";
const FIRST_IN_LANE = "ORDER BY lane, place LIMIT 1";
const BY_TIME = "ORDER BY due_ms, execution_id LIMIT ?";

type OutlineRow = Pick<
  Row,
  "execution_id" | "handler" | "lane" | "place" | "parent" | "due_ms" | "state" | "failures" | "error"
>;

function outlineOf({
  execution_id: id,
  handler,
  lane,
  place,
  parent,
  state,
  failures,
  ...row
}: OutlineRow): TaskOutline {
  const error = row.error === null ? null : (JSON.parse(row.error) as TaskError);
  return { id, handler, lane, place, parent, dueMs: row.due_ms, state, failures, error };
}

function taskOf(row: Row): Task {
  return {
    ...outlineOf(row),
    args: row.args,
    seed: row.seed,
    caller: row.caller,
    module: row.module,
    createdAtMs: row.created_at_ms,
    attempt: row.attempt,
    sentAtMs: row.sent_at_ms,
    ...(row.step === null ? {} : { step: JSON.parse(row.step) as TaskStep }),
  };
}

function errorText(error: TaskError | null): string | null {
  return error === null ? null : JSON.stringify(error);
}
