/**
 * How far a schedule has come, as it is stored: an item of the hidden table `.schedules`, under the name of its handler. So a tick
 * and the position behind it are one commit, on every storage.
 */
import {
  CborReader,
  CborWriter,
  type ExecutionId,
  MalformedError,
  SCHEDULE_STATES,
  splitUnit,
  tickIdOf,
  type UnitId,
  unitId,
} from "@radical/protocol";

export interface ScheduleState {
  /** The times that it is about: `dueText`. Null: the handler has no schedule any more. */
  readonly due: string | null;
  /** No tick up to this time is made any more. It never goes back. */
  readonly lastMs: number;
  /** The latest tick that has become a task; null: none has. */
  readonly firedMs: number | null;
  readonly isPaused: boolean;
}

export function scheduleUnit(handler: string): UnitId {
  return unitId(SCHEDULE_STATES, handler);
}

export function encodeScheduleState({ due, lastMs, firedMs, isPaused }: ScheduleState): Uint8Array {
  const writer = new CborWriter().array(4);
  if (due === null) writer.null();
  else writer.text(due);
  writer.integer(lastMs);
  if (firedMs === null) writer.null();
  else writer.integer(firedMs);
  return writer.integer(isPaused ? 1 : 0).finish();
}

/** Throws a MalformedError. */
export function decodeScheduleState(bytes: Uint8Array): ScheduleState {
  const reader = new CborReader(bytes);
  if (reader.array() !== 4) throw new MalformedError("malformed state of a schedule");
  const time = (): number => reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  const state = {
    due: reader.nullIfNext() ? null : reader.text(),
    lastMs: time(),
    firedMs: reader.nullIfNext() ? null : time(),
    isPaused: reader.integerIn(0, 1) === 1,
  };
  reader.end();
  return state;
}

/** The ids of the latest ticks. A starting server asks storage which of them are open tasks. */
export function latestTickIds(states: ReadonlyMap<string, ScheduleState>): readonly ExecutionId[] {
  return Array.from(states, ([handler, { firedMs }]) => (firedMs === null ? [] : [tickIdOf(handler, firedMs)])).flat();
}

/** The states among stored items, by the name of their handler. Throws a MalformedError. */
export function scheduleStates(
  items: Iterable<{ readonly unit: UnitId; readonly value: Uint8Array }>,
): ReadonlyMap<string, ScheduleState> {
  return new Map(Array.from(items, ({ unit, value }) => [splitUnit(unit).key, decodeScheduleState(value)]));
}
