/**
 * The experience of a location. The replies of its primary tell which units are hot, and which tend to be absent when its
 * cache lacks them. They also tell whose read/write set is wrong. A hot unit is stale here time after time. The
 * location's own runs tell which handlers use up the fuel of a speculation. Experience never decides what is right. It
 * decides whether f is worth running here, when, and how its set is found.
 *
 * It belongs to an isolate, is bounded, and is forgotten with it. docs/internals/edge-speed.md has the reasons for the
 * numbers.
 */
import { type HandlerPlan, isSpan, type ModuleHash, tableOf, type UnitId } from "@radical/protocol";

/** Why f waits for the primary's confirmation. */
export type Doubt =
  /** A unit that the cache lacks is rather there than absent. */
  | "guess"
  /** A unit was stale here time after time. */
  | "hot";

export interface ExperienceBounds {
  /** Most tables of handlers, units and handlers that something is known of; what was of no use for longest goes first. */
  readonly tables: number;
  readonly units: number;
  readonly handlers: number;
  /** How much one reply says, beside what was known: 1 is all. */
  readonly guessWeight: number;
  readonly staleWeight: number;
  /** Staleness from which a unit is hot. */
  readonly hot: number;
  /** How much one run says of how long its handler runs, and from which length on it is not run. */
  readonly longWeight: number;
  readonly long: number;
  /** Time in which half of a unit's staleness is forgotten, and of a handler's length. */
  readonly halfLifeMs: number;
}

const DEFAULT_EXPERIENCE: ExperienceBounds = {
  tables: 1_000,
  units: 1_000,
  handlers: 1_000,
  guessWeight: 0.25,
  staleWeight: 0.25,
  hot: 0.75,
  longWeight: 0.5,
  long: 0.5,
  halfLifeMs: 60_000,
};

/** A unit that a handler read, and whether it may write it. */
export interface Read {
  readonly unit: UnitId;
  readonly written: boolean;
}

/** Of something that nothing is known of: a unit that its handler writes is often one that it inserts. */
const INSERTED = 0.5;
const ONLY_READ = 0.25;
const LIKELY = 0.5;

/** Of a unit how stale it is, of a handler how long it runs: from 0 to 1. */
interface Level {
  readonly level: number;
  readonly atMs: number;
}

export class Experience {
  readonly #bounds: ExperienceBounds;
  /** Share of guesses that came true, by handler, table and whether the handler writes it. In order of use. */
  readonly #guesses = new Map<string, number>();
  readonly #staleness = new Map<UnitId, Level>();
  readonly #lengths = new Map<string, Level>();
  /** How often a handler has left its set on confirmed values, by module and handler. In order of use. */
  readonly #setsLeft = new Map<string, number>();
  /** When the primary has last confirmed values for a run of each module. */
  readonly #confirmedAtMs = new Map<ModuleHash, number>();

  constructor(bounds: ExperienceBounds = DEFAULT_EXPERIENCE) {
    this.#bounds = bounds;
  }

  /** Whether f should wait, given the units that are guessed absent and those that the cache has a version of. */
  doubt(handler: string, guessed: readonly Read[], known: readonly UnitId[], atMs: number): Doubt | null {
    if (guessed.some((read) => this.#likelihood(handler, read) < LIKELY)) return "guess";
    return known.some((unit) => this.#level(this.#staleness, unit, atMs) >= this.#bounds.hot) ? "hot" : null;
  }

  guessed(handler: string, read: Read, right: boolean): void {
    const before = this.#likelihood(handler, read);
    const after = before + (Number(right) - before) * this.#bounds.guessWeight;
    keep(this.#guesses, guessKey(handler, read), after, this.#bounds.tables);
  }

  /** The version that the cache had of the unit was compared with the primary's. */
  compared(unit: UnitId, stale: boolean, atMs: number): void {
    this.#move(this.#staleness, unit, stale, atMs, this.#bounds.staleWeight, this.#bounds.units);
  }

  /** Whether f is rather going to use up the fuel of a speculation. */
  isLong(handler: string, atMs: number): boolean {
    return this.#level(this.#lengths, handler, atMs) >= this.#bounds.long;
  }

  /** A run of f has come to its end, or has used up the fuel of a speculation. */
  ran(handler: string, exhausted: boolean, atMs: number): void {
    this.#move(this.#lengths, handler, exhausted, atMs, this.#bounds.longWeight, this.#bounds.handlers);
  }

  #move<Key>(levels: Map<Key, Level>, key: Key, up: boolean, atMs: number, weight: number, most: number): void {
    const before = this.#level(levels, key, atMs);
    // Most units are never stale, and most handlers never long: nothing is kept of them.
    if (!up && before === 0) return;
    const level = before + (Number(up) - before) * weight;
    if (level < NEGLIGIBLE) levels.delete(key);
    else keep(levels, key, { level, atMs }, most);
  }

  /** The primary has confirmed values for a run of the module, or has refused to, because two of its runs have differed. */
  confirmed(module: ModuleHash, isConfirmed: boolean, atMs: number): void {
    if (isConfirmed) keep(this.#confirmedAtMs, module, atMs, MOST_MODULES);
    else this.#confirmedAtMs.delete(module);
  }

  /**
   * Whether the outcome of a run counts that was not confirmed by itself. The primary tells only executions that ask it whether
   * the module may run at locations, so one of them has to ask each minute.
   */
  speculates(module: ModuleHash, atMs: number): boolean {
    const confirmedAtMs = this.#confirmedAtMs.get(module);
    return confirmedAtMs !== undefined && atMs - confirmedAtMs < CONFIRMED_FOR_MS;
  }

  /**
   * A run of the handler has left its set although the values that it ran on were confirmed. Returns whether the set is
   * given up from now on.
   */
  leftSet(module: ModuleHash, handler: string): boolean {
    const key = versionKey(module, handler);
    const times = (this.#setsLeft.get(key) ?? 0) + 1;
    keep(this.#setsLeft, key, times, this.#bounds.handlers);
    return times === GIVEN_UP;
  }

  /** A handler whose set is wrong runs in record mode, which finds the set anew each time. */
  planOf(module: ModuleHash, handler: string, plan: HandlerPlan): HandlerPlan {
    if (plan !== "sliced" && plan !== "given") return plan;
    return (this.#setsLeft.get(versionKey(module, handler)) ?? 0) < GIVEN_UP ? plan : "recorded";
  }

  #likelihood(handler: string, read: Read): number {
    return this.#guesses.get(guessKey(handler, read)) ?? (read.written ? INSERTED : ONLY_READ);
  }

  #level<Key>(levels: ReadonlyMap<Key, Level>, key: Key, atMs: number): number {
    const known = levels.get(key);
    if (known === undefined) return 0;
    return known.level * 2 ** (-Math.max(0, atMs - known.atMs) / this.#bounds.halfLifeMs);
  }
}

const NEGLIGIBLE = 0.05;
/** Builds that an isolate serves: its own, and in the simulation the one before. */
const MOST_MODULES = 4;
const CONFIRMED_FOR_MS = 60_000;
/** How often a handler leaves its set until the set is given up. Once is proof; a second time tells a rare path from a usual one. */
const GIVEN_UP = 2;

function versionKey(module: ModuleHash, handler: string): string {
  return `${module} ${handler}`;
}

function guessKey(handler: string, { unit, written }: Read): string {
  return `${handler} ${written ? "writes" : isSpan(unit) ? "scans" : "reads"} ${tableOf(unit)}`;
}

/** Sets and moves to the end; the first, used longest ago, goes when there are too many. */
function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const first of map.keys()) {
    map.delete(first);
    return;
  }
}
