/**
 * The clients: each does one thing after the other. Some choose the id of their execution and ask again under it, at
 * another location, or at two at once. Others go away before they are answered.
 */
import type { ExecutionId, Outcome } from "@radical/protocol";
import type { Verdict } from "@radical/runtime/core";
import type { Clock } from "./clock.ts";
import type { FaultCounts } from "./faults.ts";
import type { Operation } from "./history.ts";
import type { Invocation, Location, Shown } from "./location.ts";
import { encodeArgs, GROUPS, type ProgramName, READERS, WHOLE_GROUP } from "./programs.ts";
import type { Trace } from "./trace.ts";
import type { Weather } from "./weather.ts";

interface WorkloadOptions {
  readonly clock: Clock;
  readonly weather: Weather;
  readonly locations: readonly Location[];
  readonly counts: FaultCounts;
  readonly trace: Trace;
}

/** Everything that a client was told in one question. */
export interface Telling {
  readonly name: string;
  readonly program: ProgramName;
  readonly prefersSpeculative: boolean;
  /** Before the answer, in order. */
  readonly shown: Shown[];
  /** Null: it was told no answer. */
  answer: { readonly outcome: Outcome | null; readonly verdict: Verdict | null } | null;
}

/** How often the same execution is asked for again at most. */
const MAX_REPEATS = 3;

export class Workload {
  readonly history: Operation[] = [];
  readonly tellings: Telling[] = [];
  readonly #options: WorkloadOptions;
  #position = 0;
  #begun = 0;
  #asking = 0;
  /** Null: they have not begun. */
  #busyClients: number | null = null;
  #most: number;
  #pauseMs: number;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#most = options.weather.operations;
    this.#pauseMs = options.weather.pauseMs;
  }

  get isOver(): boolean {
    return this.#busyClients === 0 && this.#asking === 0;
  }

  /** A position of its own for what happens now. */
  mark(): number {
    return ++this.#position;
  }

  start(clients: number): void {
    const { clock, locations } = this.#options;
    this.#busyClients = clients;
    for (let index = 0; index < clients; index++) {
      const home = index % locations.length;
      clock.after(clock.random.below(50), () => this.#next(home));
    }
  }

  /** When all of them have ended they do so much more. */
  again(clients: number, operations: number, pauseMs: number): void {
    this.#most = this.#begun + operations;
    this.#pauseMs = pauseMs;
    this.start(clients);
  }

  /** Reads everything that the history may have written, so that what was answered must show. */
  readAll(): void {
    const { locations, weather } = this.#options;
    for (const name of weather.groups) {
      const { all, units } = GROUPS[name];
      if (all !== null) this.#ask(locations[0]!, this.#invocation(all, units, 0, false), 0, () => {});
    }
  }

  #invocation(program: ProgramName, units: Operation["units"], amount: number, retained: boolean): Invocation {
    const number = this.#begun++;
    const executionId = number.toString(16).padStart(32, "0") as ExecutionId;
    const args = { operation: `op${number}`, units, amount };
    const caller = number % 3 === 0 ? null : `caller ${number % 3}`;
    const mustNotWrite = number % 13 === 5;
    const prefersSpeculative = number % 3 !== 1;
    const encodedArgs = encodeArgs(args);
    return { executionId, program, args, encodedArgs, caller, retained, mustNotWrite, prefersSpeculative };
  }

  #next(home: number): void {
    const { clock, weather, locations, counts } = this.#options;
    const { random } = clock;
    if (this.#begun >= this.#most) {
      this.#busyClients!--;
      return;
    }
    const group = GROUPS[random.pick(weather.groups)];
    const program = this.#program(group);
    const units = WHOLE_GROUP.has(program) ? [...group.units] : this.#units(group, home);
    const invocation = this.#invocation(program, units, random.between(1, 60), random.chance(weather.retained));
    const done = (): void => clock.after(random.between(0, this.#pauseMs), () => this.#next(home));
    // Mostly a client stays where it is. An impatient one asks at two locations at once.
    const isImpatient = invocation.retained && random.chance(0.3);
    if (isImpatient) counts.add("client asked at two locations at once");
    let open = isImpatient ? 2 : 1;
    for (let i = open; i > 0; i--) {
      const place = random.chance(0.7) ? locations[home]! : random.pick(locations);
      this.#ask(place, invocation, 0, () => (--open === 0 ? done() : undefined));
    }
  }

  #program({ programs }: (typeof GROUPS)[keyof typeof GROUPS]): ProgramName {
    const { clock, weather } = this.#options;
    const { random } = clock;
    const onlyReads = weather.reads > 0 && random.chance(weather.reads);
    const readers = onlyReads ? programs.filter((name) => READERS.has(name)) : [];
    return random.pick<ProgramName>(readers.length > 0 ? readers : programs);
  }

  #units({ units, most }: (typeof GROUPS)[keyof typeof GROUPS], home: number): Operation["units"] {
    const { clock, weather } = this.#options;
    const { random } = clock;
    const count = most === 2 ? 2 : random.between(1, most);
    const chosen: Operation["units"][number][] = [];
    while (chosen.length < count) {
      const isFavourite = chosen.length === 0 && weather.affinity > 0 && random.chance(weather.affinity);
      const unit = isFavourite ? units[home % units.length]! : units[random.zipf(units.length)]!;
      if (!chosen.includes(unit)) chosen.push(unit);
    }
    return chosen;
  }

  #ask(at: Location, invocation: Invocation, repeats: number, done: () => void): void {
    const { clock, weather, locations, counts, trace } = this.#options;
    const { random } = clock;
    const { executionId, program, retained, mustNotWrite, prefersSpeculative } = invocation;
    const { operation: name, units, amount } = invocation.args;
    const invokedAt = ++this.#position;
    this.#asking++;
    trace.mix(this.#position);
    if (trace.lines !== null)
      trace.write(`${name} asks location ${locations.indexOf(at)}: ${program} ${units.join(" ")} ${amount}`);
    const telling: Telling = { name, program, prefersSpeculative, shown: [], answer: null };
    this.tellings.push(telling);
    let isOpen = true;
    const end = (outcome: Operation["outcome"], verdict?: Verdict | null): void => {
      if (!isOpen) return;
      isOpen = false;
      if (verdict !== undefined) telling.answer = { outcome, verdict };
      this.#asking--;
      if (trace.lines !== null) trace.write(`${name} is told ${outcome?.kind ?? "nothing"}`);
      const answeredAt = outcome === null ? null : ++this.#position;
      this.history.push({ name, executionId, program, units, amount, mustNotWrite, invokedAt, answeredAt, outcome });
      if (!retained || repeats >= MAX_REPEATS || !(outcome === null || random.chance(0.3))) return done();
      const elsewhere = random.pick(locations);
      if (elsewhere !== at) counts.add("client asked again elsewhere");
      clock.after(random.between(0, 500), () => this.#ask(elsewhere, invocation, repeats + 1, done));
    };
    if (random.chance(weather.disconnect)) {
      clock.after(random.between(0, 200), () => {
        if (isOpen) counts.add("client disconnected");
        end(null);
      });
    }
    const show = (shown: Shown): void => {
      if (isOpen) telling.shown.push(shown);
    };
    at.invoke(invocation, { answer: end, show });
  }
}
