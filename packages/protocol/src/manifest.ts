/**
 * The manifest: what `radical build` writes beside the two WebAssembly files and a location's Worker is made with.
 */
import type { CacheChoice } from "./cache-choice.ts";
import type { ModuleHash } from "./ids.ts";
import type { HandlerPlan, Limits } from "./module-content.ts";
import type { ServiceRules } from "./services.ts";
import type { TaskRules } from "./task-rules.ts";
import type { NamedTypes, Parameter, RecordTypes, ValueType } from "./value-type.ts";

export interface HandlerManifest {
  readonly parameters: readonly Parameter[];
  /** Null: the handler returns nothing. */
  readonly result: ValueType | null;
  readonly plan: HandlerPlan;
  /** No path of the handler writes, or asks for a task. */
  readonly readOnly: boolean;
  /** A path of the handler may ask for a task. */
  readonly mayEffect?: true;
  /** The handler has no route: it is for tasks, schedules, tests and the application's own Worker. */
  readonly internal?: true;
  /** The rules of its tasks; left out: all are the default. */
  readonly tasks?: TaskRules;
  /** The handler has the tag `@speculative`: clients may see a result of it before its confirmation. */
  readonly speculative?: true;
  /** The words of the handler's doc comment, in Markdown. */
  readonly description?: string;
  /** The codes with which the handler may abort; left out if not all of them are known. */
  readonly abortCodes?: readonly string[];
  /** Where the handler is declared, relative to the project. */
  readonly file: string;
  readonly line: number;
}

/** Whether the handler can be called with GET: it only reads, and no secret of it would stand in a URL. */
export function takesGet({ readOnly, parameters }: Pick<HandlerManifest, "readOnly" | "parameters">): boolean {
  return readOnly && !parameters.some(({ secret }) => secret === true);
}

/** A service, which the application's Worker has. */
export interface ServiceManifest extends ServiceRules {
  readonly parameters: readonly Parameter[];
  /** Null: the service returns nothing. */
  readonly result: ValueType | null;
  /** The words of its doc comment, in Markdown. */
  readonly description?: string;
  /** Where the service is declared, relative to the project. */
  readonly file: string;
  readonly line: number;
}

/** The manifest with the handlers that have a route. */
export function withRoutes(manifest: Manifest): Manifest {
  const routed = Object.entries(manifest.handlers).filter(([, { internal }]) => internal !== true);
  return { ...manifest, handlers: Object.fromEntries(routed) };
}

export interface Manifest {
  readonly format: 1;
  /** Name of the application: cache entries are bound to it. */
  readonly application: string;
  readonly module: ModuleHash;
  readonly limits: Limits;
  readonly cache: CacheChoice;
  readonly handlers: Readonly<Record<string, HandlerManifest>>;
  /** By name; left out: none. */
  readonly services?: Readonly<Record<string, ServiceManifest>>;
  readonly records: RecordTypes;
  /** Those that handlers take and return. */
  readonly named?: NamedTypes;
  /** Record type by table name. */
  readonly tables: Readonly<Record<string, ValueType>>;
  readonly testHooks?: TestHooks;
}

/** For tests only: makes a location wrong on purpose. `radical build` never writes it. */
export interface TestHooks {
  /** Tables whose units are left out of every read/write set that the location derives. */
  readonly undeclaredTables?: readonly string[];
  /** Handlers without a route have one. */
  readonly routesInternal?: true;
  /** Where an isolate stops for good, the n-th time that it is reached. */
  readonly failpoint?: { readonly name: string; readonly time: number };
}
