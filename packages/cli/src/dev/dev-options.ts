/** Options of `radical dev` as a function. */
import type { TestHooks } from "@radical/protocol";
import type { Location, Project } from "@radical/app";
import type { Address, DistanceChange, LinkFaults } from "@radical/local";
import type { DevEvent } from "./dev-events.ts";
import type { FaultsByService } from "./service-faults.ts";
import type { GivenServices } from "./service-front.ts";

/** The name of the location beside the primary that {@link DevOptions.central} adds. */
export const CENTRAL = "central";

/** A location's way to the LVI server. */
export interface Link {
  /** Where the location sends its requests. */
  readonly address: Address;
  /** Without it the link has no faults of this kind. */
  setFaults?(faults: LinkFaults): void;
  /** Without it the link stays as long as it is. */
  setDistance?(change: DistanceChange): void;
  close(): Promise<void>;
}

export interface DevOptions {
  readonly project: Project;
  readonly onEvent: (event: DevEvent) => void;
  /** Default: the config's, or the next one that is free. */
  readonly port?: number;
  readonly host?: string;
  /** Default: the config's. */
  readonly locations?: readonly Location[];
  /** Adds a location beside the primary that runs everything near storage: what an application without Radical does. */
  readonly central?: boolean;
  /** Where storage, caches, key and process ids are kept. Default: `.radical` in the project. */
  readonly stateFolder?: string;
  /** Deletes data and caches first. */
  readonly reset?: boolean;
  /** Writes the items of the project's seed file, if there is one, when there is no data yet. */
  readonly seed?: boolean;
  /** Serves builds whose types the stored data does not fit. */
  readonly acceptMisfits?: boolean;
  /** The environment of the application's wrangler configuration. Default: its top level. */
  readonly environment?: string;
  /** Variables of the application's own Worker, before those of `.dev.vars`. */
  readonly vars?: Readonly<Record<string, string>>;
  /** Whether code frames have ANSI colours. */
  readonly colours?: boolean;
  /** Calls the start off: it then throws the signal's reason. A server that serves is stopped by its own method. */
  readonly signal?: AbortSignal;
  /** Called when nothing was built for a while, and what builds has ended. */
  readonly onRest?: () => void;
  /** Rebuilds on changes. */
  readonly watch?: boolean;
  /** Default false: a rebuild is several times faster, handlers a little slower. */
  readonly optimize?: boolean;
  /** Makes a location's link. Default: a proxy that delays by the location's round trip. */
  readonly link?: (location: Location, server: () => Address) => Promise<Link>;
  /** For tests: put into the manifest that the locations run. */
  readonly testHooks?: TestHooks;
  /** Default: the LVI server's. */
  readonly followupTimeoutMs?: number;
  /** Threads of the primary that run handlers. Default: one; with `central`, as many as there are cores. */
  readonly workers?: number;
  /** Default: the config's. */
  readonly readLeaseMs?: number;
  /** Failures of services to order. Default: none. */
  readonly serviceFaults?: FaultsByService;
  /** In place of the services of the application's Worker. */
  readonly services?: GivenServices;
}
