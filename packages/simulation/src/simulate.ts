/** One seeded run: clients, locations, a network, the primary, faults; then quiet, and the checks. */
import { Candidate, type CoreOptions, LviCore } from "@radical/lvi-server";
import type { ExecutionId } from "@radical/protocol";
import { check, type Operation } from "./checker.ts";
import { Clock } from "./clock.ts";
import { type Invocation, type Location, type LocationOptions, ModelLocation } from "./location.ts";
import { type NetworkFaults, transmit } from "./network.ts";
import { type CoreClasses, type FaultCounts, Primary, type StorageFaults } from "./primary.ts";
import { KEYS, PROGRAM_NAMES } from "./programs.ts";
import { Random } from "./random.ts";

export interface SimulationOptions {
  readonly seed: number;
  /** Client operations in all. */
  readonly operations?: number;
  /** A wrong variant of the core, to see that it is caught. */
  readonly core?: CoreClasses;
  readonly location?: new (options: LocationOptions) => Location;
}

export interface SimulationResult {
  readonly problems: readonly string[];
  /** Hash of everything that happened: equal for equal seeds. */
  readonly trace: string;
  /** The last lines of the trace. */
  readonly tail: readonly string[];
  readonly notes: ReadonlyMap<string, number>;
  readonly answered: number;
  readonly applied: number;
  readonly faults: FaultCounts;
}

const START_MS = 1_700_000_000_000;
const CLIENTS = 8;
const LOCATIONS = 3;
const TAIL = 40_000;
/** No run takes longer. */
const LONGEST_MS = 3_600_000;
/** Long enough for every deadline, retry and backoff to pass. */
const QUIET_MS = 600_000;

export function simulate({
  seed,
  operations = 150,
  core = { LviCore, Candidate },
  location = ModelLocation,
}: SimulationOptions): SimulationResult {
  const random = new Random(seed);
  const clock = new Clock(START_MS, random);
  const calm = random.chance(0.2);
  let network: NetworkFaults = calm
    ? { drop: 0, duplicate: 0, minDelayMs: 1, maxDelayMs: 60 }
    : {
        drop: random.below(20) / 100,
        duplicate: random.below(20) / 100,
        minDelayMs: 1,
        maxDelayMs: random.between(5, 200),
      };
  /** The slower followups are, the more executions meet intents that are not applied yet. */
  const followupDelayMs = random.pick([network.maxDelayMs, 2_000]);
  const storage: { -readonly [name in keyof StorageFaults]: StorageFaults[name] } = {
    failure: calm ? 0 : random.pick([0, 0.02, 0.2]),
    lostAnswer: calm ? 0 : random.pick([0, 0.02, 0.2]),
    maxDelayMs: random.pick([4, 60]),
    late: calm ? 0 : random.pick([0, 0.02]),
  };
  const coreOptions: Partial<CoreOptions> = {
    followupTimeoutMs: random.pick([50, 500, 5_000]),
    maxWaitMs: random.pick([200, 2_000]),
    maxQueue: random.pick([2, 1_000]),
    maxRounds: random.pick([1, 3]),
    hotBytes: random.pick([0, 500, 750, 1_000_000]),
    finishedBytes: random.pick([0, 10_000, 1_000_000]),
    forgottenIds: random.pick([0, 20, 1_000_000]),
    answeredIds: random.pick([8, 60, 1_000_000, 1_000_000]),
    replayWindowMs: random.pick([2_000, 300_000]),
  };

  let hash = 0x811c9dc5;
  const tail: string[] = [];
  const trace = (line: string): void => {
    const text = `${clock.nowMs - START_MS} ${line}`;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    tail.push(text);
    if (tail.length > TAIL) tail.shift();
  };

  const servers = random.pick([1, 2]);
  const termMs = random.pick([800, 2_000]);
  const locations: Location[] = [];
  const primary = new Primary({
    core,
    coreOptions,
    clock,
    faults: storage,
    servers,
    termMs,
    fencesIntents: random.chance(0.5),
    drift: calm ? 0 : 0.05,
    trace,
    send: (message) => transmit(clock, network, () => locations[message.to]!.receive(message)),
  });
  for (let index = 0; index < LOCATIONS; index++) {
    const options: LocationOptions = {
      index,
      clock,
      skewMs: calm ? 0 : random.between(-900, 900),
      send: (message) => {
        const faults = message.kind === "followup" ? { ...network, maxDelayMs: followupDelayMs } : network;
        transmit(clock, faults, () => primary.receive(index, message));
      },
    };
    locations.push(new location(options));
  }

  /** Longest pause between the operations of a client, and how often they touch what its location likes best. */
  const pauseMs = random.pick([100, 1_500]);
  const affinity = random.pick([0, 0.8]);

  // Clients: one operation after the other, some repeated under the same id at another location.
  const history: Operation[] = [];
  let position = 0;
  let begun = 0;
  let asking = 0;
  const client = (home: Location): void => {
    if (begun >= operations) return;
    const number = begun++;
    const keys = [...KEYS].toSorted(() => random.below(3) - 1).slice(0, random.between(1, 3));
    const favourite = KEYS[locations.indexOf(home)]!;
    if (random.chance(affinity) && !keys.includes(favourite)) keys[0] = favourite;
    const invocation: Invocation = {
      executionId: number.toString(16).padStart(32, "0") as ExecutionId,
      program: random.pick(PROGRAM_NAMES),
      args: { operation: `op${number}`, keys },
      retained: random.chance(0.3),
    };
    const next = (): void => clock.after(random.between(0, pauseMs), () => client(home));
    // Mostly a client stays where it is. An impatient one asks at two locations at once.
    let open = invocation.retained && random.chance(0.3) ? 2 : 1;
    for (let i = open; i > 0; i--) {
      const place = random.chance(0.7) ? home : random.pick(locations);
      ask(place, invocation, 0, () => (--open === 0 ? next() : undefined));
    }
  };
  const ask = (at: Location, invocation: Invocation, repeats: number, done: () => void): void => {
    const { operation: name } = invocation.args;
    const invokedAt = ++position;
    asking++;
    trace(`ask ${name} ${invocation.program} ${invocation.args.keys.join("")}`);
    at.invoke(invocation, (outcome) => {
      asking--;
      trace(`told ${name} ${outcome?.kind ?? "nothing"}`);
      const { executionId, program } = invocation;
      history.push({
        name,
        executionId,
        invokedAt,
        answeredAt: outcome === null ? null : ++position,
        outcome,
        mustBeApplied: !["read", "trace", "claim", "watched"].includes(program),
      });
      const again = invocation.retained && repeats < 3 && (outcome === null || random.chance(0.3));
      if (again) clock.after(random.between(0, 500), () => ask(random.pick(locations), invocation, repeats + 1, done));
      else done();
    });
  };
  for (let index = 0; index < CLIENTS; index++) {
    const home = locations[index % LOCATIONS]!;
    clock.after(random.below(50), () => client(home));
  }

  // Faults: crashes of the server and of locations, disturbed caches.
  let quiet = false;
  const trouble = (meanMs: number, act: () => void): void => {
    clock.after(random.between(1, 2 * meanMs), () => {
      if (quiet) return;
      act();
      trouble(meanMs, act);
    });
  };
  trouble(random.pick([300, 3_000]), () => random.pick(locations).disturb());
  if (!calm) {
    trouble(random.pick([2_000, 10_000, 30_000]), () => primary.crash(random.between(1, 300)));
    trouble(random.pick([3_000, 10_000]), () => primary.pause(random.between(1, 2 * termMs)));
    trouble(4_000, () => primary.cut(random.below(LOCATIONS), random.between(100, 2_000)));
    trouble(5_000, () => primary.stepClock(random.between(-900, 900)));
    trouble(2_000, () => random.pick(locations).crash());
  }

  const calmDown = (): void => {
    quiet = true;
    network = { ...network, drop: 0, duplicate: 0 };
    storage.failure = 0;
    storage.lostAnswer = 0;
    storage.late = 0;
  };
  const isOver = (): boolean => begun === operations && asking === 0;
  while (!isOver() && clock.step(START_MS + LONGEST_MS));
  calmDown();
  const endMs = clock.nowMs + QUIET_MS;
  while (clock.step(endMs));
  const problems = [...check(history, primary.storage.applied)];
  if (!primary.isIdle) problems.push("something is still under way or locked at the end");
  for (const [id, record] of primary.storage.intents)
    if (record.state === "pending") problems.push(`intent ${id} is pending at the end`);
  for (const alarm of ["determinism_alarm", "lost_write_alarm", "intent_alarm"] as const) {
    if (primary.notes.has(alarm)) problems.push(`there was a ${alarm}`);
  }
  return {
    problems,
    trace: (hash >>> 0).toString(16),
    tail,
    notes: primary.notes,
    answered: history.filter(({ outcome }) => outcome !== null).length,
    applied: primary.storage.applied.length,
    faults: primary.faults,
  };
}
