/** The parts that the requests of an isolate share, put together at the first one. */
import type { Manifest } from "@radical/protocol";
import { type LocationCache, openCache } from "./cache/open-cache.ts";
import { NO_PLACE, type Place } from "./cache/place.ts";
import { LocationCore } from "./core/location.ts";
import { ArmedFailpoint } from "./failpoints.ts";
import { LiveStreams } from "./live-stream.ts";
import { LocationSpans } from "./location-spans.ts";
import { Primary } from "./lvi/primary.ts";
import { type Env, type Settings, readSettings } from "./settings.ts";
import { SpeculationLane } from "./speculation-lane.ts";

/** None of it belongs to a request. */
export interface Isolate {
  readonly settings: Settings;
  readonly core: LocationCore;
  readonly cache: LocationCache;
  /** Whether there is a cache to keep fresh. */
  readonly caches: boolean;
  readonly primary: Primary;
  readonly lane: SpeculationLane;
  /** Of live queries. */
  readonly streams: LiveStreams;
  /** Of the last request that had one: for calls that no request is known of. */
  place: Place;
  /** The time that handlers are told. */
  readonly now: () => number;
  /** Counts executions, of which some tell their lives. */
  lives: number;
  /** Null: executions have no spans. */
  readonly spans: LocationSpans | null;
  /** For crash tests. */
  readonly failpoint: ArmedFailpoint | null;
}

/** `aheadMs`: by so much its handlers' time is ahead. */
export function openIsolate(
  { application, cache, testHooks }: Manifest,
  env: Env,
  aheadMs: () => number = () => 0,
): Isolate {
  const settings = readSettings(env);
  const { ways, key, bounds, live, location, nearStorageOnly } = settings;
  const opened = openCache(cache, application, env);
  const known = opened.memory.directories;
  return {
    settings,
    core: new LocationCore({ servers: ways.length, listener: crypto.randomUUID(), known, bounds, live }),
    cache: opened,
    caches: !nearStorageOnly && cache.memoryBytes > 0,
    primary: new Primary(ways, key),
    lane: new SpeculationLane(),
    streams: new LiveStreams(),
    place: location === null ? NO_PLACE : { location, hint: null },
    now: () => Date.now() + aheadMs(),
    lives: 0,
    spans: settings.otlp === null ? null : new LocationSpans(settings.otlp, application),
    failpoint: testHooks?.failpoint === undefined ? null : new ArmedFailpoint(testHooks.failpoint),
  };
}
