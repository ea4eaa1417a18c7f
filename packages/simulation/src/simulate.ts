/** One seeded history: clients, locations, a network, the primary, faults; then quiet, and the checks. */
import type { NoteName } from "@radical/lvi-server/core";
import type { UnitId } from "@radical/protocol";
import { LeaseAgreement } from "./checkers/lease-agreement.ts";
import { checkLive } from "./checkers/live.ts";
import { checkSamples, type TakenSample } from "./checkers/samples.ts";
import { checkShown } from "./checkers/shown.ts";
import { checkStorage } from "./checkers/storage.ts";
import { checkBySearch, type Search } from "./checkers/order-search.ts";
import { checkVersions } from "./checkers/versions.ts";
import { checkVisible } from "./checkers/visible.ts";
import { Clock } from "./clock.ts";
import { Lies } from "./lies.ts";
import { EdgeLocation } from "./edge-location.ts";
import { FaultCounts } from "./faults.ts";
import type { Operation } from "./history.ts";
import { type Location, ModelLocation, nameOf } from "./location.ts";
import type { PendingWrite } from "./model-cache.ts";
import { Network, type ToPrimary } from "./network.ts";
import { Primary } from "./primary.ts";
import { bytesOf, MODULES } from "./programs.ts";
import { Random } from "@radical/history";
import type { ServerFaults } from "./server.ts";
import { Stream } from "./streams.ts";
import { Subscribers } from "./subscribers.ts";
import { Trace } from "./trace.ts";
import { type Weather, type WeatherName, weatherOf } from "./weather.ts";
import { Workload } from "./workload.ts";

export interface SimulationOptions {
  readonly seed: number;
  /** One kind of weather only. */
  readonly weather?: WeatherName;
  /** Another weather than the seed's: for a smaller case of what was found. */
  readonly change?: (weather: Weather) => Weather;
  /** Whether the trace is to be read. */
  readonly isRead?: boolean;
}

export interface SimulationResult {
  readonly problems: readonly string[];
  /** Of everything that happened: equal for equal seeds. */
  readonly fingerprint: string;
  /** The trace, if it is to be read. */
  readonly lines: readonly string[];
  readonly weather: Weather;
  readonly notes: ReadonlyMap<NoteName, number>;
  readonly answered: number;
  readonly applied: number;
  /** The search for an order of all that clients were told. */
  readonly search: Search["kind"];
  readonly counts: FaultCounts;
}

const START_MS = 1_700_000_000_000;
/** Of each location. */
const ISOLATES = 2;
/** No history takes longer. */
const LONGEST_MS = 3_600_000;
/** Longest detour of the lines of a stream. */
const LONGEST_DETOUR_MS = 2_000;
/** Long enough for every deadline, retry and backoff to pass. */
const QUIET_MS = 600_000;
/** Long enough for each subscriber to be shown the last state, and how often that is looked at. */
const SHOWN_MS = 60_000;
const LOOK_MS = 500;
/** Then clients go on for a moment, so often. */
const BURSTS = 4;
const BURST = { clients: 3, operations: 4, pauseMs: 100 } as const;
/** A history lasts some seconds, and so do its streams. */
const LIVE_BOUNDS = { silentMs: 8_000, runMs: 12_000 } as const;

/** Weathers in which leases matter. */
const LEASED: readonly WeatherName[] = ["leases", "cut off"];

/** A history that has ended, before anybody has looked whether it is right. */
interface Ended {
  readonly workload: Workload;
  readonly subscribers: Subscribers;
  readonly primary: Primary;
  readonly agreement: LeaseAgreement;
  readonly samples: readonly TakenSample[];
  readonly lies: Lies;
  readonly trace: Trace;
  readonly weather: Weather;
  readonly counts: FaultCounts;
  readonly lost: LostTime | null;
}

/** From the state that was kept until a server has served it again, in positions of the history. */
interface LostTime {
  readonly from: number;
  readonly until: number;
}

/** Answers of the lost time are void. Nobody knows of their executions whether they were. */
function withoutLost(history: readonly Operation[], lost: LostTime | null): readonly Operation[] {
  if (lost === null) return history;
  return history.map((operation) => {
    const { invokedAt, answeredAt } = operation;
    const isLost = invokedAt < lost.until && (answeredAt === null || answeredAt > lost.from);
    return isLost ? { ...operation, answeredAt: null, outcome: null } : operation;
  });
}

export function simulate(options: SimulationOptions): SimulationResult {
  const { workload, subscribers, primary, agreement, samples, lies, trace, weather, counts, lost } = run(options);
  const { storage, notes } = primary;
  const history = withoutLost(workload.history, lost);
  const sampled = checkSamples(history, storage.applied, samples);
  const live = checkLive(subscribers.all, storage);
  const searched = checkBySearch(history, storage.applied);
  const problems = [
    ...primary.problems,
    ...agreement.problems,
    ...lies.problemsWith(notes.get("forged_alarm") ?? 0),
    ...sampled.problems,
    ...live.problems,
    ...checkStorage(history, storage),
    ...checkVersions([...history, ...sampled.readers, ...live.readers], storage.applied),
    ...checkVisible([...history, ...live.readers]),
    ...checkShown(workload.tellings),
    ...searched.problems,
  ];
  if (!workload.isOver) problems.push("a client was never answered");
  if (primary.unanswered > 0) problems.push(`a server never answered ${primary.unanswered} requests or followups`);
  if (!primary.isIdle) problems.push("something is still under way or locked at the end");
  for (const alarm of ["determinism_alarm", "lost_write_alarm", "intent_alarm"] as const) {
    // A followup that is not what its execution writes looks like a run that differs.
    if (alarm === "determinism_alarm" && counts.get("followup outside its intent") > 0) continue;
    // One that lies may come when its execution has been re-executed.
    if (alarm === "determinism_alarm" && counts.get("followup that lies") > 0) continue;
    // A cache that is ahead of storage looks like storage that has lost a write.
    if (alarm === "lost_write_alarm" && counts.get("cache of another history, ahead of storage") > 0) continue;
    // The server can't know of it.
    if (alarm === "lost_write_alarm" && counts.get("storage set back by hand") > 0) continue;
    if (notes.has(alarm)) problems.push(`there was a ${alarm}`);
  }
  return {
    problems,
    fingerprint: trace.fingerprint,
    lines: trace.lines ?? [],
    weather,
    notes,
    answered: history.filter(({ outcome }) => outcome !== null).length,
    applied: storage.applied.length,
    search: searched.kind,
    counts,
  };
}

/** A second run of the same seed must have the same fingerprint. */
export function fingerprintOf(options: SimulationOptions): string {
  return run(options).trace.fingerprint;
}

function run({ seed, weather: only, change, isRead = false }: SimulationOptions): Ended {
  const random = new Random(seed);
  // One generator for each concern: draws for one move no draw for another.
  const liveRandom = random.fork("subscribers");
  const trace = new Trace(isRead);
  const clock = new Clock(START_MS, random, trace);
  let quiet = false;
  const counts = new FaultCounts();
  const drawn = weatherOf(seed, random, only ?? null);
  const weather = change === undefined ? drawn : change(drawn);
  const network = new Network(clock, weather.network, counts);
  const locations: Location[] = [];
  const serverFaults: ServerFaults = {
    storage: weather.storage,
    end: weather.serverEnd,
    freeze: weather.serverFreeze,
    kill: weather.kill,
  };
  const locationFaults = { end: weather.locationEnd };
  const samples: TakenSample[] = [];
  const agreement = new LeaseAgreement();
  const lies = new Lies(weather.lies, random.fork("lies"), counts);
  const primary = new Primary({
    coreOptions: weather.core,
    clock,
    trace,
    counts,
    faults: serverFaults,
    servers: weather.servers,
    termMs: weather.termMs,
    fencesIntents: weather.fencesIntents,
    drift: weather.drift,
    tableRules: weather.tableRules,
    takesTimeAsEpoch: weather.setBack !== null,
    updatesMs: weather.updatesMs,
    send: (message) => {
      lies.answered(message);
      const maxDelayMs = message.executionId === null ? weather.heardDelayMs : network.faults.maxDelayMs;
      network.transmit(2 * message.to + 1, maxDelayMs, () => locations[message.to]!.receive(message));
    },
    met: (request) => agreement.met(request),
    sampled: (sample) => {
      const isApplied = primary.storage.applied.some(({ executionId }) => executionId === sample.executionId);
      samples.push({ sample, at: workload.mark(), isApplied });
    },
  });
  const isApplied = (id: string): boolean => primary.storage.applied.some(({ commitId }) => commitId === id);
  const pendingWrites = (isOf: (location: string) => boolean): PendingWrite[] =>
    Array.from(primary.storage.intents.values(), (record) =>
      record.state === "pending" && isOf(record.intent.location)
        ? record.intent.units
            .filter(({ mode }) => mode !== "read")
            .map(({ unit }) => ({ unit, commitId: record.intent.commitId }))
        : [],
    ).flat();
  const { updatesMs } = weather;
  const listening = weather.updates
    ? { shiftMs: 0.6 * updatesMs, pauseMs: 0.2 * updatesMs, beatMs: weather.beatMs, idleMs: 2_000, heardMs: 1_000 }
    : null;
  const streams: Stream[] = [];
  for (let index = 0; index < weather.locations; index++) {
    // Mostly the real edge core. The model knows no leases: where these matter there is one of it at most.
    const isModel = seed % 4 === 0 && weather.subscribers === 0 && (!LEASED.includes(weather.name) || index === 0);
    const ALocation = isModel ? ModelLocation : EdgeLocation;
    locations.push(
      new ALocation({
        index,
        clock,
        trace,
        counts,
        faults: locationFaults,
        drift: weather.drift,
        isolates: ISOLATES,
        live: {
          random: liveRandom,
          bounds: { ...LIVE_BOUNDS, watched: weather.watched, lifeMs: weather.streamMs },
          mark: () => workload.mark(),
        },
        attemptMs: weather.attemptMs,
        servers: weather.servers,
        listening,
        updatesMs,
        commits: { isApplied, pendingElsewhere: () => pendingWrites((location) => location !== nameOf(index)) },
        send: (message) => {
          if (message.kind === "lvi-request") agreement.sent(message.request);
          const maxDelayMs = {
            "lvi-request": network.faults.maxDelayMs,
            followup: weather.followupDelayMs,
            heard: weather.heardDelayMs,
          }[message.kind];
          const told = quiet ? message : lies.told(index, message);
          network.transmit(2 * index, maxDelayMs, () => primary.receive(index, spoil(told)));
        },
        listen: (server, question, arrived) => {
          const isCut = (): boolean => primary.isCut("from", server, index);
          const isSlow = weather.slowStreams > 0 && random.chance(weather.slowStreams);
          const detourMs = isSlow ? random.between(1, LONGEST_DETOUR_MS) : 0;
          if (isSlow) counts.add("stream takes a detour");
          const stream = new Stream({
            clock,
            counts,
            network,
            question,
            lineLoss: quiet ? 0 : weather.lineLoss,
            detourMs,
            isCut,
            arrived,
          });
          streams.push(stream);
          network.connect(() => primary.listen(index, server, stream));
          return stream;
        },
      }),
    );
  }
  /** A location that is broken, or not ours: its followup has a write besides. */
  const spoil = (message: ToPrimary): ToPrimary => {
    if (message.kind !== "followup" || quiet || weather.spoil === 0 || !random.chance(weather.spoil)) return message;
    const { followup } = message;
    const unit = "item/e" as UnitId;
    const record = primary.storage.intents.get(followup.executionId);
    if (record?.state !== "pending" || record.intent.units.some((held) => held.unit === unit)) return message;
    counts.add("followup outside its intent");
    const writes = [...followup.writes, { unit, value: bytesOf("nobody:") }];
    return { ...message, followup: { ...followup, writes } };
  };
  const edges = locations.filter((location) => location instanceof EdgeLocation);
  let lost: LostTime | null = null;
  /** One thing happens. False: nothing does until then. */
  const step = (untilMs: number): boolean => {
    const happens = clock.step(untilMs);
    // Until then locations may answer by read leases of the lost time.
    if (lost?.until === Infinity && primary.isServing) lost = { ...lost, until: workload.mark() };
    for (const { leases } of edges) agreement.check(leases, (session) => primary.session(session));
    return happens;
  };
  const workload = new Workload({
    clock,
    weather,
    locations,
    counts,
    trace,
  });
  const subscribers = new Subscribers({
    clock,
    random: liveRandom,
    weather,
    locations: edges,
    counts,
    trace,
    mark: () => workload.mark(),
  });
  clock.after(weather.aloneMs, () => workload.start(weather.clients));
  if (weather.subscribers > 0) clock.after(weather.aloneMs, () => subscribers.start());

  const trouble = (meanMs: number | null, act: () => void, firstMs = weather.aloneMs): void => {
    if (meanMs === null) return;
    clock.after(firstMs + random.between(1, 2 * meanMs), () => {
      if (quiet) return;
      act();
      trouble(meanMs, act, 0);
    });
  };
  const { cache, serverKilled, serverStopped, serverDrained, partition, serverClock } = weather.trouble;
  const { locationClock, locationKilled, isolateStopped, requestCutOff, stream } = weather.trouble;
  trouble(cache, () => random.pick(locations).disturb());
  trouble(serverKilled, () => primary.kill(random.between(1, 300)));
  trouble(serverStopped, () => primary.stop(random.between(1, 2 * weather.termMs)));
  trouble(serverDrained, () => primary.drain(random.between(0, 1_000), random.between(1, 300)));
  trouble(partition, () => primary.cut(random.below(weather.locations), random.between(100, weather.partitionMs)));
  trouble(serverClock, () => primary.setClock(random.between(-900, 900)));
  trouble(locationClock, () => random.pick(locations).setClock(random.between(-900, 900)));
  trouble(locationKilled, () => random.pick(locations).crash());
  trouble(isolateStopped, () => random.pick(locations).stop(random.between(1, 3_000)));
  trouble(requestCutOff, () => random.pick(locations).cutOff());
  trouble(stream, () => {
    const open = streams.filter(({ isOpen }) => isOpen);
    if (open.length === 0) return;
    const chosen = random.pick(open);
    if (random.chance(0.5)) chosen.break();
    else chosen.halfOpen();
  });
  trouble(weather.collectMs, () => primary.collect());
  trouble(weather.samplesMs, () =>
    primary.sample({ every: random.pick([1, 1, 3]), handlers: null, values: random.chance(0.5), perSecond: null }),
  );
  if (weather.setBack !== null) {
    const { keptMs, lostMs, isTakenOver, ...setBack } = weather.setBack;
    clock.after(weather.aloneMs + keptMs, () => {
      const backup = primary.storage.backUp();
      const from = workload.mark();
      if (isTakenOver) primary.kill(random.between(1, 20));
      clock.after(lostMs, () => {
        if (quiet) return;
        primary.setBack(backup, setBack);
        lost = { from, until: Infinity };
      });
    });
  }
  if (weather.deploys) {
    // Mostly first to the primary.
    clock.after(weather.aloneMs + random.between(0, 3_000), () => primary.deploy());
    for (const location of locations)
      clock.after(weather.aloneMs + random.between(500, 4_000), () => {
        location.module = MODULES[1];
      });
  }

  while (!workload.isOver && step(START_MS + LONGEST_MS));
  quiet = true;
  subscribers.stay();
  network.faults = { ...network.faults, drop: 0, duplicate: 0, late: 0 };
  serverFaults.storage = { ...serverFaults.storage, failure: 0, lostAnswer: 0, late: 0 };
  serverFaults.end = serverFaults.freeze = serverFaults.kill = locationFaults.end = 0;
  const endMs = clock.nowMs + QUIET_MS;
  const becomeQuiet = (): void => {
    while (!(primary.isIdle && network.underWay === 0 && workload.isOver) && step(endMs));
  };
  becomeQuiet();
  /** False: some subscriber is not shown the last state. */
  const becomesShown = (): boolean => {
    const sinceMs = clock.nowMs;
    for (let untilMs = sinceMs + LOOK_MS; untilMs <= sinceMs + SHOWN_MS; untilMs += LOOK_MS) {
      while (step(untilMs));
      if (checkLive(subscribers.all, primary.storage).areShown) return true;
    }
    return false;
  };
  if (weather.subscribers > 0) {
    // A change that is missed shows only if no other one follows it.
    for (let burst = 0; burst < BURSTS && becomesShown(); burst++) {
      workload.again(BURST.clients, BURST.operations, BURST.pauseMs);
      becomeQuiet();
    }
    becomesShown();
    subscribers.leave();
    becomeQuiet();
  }
  workload.readAll();
  becomeQuiet();

  const { storage } = primary;
  const { history } = workload;
  for (const { commitId, executionId } of storage.applied) trace.mixText(`${commitId}${executionId}`);
  for (const { name, invokedAt, answeredAt, outcome } of history) {
    trace.mixText(`${name} ${invokedAt} ${answeredAt}`);
    if (outcome?.kind === "result") trace.mixBytes(outcome.value);
    else trace.mixText(outcome?.message ?? "");
  }
  return { workload, subscribers, primary, agreement, samples, lies, trace, weather, counts, lost };
}
