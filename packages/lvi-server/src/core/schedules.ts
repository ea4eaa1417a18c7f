/**
 * Schedules: the primary calls handlers at the times that their tags state. A time at which a call is due is a *tick*, and it becomes one
 * task. The commit that inserts the task moves the schedule behind the tick. That alone makes a tick one task at most, whatever fails
 * in between, and wherever the clock goes.
 *
 * Pure: it says which change of a schedule is to be committed next. Times of ticks are of the wall clock, pauses of the monotonic one.
 */
import { type ExecutionId, type Schedule, type ScheduleAction, type ScheduleStatus, tickIdOf } from "@radical/protocol";
import type { CallerId } from "./events.ts";
import type { Rules } from "./module-table.ts";
import type { ScheduleState } from "./schedule-state.ts";
import type { Instant } from "./task-table.ts";
import { dueText, latestTicks, type NextCron, nextTick } from "./ticks.ts";

/** An operator's wish about a schedule. */
export interface ScheduleAsk {
  readonly caller: CallerId;
  readonly handler: string;
  readonly action: ScheduleAction;
}

/** One schedule, from a commit on. */
export interface ScheduleChange {
  readonly handler: string;
  readonly becomes: ScheduleState;
  /** Null: the handler has none any more. */
  readonly schedule: Schedule | null;
  /** Those that become tasks. */
  readonly ticks: readonly number[];
  /** Those that are over, and become none. */
  readonly missed: number;
  /** The wish that it fulfils; null: that of nobody. */
  readonly ask: ScheduleAsk | null;
}

interface Entry {
  readonly handler: string;
  /** As the current module says; null: none. */
  schedule: Schedule | null;
  /** As storage has it; null: it does not know the schedule yet. */
  state: ScheduleState | null;
  /** Its next tick; null: not reckoned yet. */
  nextMs: number | null;
  readonly asks: ScheduleAsk[];
  isChanging: boolean;
  /** A change of it could not be stored: not before then. */
  againAtMs: number;
  /** When its last tick was found to be done after others had to wait for it, by the wall clock. */
  freedMs: number;
}

/** A tick that is later than this counts as missed, unless it has waited for the one before. */
const LATE_MS = 60_000;
/** A wall clock that was set is noticed within this time. */
const LOOK_MS = 30_000;
/** Most missed ticks of one change that are counted one by one. */
const MOST_COUNTED = 1_000;

export class Schedules {
  readonly #entries = new Map<string, Entry>();
  readonly #nextCron: NextCron;
  readonly #isOpen: (task: ExecutionId) => boolean;
  /** Those whose next tick waits until the last one is done. */
  readonly #held = new Set<Entry>();
  #rules: Rules | null = null;
  #lookAtMs = Infinity;

  /** `isOpen`: whether the task of a tick is neither done nor dead. */
  constructor(states: ReadonlyMap<string, ScheduleState>, nextCron: NextCron, isOpen: (task: ExecutionId) => boolean) {
    this.#nextCron = nextCron;
    this.#isOpen = isOpen;
    for (const [handler, state] of states) this.#add(handler).state = state;
  }

  /** When it wants to be asked for changes, unless something happens before. Infinity: it has no schedule. */
  get wakeAtMs(): number {
    return this.#lookAtMs;
  }

  /** When the next change of a schedule is due, as far as the clock is not set. Infinity: none waits for a time. */
  dueAtMs({ nowMs, wallMs }: Instant): number {
    let atMs = Infinity;
    for (const entry of this.#entries.values()) {
      const { schedule, state, nextMs, againAtMs } = entry;
      if (againAtMs > nowMs) atMs = Math.min(atMs, againAtMs);
      const waits = schedule !== null && state?.isPaused === false && !this.#held.has(entry);
      if (waits && nextMs !== null && nextMs > wallMs) atMs = Math.min(atMs, nowMs + nextMs - wallMs);
    }
    return atMs;
  }

  /** From now on these are the rules of handlers. */
  name(rules: Rules): void {
    if (rules === this.#rules) return;
    this.#rules = rules;
    for (const [handler, { schedule }] of Object.entries(rules)) if (schedule !== undefined) this.#add(handler);
    for (const entry of this.#entries.values()) {
      entry.schedule = rules[entry.handler]?.schedule ?? null;
      this.#isNew(entry);
    }
  }

  /** False: no handler of the current module has such a schedule. */
  ask(ask: ScheduleAsk): boolean {
    const entry = this.#entries.get(ask.handler);
    if (entry === undefined || entry.schedule === null) return false;
    entry.asks.push(ask);
    this.#lookAtMs = -Infinity;
    return true;
  }

  /** By name of the handler. */
  list(wallMs: number): readonly ScheduleStatus[] {
    const scheduled = [...this.#entries.values()].flatMap(({ handler, schedule, state }): readonly ScheduleStatus[] => {
      if (schedule === null) return [];
      const { lastMs = wallMs, firedMs = null, isPaused = false } = state ?? {};
      const nextMs = nextTick(schedule, Math.max(lastMs, wallMs), this.#nextCron);
      const { parameter: _parameter, ...stated } = schedule;
      return [
        {
          handler,
          ...stated,
          lastMs: firedMs,
          nextMs: isPaused || nextMs === Infinity ? null : nextMs,
          isPaused,
          isOpen: firedMs !== null && this.#isOpen(tickIdOf(handler, firedMs)),
        },
      ];
    });
    return scheduled.toSorted((a, b) => (a.handler < b.handler ? -1 : 1));
  }

  /** The next change that is to be committed. Null: none now. `mayTick`: whether ticks may become tasks. */
  take(now: Instant, mayTick: boolean): ScheduleChange | null {
    for (const entry of this.#held) {
      if (this.#isBusy(entry)) continue;
      entry.freedMs = now.wallMs;
      this.#isNew(entry);
    }
    if (now.nowMs < this.#lookAtMs) return null;
    let waitMs = this.#entries.size === 0 ? Infinity : LOOK_MS;
    for (const entry of this.#entries.values()) {
      if (entry.isChanging) continue;
      if (now.nowMs < entry.againAtMs) {
        waitMs = Math.min(waitMs, entry.againAtMs - now.nowMs);
        continue;
      }
      const found = this.#changeOf(entry, now.wallMs, mayTick);
      if (typeof found === "number") {
        waitMs = Math.min(waitMs, found);
        continue;
      }
      entry.isChanging = true;
      return found;
    }
    this.#lookAtMs = now.nowMs + waitMs;
    return null;
  }

  /** A change has ended. False: it was not stored. */
  ended({ handler, becomes, ask }: ScheduleChange, isStored: boolean, againAtMs: number): void {
    const entry = this.#add(handler);
    entry.isChanging = false;
    if (isStored) entry.state = becomes;
    else entry.againAtMs = againAtMs;
    if (!isStored && ask !== null) entry.asks.unshift(ask);
    this.#isNew(entry);
  }

  /** Or for how long none is to be expected. */
  #changeOf(entry: Entry, wallMs: number, mayTick: boolean): ScheduleChange | number {
    // variant: schedule-clock
    const { handler, schedule, state } = entry;
    const change = (becomes: ScheduleState, more: Partial<ScheduleChange> = {}): ScheduleChange => ({
      handler,
      becomes,
      schedule,
      ticks: [],
      missed: 0,
      ask: null,
      ...more,
    });
    const due = schedule === null ? null : dueText(schedule);
    // variant: schedule-due
    if (state === null || state.due !== due) {
      const { lastMs = 0, firedMs = null, isPaused = false } = state ?? {};
      // variant: schedule-begins
      return change({ due, lastMs: Math.max(lastMs, wallMs), firedMs, isPaused });
    }
    const ask = entry.asks.shift();
    if (ask !== undefined) return change(asked(state, ask, wallMs), { ask });
    if (schedule === null || state.isPaused || !mayTick) return LOOK_MS;
    entry.nextMs ??= nextTick(schedule, state.lastMs, this.#nextCron);
    if (wallMs < entry.nextMs) return entry.nextMs - wallMs;
    if (this.#isBusy(entry)) {
      if (schedule.overlap === "skip") {
        const left = latestTicks(schedule, state.lastMs, wallMs, MOST_COUNTED, this.#nextCron);
        return change({ ...state, lastMs: left.at(-1) ?? state.lastMs }, { missed: left.length });
      }
      this.#held.add(entry);
      return LOOK_MS;
    }
    const { ticks, lastMs, missed } = this.#chosen(schedule, state, wallMs, entry.freedMs);
    return change({ ...state, lastMs, firedMs: ticks.at(-1) ?? state.firedMs }, { ticks, missed });
  }

  /** Of all ticks that are due, those that become tasks now. */
  #chosen(
    schedule: Schedule,
    { lastMs }: ScheduleState,
    wallMs: number,
    freedMs: number,
  ): { readonly ticks: readonly number[]; readonly lastMs: number; readonly missed: number } {
    const { catchUp, overlap } = schedule;
    const all = latestTicks(schedule, lastMs, wallMs, MOST_COUNTED + catchUp, this.#nextCron);
    const latestMs = all.at(-1) ?? lastMs;
    // variant: schedule-late
    const isInTime = wallMs - Math.max(latestMs, freedMs) <= LATE_MS;
    // variant: schedule-catch-up
    const count = Math.max(overlap === "skip" ? Math.min(1, catchUp) : catchUp, isInTime ? 1 : 0);
    const chosen = all.slice(all.length - Math.min(count, all.length));
    const missed = all.length - chosen.length;
    const [first] = chosen;
    // The others wait for it, where they are due.
    if (overlap === "wait" && first !== undefined) return { ticks: [first], lastMs: first, missed };
    return { ticks: chosen, lastMs: latestMs, missed };
  }

  /** The task of its last tick is not done, and the next one must not begin beside it. */
  #isBusy({ handler, schedule, state }: Entry): boolean {
    // variant: schedule-overlap
    if (schedule === null || schedule.overlap === "allow" || state === null || state.firedMs === null) return false;
    return this.#isOpen(tickIdOf(handler, state.firedMs));
  }

  #isNew(entry: Entry): void {
    entry.nextMs = null;
    this.#held.delete(entry);
    this.#lookAtMs = -Infinity;
  }

  #add(handler: string): Entry {
    let entry = this.#entries.get(handler);
    if (entry === undefined) {
      entry = {
        handler,
        schedule: null,
        state: null,
        nextMs: null,
        asks: [],
        isChanging: false,
        againAtMs: -Infinity,
        freedMs: -Infinity,
      };
      this.#entries.set(handler, entry);
    }
    return entry;
  }
}

/** The state as the operator wants it. */
function asked(state: ScheduleState, { action }: ScheduleAsk, wallMs: number): ScheduleState {
  switch (action) {
    case "run":
      return state;
    case "pause":
      return { ...state, isPaused: true };
    case "resume":
      // Ticks of the pause are left out.
      // variant: schedule-resumes
      return state.isPaused ? { ...state, isPaused: false, lastMs: Math.max(state.lastMs, wallMs) } : state;
  }
}
