/**
 * Joins the two halves of each call: what its location tells, and what the primary tells of the same execution and attempt. A
 * half may come long after the other one. The location's makes the call.
 */
import type { Life } from "@radical/protocol";

export interface Call {
  /** Counts the calls. */
  readonly id: number;
  readonly life: Life;
  /** Null: not told yet, or nothing was asked. */
  readonly primary: Life | null;
}

/** The items and ranges that the call has touched. Where it ran at the primary, that knows: the location may have guessed. */
export function unitsOf({ life, primary }: Call): Life["units"] {
  const isAway = life.path === "near-storage" || life.units.length === 0;
  return isAway && primary !== null && primary.units.length > 0 ? primary.units : life.units;
}

export class Joined {
  readonly #most: number;
  readonly #calls = new Map<number, Call>();
  #ids = 0;
  /** By execution, place and attempt: halves that wait for the other one, the oldest first. */
  readonly #primaries = new Map<string, Life[]>();
  readonly #waiting = new Map<string, number[]>();

  constructor(most: number) {
    this.#most = most;
  }

  /** The call that the life belongs to, as it is known now; null: its location has not told it yet. */
  add(life: Life): Call | null {
    const call = this.#join(life);
    trim(this.#calls, this.#most);
    trim(this.#primaries, this.#most);
    trim(this.#waiting, this.#most);
    return call;
  }

  #join(life: Life): Call | null {
    const key = `${life.execution}/${life.place}/${life.attempt}`;
    if (life.side === "location") {
      const id = ++this.#ids;
      const primary = life.attempt === 0 ? null : taken(this.#primaries, key);
      if (primary === null && life.attempt > 0) put(this.#waiting, key, id);
      return this.#keep({ id, life, primary });
    }
    const id = taken(this.#waiting, key);
    const call = id === null ? undefined : this.#calls.get(id);
    if (call !== undefined) return this.#keep({ ...call, primary: life });
    put(this.#primaries, key, life);
    return null;
  }

  #keep(call: Call): Call {
    this.#calls.set(call.id, call);
    return call;
  }

  get(id: number): Call | undefined {
    return this.#calls.get(id);
  }

  /** The latest first. */
  get calls(): readonly Call[] {
    return [...this.#calls.values()].toReversed();
  }
}

function put<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

function taken<T>(map: Map<string, T[]>, key: string): T | null {
  const list = map.get(key);
  const first = list?.shift() ?? null;
  if (list?.length === 0) map.delete(key);
  return first;
}

function trim(map: Map<unknown, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
