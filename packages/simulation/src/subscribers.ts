/**
 * The subscribers of live queries: clients that stay. Each asks for one query, reads what comes, comes back when its stream ends, and goes
 * away some time. Draws are of a generator of their own.
 */
import type { Random } from "@radical/history";
import type { ShownState, Subscription } from "./checkers/live.ts";
import type { Clock } from "./clock.ts";
import type { EdgeLocation } from "./edge-location.ts";
import type { FaultCounts } from "./faults.ts";
import type { LiveQuery } from "./live-streams.ts";
import { encodeArgs, GROUPS, LIVE, type ProgramName, WHOLE_GROUP } from "./programs.ts";
import type { Trace } from "./trace.ts";
import type { Weather } from "./weather.ts";

export interface SubscribersOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly weather: Weather;
  readonly locations: readonly EdgeLocation[];
  readonly counts: FaultCounts;
  readonly trace: Trace;
  /** A position of its own in the history. */
  readonly mark: () => number;
}

/** The longest time for which a client takes nothing, and the pause before it comes back after its connection broke. */
const SLOW_MS = 2_000;
const BROKEN_MS = 500;
/** Mean times: until a subscriber comes, and until it goes. */
const COMES_MS = 2_000;
const STAYS_MS = 10_000;

/** All rows of a table, the last ones behind a row, and a few between two. */
const PAGES = [12, 29, 23];

interface Subscriber extends Subscription {
  readonly shown: ShownState[];
  isStale: boolean;
  hasLeft: boolean;
}

export class Subscribers {
  readonly #options: SubscribersOptions;
  readonly #all: Subscriber[] = [];
  readonly #leaves = new Set<() => void>();
  #isQuiet = false;

  constructor(options: SubscribersOptions) {
    this.#options = options;
  }

  get all(): readonly Subscription[] {
    return this.#all;
  }

  start(): void {
    const { random, weather, clock } = this.#options;
    for (let count = 0; count < weather.subscribers; count++)
      clock.after(random.below(COMES_MS), () => this.#subscribe());
  }

  /** Nobody comes or goes any more. */
  stay(): void {
    this.#isQuiet = true;
  }

  /** All of them go. */
  leave(): void {
    for (const leave of this.#leaves) leave();
  }

  #subscribe(): void {
    if (this.#isQuiet) return;
    const { clock, random, weather } = this.#options;
    const group = GROUPS[random.pick(weather.groups)];
    const program = random.pick<ProgramName>(group.programs.filter((name) => LIVE.has(name)));
    const units = WHOLE_GROUP.has(program) ? [...group.units] : random.some(group.units, random.between(1, group.most));
    const name = `live ${this.#all.length}`;
    const amount = group === GROUPS.rows ? PAGES[this.#all.length % PAGES.length]! : 0;
    const args = { operation: name, units, amount };
    const query: LiveQuery = {
      program,
      args,
      encodedArgs: encodeArgs(args),
      caller: random.chance(0.2) ? "caller 1" : null,
    };
    const subscriber: Subscriber = { name, query, shown: [], isStale: false, hasLeft: false };
    this.#all.push(subscriber);
    this.#connect(subscriber, random.chance(0.3));
    if (random.chance(0.3)) return;
    const leaves = random.between(1, 2 * STAYS_MS);
    clock.after(leaves, () => {
      if (this.#isQuiet) return;
      subscriber.hasLeft = true;
      clock.after(random.below(COMES_MS), () => this.#subscribe());
    });
  }

  #connect(subscriber: Subscriber, isSlow: boolean): void {
    const { clock, random, locations, counts, mark, trace } = this.#options;
    const { name, query, shown } = subscriber;
    if (subscriber.hasLeft) return;
    const askedAt = mark();
    trace.mix(askedAt);
    let isOpen = true;
    const end = (): void => {
      isOpen = false;
      this.#leaves.delete(leave);
    };
    const location = random.pick(locations);
    if (trace.lines !== null)
      trace.write(
        `${name} asks location ${locations.indexOf(location)}: ${query.program} ${query.args.units.join(" ")}`,
      );
    // A warning takes the id back.
    const known = subscriber.isStale ? null : (shown.at(-1)?.id ?? null);
    const goes = location.subscribe(query, known, {
      told: (message, computed, taken) => {
        const ms = isSlow ? random.below(SLOW_MS) : random.below(5);
        clock.after(ms, () => {
          if (!isOpen) return;
          if (subscriber.hasLeft) return leave();
          if (trace.lines !== null)
            trace.write(`${name} is told ${message.kind === "state" ? message.id : message.kind}`);
          if (message.kind === "stale") {
            counts.add("subscriber told that its state may be an old one");
            subscriber.isStale = true;
          }
          if (message.kind === "state" && computed !== null) {
            const { id } = message;
            shown.push({ id, ...computed, askedAt, isAfterStale: subscriber.isStale });
            trace.mix(computed.at);
            subscriber.isStale = false;
          }
          if (isSlow) counts.add("subscriber that reads slowly");
          taken();
        });
      },
      ended: (retryMs) => {
        if (!isOpen) return;
        end();
        counts.add(retryMs === null ? "stream of a live query broken" : "stream of a live query ended by its location");
        clock.after(retryMs ?? random.below(BROKEN_MS), () => this.#connect(subscriber, isSlow));
      },
    });
    const leave = (): void => {
      if (!isOpen) return;
      end();
      goes();
    };
    if (isOpen) this.#leaves.add(leave);
  }
}
