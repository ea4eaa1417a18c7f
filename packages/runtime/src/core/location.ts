/**
 * A location: one machine for each isolate. It holds what executions share: the link to the primary, what was learned, and who
 * listens. It makes the executions, and each of these is a machine of its own. A synchronous function of its events, like them.
 */
import type { UnitId } from "@radical/protocol";
import type { LocationEffect, LocationEvent } from "./effects.ts";
import { DEFAULT_BOUNDS, Execution, type ExecutionBounds, type ExecutionInput } from "./execution.ts";
import { Experience } from "./experience.ts";
import { DEFAULT_LISTENING_BOUNDS, Listening, type ListeningBounds } from "./listening.ts";
import { DEFAULT_LIVE_BOUNDS, type LiveBounds, LiveQueries } from "./live-queries.ts";
import { PrimaryLink } from "./primary-link.ts";
import type { KnownRows } from "./span-look.ts";

export interface LocationOptions {
  /** How many servers the primary has. */
  readonly servers: number;
  /** The name of the isolate among those that listen to the primary. */
  readonly listener: string;
  /** The rows that the isolate's memory has of spans. */
  readonly known?: KnownRows;
  readonly bounds?: ExecutionBounds;
  readonly listening?: Partial<ListeningBounds>;
  readonly live?: Partial<LiveBounds>;
}

export class LocationCore {
  /** One for each primary: today there is one. */
  readonly #primaries: readonly [PrimaryLink];
  readonly #bounds: ExecutionBounds;
  readonly #experience = new Experience();
  readonly #listening: Listening;
  readonly #live: LiveQueries;

  constructor({ servers, listener, known, bounds = DEFAULT_BOUNDS, listening, live }: LocationOptions) {
    const primary = new PrimaryLink(servers, known);
    this.#primaries = [primary];
    this.#bounds = bounds;
    this.#live = new LiveQueries({ ...DEFAULT_LIVE_BOUNDS, ...live });
    this.#listening = new Listening(primary, listener, this.#live, { ...DEFAULT_LISTENING_BOUNDS, ...listening });
  }

  /** The knowledge of the primary, for questions that are not executions. */
  get primary(): PrimaryLink {
    return this.#primaries[0];
  }

  execution(input: ExecutionInput): Execution {
    return new Execution(input, this.#bounds, this.#experience, this.#primaries[0]);
  }

  /** Whether a read lease of the item, or of a range around it, counts now. For people: executions look at all their units at once. */
  isLeased(item: UnitId, atMs: number): boolean {
    return this.#primaries[0].leases.covers(item, atMs);
  }

  step(event: LocationEvent): readonly LocationEffect[] {
    switch (event.kind) {
      case "free":
        return this.#listened(this.#listening.onFree(event), event.atMs);
      case "told":
        return this.#listened(this.#listening.onTold(event), event.atMs);
      case "listened":
        return this.#listened(this.#listening.onListened(event), event.atMs);
      case "heard":
        return this.#listened(this.#listening.onHeard(event), event.atMs);
      case "woken":
        return this.#listened(this.#listening.onWoken(event), event.atMs);
      default:
        return this.#live.step(event);
    }
  }

  /** Live queries learn of a session that has ended or begun. */
  #listened(effects: readonly LocationEffect[], atMs: number): readonly LocationEffect[] {
    this.#live.inSession(this.#primaries[0].leases.session, this.#listening.provenAtMs, atMs);
    const live = this.#live.take();
    return live.length === 0 ? effects : [...effects, ...live];
  }
}
