/** The faults of `radical dev`: what is switched on, and what a change of it does to the links. */
import { MAX_LOSS_PERCENT, MAX_ROUND_TRIP_MS } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type DistanceChange, type LinkFaults, NO_LINK_FAULTS } from "./delay-proxy.ts";

export interface Faults {
  /** Connections to the LVI server are reset; its process lives. */
  readonly primaryDown: boolean;
  /** The locations between which and the primary nothing passes, in their order. */
  readonly partitioned: readonly string[];
  /** Followups do not arrive. */
  readonly dropFollowups: boolean;
  /** By location: another round trip to the primary, or loss, than it has by its configuration. */
  readonly distances: Readonly<Record<string, DistanceChange>>;
}

export const NO_FAULTS: Faults = { primaryDown: false, partitioned: [], dropFollowups: false, distances: {} };

/** A change that a request to the control server asks for. Faults that it does not name stay. */
export interface FaultChange {
  readonly primaryDown?: boolean;
  readonly partitioned?: readonly string[];
  readonly dropFollowups?: boolean;
  /** All of them: a location that is not named has its configured distance again. */
  readonly distances?: Readonly<Record<string, DistanceChange>>;
  /** The locations whose caches are emptied. */
  readonly wipeCaches?: readonly string[];
  /** Kills the process of the LVI server, which is then started again. */
  readonly killServer?: boolean;
}

interface FaultyLink {
  setFaults?(faults: LinkFaults): void;
  setDistance?(change: DistanceChange): void;
}

export class FaultSwitches {
  readonly #links: ReadonlyMap<string, FaultyLink>;
  #faults = NO_FAULTS;

  /** The links by location. */
  constructor(links: ReadonlyMap<string, FaultyLink>) {
    this.#links = links;
  }

  get faults(): Faults {
    return this.#faults;
  }

  set({ primaryDown, partitioned, dropFollowups, distances }: FaultChange): Faults {
    const cut = partitioned ?? this.#faults.partitioned;
    this.#faults = {
      primaryDown: primaryDown ?? this.#faults.primaryDown,
      partitioned: [...this.#links.keys()].filter((name) => cut.includes(name)),
      dropFollowups: dropFollowups ?? this.#faults.dropFollowups,
      distances: distances ?? this.#faults.distances,
    };
    for (const [name, link] of this.#links) {
      if (distances !== undefined) link.setDistance?.(distances[name] ?? {});
      link.setFaults?.({
        ...NO_LINK_FAULTS,
        down: this.#faults.primaryDown,
        partitioned: this.#faults.partitioned.includes(name),
        dropFollowups: this.#faults.dropFollowups,
      });
    }
    return this.#faults;
  }
}

/** `"all"`: of lists of locations. Throws a CommandError that names what is wrong. */
export function readFaultChange(json: unknown, locations: readonly string[]): FaultChange {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw wrong("The body must be a JSON object.");
  const change: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(json) as [string, unknown][]) {
    switch (field) {
      case "primaryDown":
      case "dropFollowups":
        if (typeof value !== "boolean") throw wrong(`The field ${field} must be true or false.`);
        change[field] = value;
        break;
      case "distances":
        change[field] = readDistances(value, locations);
        break;
      case "killServer":
        if (value !== true) throw wrong("The field killServer must be true.");
        change[field] = value;
        break;
      case "partitioned":
      case "wipeCaches": {
        const named: unknown = value === "all" ? locations : value;
        if (!Array.isArray(named) || !named.every((name) => locations.includes(name as string)))
          throw wrong(`The field ${field} must be "all" or a list of locations, which are: ${locations.join(", ")}.`);
        change[field] = named;
        break;
      }
      default:
        throw wrong(`The field "${field}" does not exist.`);
    }
  }
  return change;
}

const BOUNDS: Readonly<Record<string, number>> = { roundTripMs: MAX_ROUND_TRIP_MS, lossPercent: MAX_LOSS_PERCENT };

function readDistances(json: unknown, locations: readonly string[]): Readonly<Record<string, DistanceChange>> {
  const example = '{"JP": {"roundTripMs": 200, "lossPercent": 1}}';
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw wrong(`The field distances must be like ${example}.`);
  for (const [name, distance] of Object.entries(json) as [string, unknown][]) {
    if (!locations.includes(name))
      throw wrong(`The field distances names "${name}". The locations are: ${locations.join(", ")}.`);
    if (typeof distance !== "object" || distance === null) throw wrong(`The field distances must be like ${example}.`);
    for (const [part, value] of Object.entries(distance) as [string, unknown][]) {
      const most = Object.hasOwn(BOUNDS, part) ? BOUNDS[part] : undefined;
      if (most === undefined) throw wrong(`A distance has roundTripMs and lossPercent, and no "${part}".`);
      if (typeof value !== "number" || !(value >= 0 && value <= most))
        throw wrong(`The field ${part} of ${name} must be a number from 0 to ${most}.`);
    }
  }
  return json as Readonly<Record<string, DistanceChange>>;
}

function wrong(message: string): CommandError {
  return new CommandError(
    "invalid_faults",
    message,
    'Send any of {"primaryDown": true, "partitioned": ["JP"], "dropFollowups": true, "distances": {"JP": {"roundTripMs": 200}}, "wipeCaches": "all", "killServer": true}',
    { exitCode: EXIT_USAGE },
  );
}
