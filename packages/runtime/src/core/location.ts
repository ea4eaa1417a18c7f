/**
 * A location: one machine for each isolate. It holds what executions share: the link to the primary, what was learned, and who
 * listens. It makes the executions, and each of these is a machine of its own. A synchronous function of its events, like them.
 */
import type { LocationEffect, LocationEvent } from "./effects.ts";
import { DEFAULT_BOUNDS, Execution, type ExecutionBounds, type ExecutionInput } from "./execution.ts";
import { Experience } from "./experience.ts";
import { DEFAULT_LISTENING_BOUNDS, Listening, type ListeningBounds } from "./listening.ts";
import { PrimaryLink } from "./primary-link.ts";

export interface LocationOptions {
  /** How many servers the primary has. */
  readonly servers: number;
  /** The name of the isolate among those that listen to the primary. */
  readonly listener: string;
  readonly bounds?: ExecutionBounds;
  readonly listening?: Partial<ListeningBounds>;
}

export class LocationCore {
  /** One for each primary: today there is one. */
  readonly #primaries: readonly [PrimaryLink];
  readonly #bounds: ExecutionBounds;
  readonly #experience = new Experience();
  readonly #listening: Listening;

  constructor({ servers, listener, bounds = DEFAULT_BOUNDS, listening }: LocationOptions) {
    this.#primaries = [new PrimaryLink(servers)];
    this.#bounds = bounds;
    this.#listening = new Listening(this.#primaries[0], listener, { ...DEFAULT_LISTENING_BOUNDS, ...listening });
  }

  execution(input: ExecutionInput): Execution {
    return new Execution(input, this.#bounds, this.#experience, this.#primaries[0]);
  }

  step(event: LocationEvent): readonly LocationEffect[] {
    switch (event.kind) {
      case "free":
        return this.#listening.onFree(event);
      case "told":
        return this.#listening.onTold(event);
      case "listened":
        return this.#listening.onListened(event);
      case "heard":
        return this.#listening.onHeard(event);
      case "woken":
        return this.#listening.onWoken(event);
    }
  }
}
