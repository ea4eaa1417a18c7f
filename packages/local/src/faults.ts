/** The faults of `radical dev`: what is switched on, and what a change of it does to the links. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type LinkFaults, NO_LINK_FAULTS } from "./delay-proxy.ts";

export interface Faults {
  /** Connections to the LVI server are reset; its process lives. */
  readonly primaryDown: boolean;
  /** The locations between which and the primary nothing passes, in their order. */
  readonly partitioned: readonly string[];
  /** Followups do not arrive. */
  readonly dropFollowups: boolean;
}

const NO_FAULTS: Faults = { primaryDown: false, partitioned: [], dropFollowups: false };

/** What a request to the control server may ask for. What it does not name stays. */
export interface FaultChange {
  readonly primaryDown?: boolean;
  readonly partitioned?: readonly string[];
  readonly dropFollowups?: boolean;
  /** The locations whose caches are emptied. */
  readonly wipeCaches?: readonly string[];
  /** Kills the process of the LVI server, which is then started again. */
  readonly killServer?: boolean;
}

interface FaultyLink {
  setFaults?(faults: LinkFaults): void;
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

  set({ primaryDown, partitioned, dropFollowups }: FaultChange): Faults {
    const cut = partitioned ?? this.#faults.partitioned;
    this.#faults = {
      primaryDown: primaryDown ?? this.#faults.primaryDown,
      partitioned: [...this.#links.keys()].filter((name) => cut.includes(name)),
      dropFollowups: dropFollowups ?? this.#faults.dropFollowups,
    };
    for (const [name, link] of this.#links) {
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
        if (typeof value !== "boolean") throw wrong(`${field} must be true or false.`);
        change[field] = value;
        break;
      case "killServer":
        if (value !== true) throw wrong("killServer must be true.");
        change[field] = value;
        break;
      case "partitioned":
      case "wipeCaches": {
        const named: unknown = value === "all" ? locations : value;
        if (!Array.isArray(named) || !named.every((name) => locations.includes(name as string)))
          throw wrong(`${field} must be "all" or a list of locations, which are: ${locations.join(", ")}.`);
        change[field] = named;
        break;
      }
      default:
        throw wrong(`The field "${field}" does not exist.`);
    }
  }
  return change;
}

function wrong(message: string): CommandError {
  return new CommandError(
    "invalid_faults",
    message,
    'Send any of {"primaryDown": true, "partitioned": ["JP"], "dropFollowups": true, "wipeCaches": "all", "killServer": true}',
    { exitCode: EXIT_USAGE },
  );
}
