/**
 * The rules of a handler's tasks, as the tags of its doc comment state them. They say how often a task is tried, how many run at
 * once, and when ticks come by themselves. A module has them in its section `tasks`.
 */
import type { CborReader, CborWriter } from "./cbor.ts";
import { MalformedError } from "./malformed-error.ts";
import { MAX_TASK_ATTEMPTS } from "./tasks.ts";

/** The rules of one handler. A field that is left out has its default. */
export interface TaskRules {
  /** `@retry`: tries of a task, the first one included. Left out: `DEFAULT_TASK_ATTEMPTS`. */
  readonly attempts?: number;
  /** `@limit`. Left out: none. */
  readonly limit?: TaskLimit;
  /** `@cron` or `@every`. Left out: none. */
  readonly schedule?: Schedule;
}

/** At least one of the two is not null. */
export interface TaskLimit {
  /** Most tasks of the handler that run at once. */
  readonly running: number | null;
  /** Most tasks of the handler that begin in a time. */
  readonly rate: { readonly count: number; readonly perMs: number } | null;
}

/** The ways of a tick that is due while the one before is not done. */
export const OVERLAPS = [
  /** It waits. The latest `catchUp` of the waiting ones run, one by one. */
  "wait",
  /** It is left out. */
  "skip",
  /** It runs beside the other. */
  "allow",
] as const;
export type Overlap = (typeof OVERLAPS)[number];

export type Schedule = {
  /** Most ticks that are made up for after a time in which they could not run: the latest ones. */
  readonly catchUp: number;
  readonly overlap: Overlap;
  /** The parameter of the handler, an `i64`, that is given the time of the tick in milliseconds. Null: the handler has none. */
  readonly parameter: string | null;
} & (
  | {
      readonly kind: "cron";
      /** Five fields: minute, hour, day, month, day of the week. */
      readonly fields: string;
      /** A time zone of the IANA data base. */
      readonly zone: string;
    }
  /** Ticks are the multiples of this time since the epoch. */
  | { readonly kind: "every"; readonly everyMs: number }
);

export const DEFAULT_CATCH_UP = 1;
export const MAX_CATCH_UP = 1_000;
export const MAX_TASKS_RUNNING = 1_000;
export const MAX_TASK_RATE = 1_000_000;
export const MIN_EVERY_MS = 1_000;
export const MAX_EVERY_MS = 366 * 86_400_000;
const MAX_TEXT_LENGTH = 256;

const CRON = 0;
const EVERY = 1;

/**
 * `[attempts, limit, schedule]`, each null if it is left out. A limit is `[running, count, per ms]`, a schedule
 * `[0, fields, zone, catch-up, overlap, parameter]` or `[1, every ms, catch-up, overlap, parameter]`.
 */
export function writeTaskRules(writer: CborWriter, { attempts, limit, schedule }: TaskRules): void {
  const nullable = (value: number | null): void => void (value === null ? writer.null() : writer.integer(value));
  writer.array(3);
  nullable(attempts ?? null);
  if (limit === undefined) writer.null();
  else {
    writer.array(3);
    nullable(limit.running);
    nullable(limit.rate?.count ?? null);
    nullable(limit.rate?.perMs ?? null);
  }
  if (schedule === undefined) return void writer.null();
  if (schedule.kind === "cron") writer.array(6).integer(CRON).text(schedule.fields).text(schedule.zone);
  else writer.array(5).integer(EVERY).integer(schedule.everyMs);
  writer.integer(schedule.catchUp).integer(OVERLAPS.indexOf(schedule.overlap));
  if (schedule.parameter === null) writer.null();
  else writer.text(schedule.parameter);
}

/** Throws a MalformedError. */
export function readTaskRules(reader: CborReader): TaskRules {
  if (reader.array() !== 3) throw new MalformedError("malformed rules of tasks");
  const attempts = reader.nullIfNext() ? undefined : reader.integerIn(1, MAX_TASK_ATTEMPTS);
  const limit = reader.nullIfNext() ? undefined : readLimit(reader);
  const schedule = reader.nullIfNext() ? undefined : readSchedule(reader);
  if (attempts === undefined && limit === undefined && schedule === undefined)
    throw new MalformedError("rules of tasks that say nothing");
  return {
    ...(attempts === undefined ? {} : { attempts }),
    ...(limit === undefined ? {} : { limit }),
    ...(schedule === undefined ? {} : { schedule }),
  };
}

function readLimit(reader: CborReader): TaskLimit {
  if (reader.array() !== 3) throw new MalformedError("malformed limit of tasks");
  const nullable = (most: number): number | null => (reader.nullIfNext() ? null : reader.integerIn(1, most));
  const running = nullable(MAX_TASKS_RUNNING);
  const [count, perMs] = [nullable(MAX_TASK_RATE), nullable(MAX_EVERY_MS)];
  if ((count === null) !== (perMs === null)) throw new MalformedError("half of a rate");
  if (running === null && count === null) throw new MalformedError("a limit of tasks that says nothing");
  return { running, rate: count === null || perMs === null ? null : { count, perMs } };
}

function readSchedule(reader: CborReader): Schedule {
  const length = reader.array();
  const kind = reader.integerIn(CRON, EVERY);
  if (length !== (kind === CRON ? 6 : 5)) throw new MalformedError("malformed schedule");
  const text = (): string => {
    const words = reader.text();
    if (words === "" || words.length > MAX_TEXT_LENGTH) throw new MalformedError("malformed text of a schedule");
    return words;
  };
  const due =
    kind === CRON
      ? ({ kind: "cron", fields: text(), zone: text() } as const)
      : ({ kind: "every", everyMs: reader.integerIn(MIN_EVERY_MS, MAX_EVERY_MS) } as const);
  const catchUp = reader.integerIn(0, MAX_CATCH_UP);
  const overlap = OVERLAPS[reader.integerIn(0, OVERLAPS.length - 1)]!;
  return { ...due, catchUp, overlap, parameter: reader.nullIfNext() ? null : text() };
}
