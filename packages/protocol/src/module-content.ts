/**
 * A module: one build of an application's handlers, identified by the hash of everything that decides what an
 * execution does. The LVI server keeps every module that an open intent names and runs exactly that one.
 */
import { CborReader, CborWriter } from "./cbor.ts";
import { abiOfImports } from "./host-functions.ts";
import { isIndexName } from "./index-entry.ts";
import { MalformedError } from "./malformed-error.ts";
import type { SecretNames } from "./secret.ts";
import { readServiceRules, type ServiceRules, writeServiceRules } from "./services.ts";
import { readTableRules, type RulesByTable, writeTableRules } from "./table-rules.ts";
import { readTaskRules, type TaskRules, writeTaskRules } from "./task-rules.ts";
import { ABI_VERSION, OLDEST_ABI_VERSION } from "./wire-version.ts";

/**
 * How the accesses of a handler are known before its LVI request leaves:
 *
 * - `sliced`: by its read/write-set function f^rw, derived from its source.
 * - `recorded`: by running f itself at the location, on the snapshot, while the host records what it touches.
 * - `given`: by a function that the developer wrote, compiled as its f^rw.
 * - `near-storage`: not at all. The primary runs f.
 * - `workflow`: it has none. The primary keeps its journal, and runs it (`workflows.ts`).
 */
export const HANDLER_PLANS = ["sliced", "recorded", "given", "near-storage", "workflow"] as const;
export type HandlerPlan = (typeof HANDLER_PLANS)[number];

/** Whether a handler of that plan has a function in the program of read/write-set functions. */
export function hasReadWriteSetFunction(plan: HandlerPlan): boolean {
  return plan === "sliced" || plan === "given";
}

/** Bounds that an execution meets at the same point everywhere. */
export interface Limits {
  /** Maximum of a handler instance's memory, in pages of 64 KiB. */
  readonly memoryPages: number;
  /** Most items that one execution may access. */
  readonly accesses: number;
  /** The fuel of one execution of a handler: about the number of WebAssembly instructions. */
  readonly fuel: number;
  /** How deep calls may be nested: the bytes that their frames take, by the build's estimate. */
  readonly stackBytes: number;
  /**
   * The fuel of a run at a location, and of a re-execution in its place: at most `fuel`. A run that needs more stops at the
   * same point everywhere, has no outcome, and happens near storage.
   */
  readonly speculationFuel: number;
}

/** Most of each that a module may have. */
export const MAX_LIMITS: Limits = {
  memoryPages: 65_536,
  accesses: 1_000_000,
  fuel: 1e12,
  stackBytes: 384 * 1024,
  speculationFuel: 1e12,
};

export const DEFAULT_LIMITS: Limits = {
  memoryPages: 1024,
  accesses: 10_000,
  fuel: 50_000_000_000,
  stackBytes: MAX_LIMITS.stackBytes,
  // As a rule less than a tenth of a second, about a round trip to a primary that is far. Where each access waits for memory
  // it is a second, in which a location serves nobody else.
  speculationFuel: 2_000_000_000,
};

/** The default limits with other fuel. */
export function limitsWithFuel(fuel: number): Limits {
  return { ...DEFAULT_LIMITS, fuel, speculationFuel: Math.min(fuel, DEFAULT_LIMITS.speculationFuel) };
}

/** A module names its `speculationFuel` from this version of the ABI on; before, it is all of the fuel. */
const SPECULATION_FUEL_SINCE = 4;

/** A module consists of named sections from this version of the ABI on. */
const SECTIONS_SINCE = 5;

/** A module may have the section `indexes` from this version of the ABI on. */
const INDEXES_SINCE = 8;

/** A primary knows the tables of blobs, and keeps their entries, from this version of the ABI on. */
const BLOBS_SINCE = 10;

/** A module may have the sections `services` and `tasks`, and workflows, from this version of the ABI on. */
const TASKS_SINCE = 11;

/** A module may have the section `secrets` from this version of the ABI on. */
const SECRETS_SINCE = 11;

/** A module may have the section `tables` from this version of the ABI on. */
const TABLES_SINCE = 11;

/** The tables that a handler can read and write, by name, in the order of their keys; a run may touch fewer. */
export interface HandlerTables {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

export interface HandlerContent {
  readonly plan: HandlerPlan;
  /** Null: any table. The build does not know them, or the module is older than its sections. */
  readonly tables: HandlerTables | null;
}

export interface ModuleContent {
  /** The least version of the ABI that has what the module needs; see `leastAbi`. */
  readonly abi: number;
  readonly limits: Limits;
  /** By handler name. */
  readonly handlers: Readonly<Record<string, HandlerContent>>;
  /** The names of the indexes that the handlers keep, in the order of their keys; left out: none. */
  readonly indexes?: readonly string[];
  /** The services that the application's Worker has, by name; left out: none. */
  readonly services?: Readonly<Record<string, ServiceRules>>;
  /** The rules of tasks, by name of the handlers and services that state some; left out: none does. */
  readonly tasks?: Readonly<Record<string, TaskRules>>;
  /** The parameters that are secrets, by name of the handlers and services that have some; left out: none has. */
  readonly secrets?: SecretNames;
  /** The rules of tables that have some; left out: none has. */
  readonly tables?: RulesByTable;
  /** The handlers, f. */
  readonly wasm: Uint8Array;
  /** The read/write-set functions, f^rw, of the handlers that are sliced or given. */
  readonly rwWasm: Uint8Array;
}

/** The plan of each handler, by name. */
export function plansOf({ handlers }: Pick<ModuleContent, "handlers">): Readonly<Record<string, HandlerPlan>> {
  return Object.fromEntries(Object.entries(handlers).map(([name, { plan }]) => [name, plan]));
}

/** The tables that handlers can access, by name; a handler that is left out may access any. */
export function tablesOf({ handlers }: Pick<ModuleContent, "handlers">): ReadonlyMap<string, HandlerTables> {
  return new Map(Object.entries(handlers).flatMap(([name, { tables }]) => (tables === null ? [] : [[name, tables]])));
}

/** Handlers by their plans alone: each may touch any table. */
export function handlersWith(plans: Readonly<Record<string, HandlerPlan>>): ModuleContent["handlers"] {
  return Object.fromEntries(Object.entries(plans).map(([name, plan]) => [name, { plan, tables: null }]));
}

/** The needs of a module besides the host functions that its programs import. */
export interface ModuleNeeds {
  /** It keeps indexes. */
  readonly indexes?: boolean;
  /** Its records have Blobs. */
  readonly blobs?: boolean;
  /** It has services. */
  readonly services?: boolean;
  /** It states rules of tasks, or has workflows. */
  readonly tasks?: boolean;
  /** It has parameters that are secrets. */
  readonly secrets?: boolean;
  /** It states rules of tables. */
  readonly tables?: boolean;
}

/** The version of the ABI that a module built now states. `imports`: the host functions that its programs import. */
export function leastAbi(
  imports: Iterable<string>,
  {
    indexes = false,
    blobs = false,
    services = false,
    tasks = false,
    secrets = false,
    tables = false,
  }: ModuleNeeds = {},
): number {
  return Math.max(
    SECTIONS_SINCE,
    indexes ? INDEXES_SINCE : 0,
    blobs ? BLOBS_SINCE : 0,
    services || tasks ? TASKS_SINCE : 0,
    secrets ? SECRETS_SINCE : 0,
    tables ? TABLES_SINCE : 0,
    abiOfImports(imports),
  );
}

/**
 * Canonical bytes of a module: the bytes that its hash (SHA-256) is taken of, and that are registered at the LVI server.
 *
 * From ABI version 5 on: `[ABI, sections, f, f^rw]`. The sections are a map in order of their names:
 *
 * - `handlers`: a map in order of the names, of `[plan, tables read, tables written]`; both null: any table.
 * - `indexes`: their names in order, at least one. A module without indexes lacks the section.
 * - `limits`: `[memory pages, accesses, fuel, stack bytes, speculation fuel]`.
 * - `secrets`: a map in order of the names of handlers and services, of the names of their parameters that are secrets, in order.
 *   A module without secrets lacks the section.
 * - `services`: a map in order of the names, of `[key window in ms, once]` (`services.ts`). A module without lacks the section.
 * - `tables`: a map in order of the names of tables, of `[private, audited]` (`table-rules.ts`). A module without such rules lacks
 *   the section.
 * - `tasks`: a map in order of the names of handlers and services, of `[attempts, limit, schedule]` (`task-rules.ts`). A module
 *   that states no such rule lacks the section.
 *
 * A release refuses a section that it does not know, since a handler may depend on it.
 */
export function encodeModuleContent(content: ModuleContent): Uint8Array {
  return content.abi >= SECTIONS_SINCE ? encodeSections(content) : encodeFields(content);
}

/** Throws a MalformedError; an UnknownAbiError for a module of an ABI version that is not run here. */
export function decodeModuleContent(bytes: Uint8Array): ModuleContent {
  const reader = new CborReader(bytes);
  const fields = reader.array();
  const abi = reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  if (abi < OLDEST_ABI_VERSION || abi > ABI_VERSION) throw new UnknownAbiError(abi);
  if (fields !== fieldsOf(abi)) throw new MalformedError("malformed module");
  const content = { abi, ...(abi >= SECTIONS_SINCE ? readSections(reader, abi) : readFields(reader, abi)) };
  const decoded = { ...content, wasm: reader.bytes().slice(), rwWasm: reader.bytes().slice() };
  reader.end();
  return decoded;
}

function fieldsOf(abi: number): number {
  return abi >= SECTIONS_SINCE ? 4 : abi >= SPECULATION_FUEL_SINCE ? 9 : 8;
}

type Described = Pick<ModuleContent, "limits" | "handlers" | "indexes" | "secrets" | "services" | "tables" | "tasks">;

function encodeSections(content: ModuleContent): Uint8Array {
  const { abi, limits, handlers, wasm, rwWasm } = content;
  const { indexes = [], secrets = {}, services = {}, tables: rules = {}, tasks = {} } = content;
  const withSecrets = Object.keys(secrets).toSorted();
  const called = Object.keys(services).toSorted();
  const ruled = Object.keys(rules).toSorted();
  const withRules = Object.keys(tasks).toSorted();
  const more = [indexes, withSecrets, called, ruled, withRules].filter(({ length }) => length > 0);
  const writer = new CborWriter()
    .array(fieldsOf(abi))
    .integer(abi)
    .map(SECTIONS.length + more.length);
  const names = Object.keys(handlers).toSorted();
  writer.text("handlers").map(names.length);
  for (const name of names) {
    const { plan, tables } = handlers[name]!;
    writer.text(name).array(3).text(plan);
    writeNames(writer, tables?.reads ?? null);
    writeNames(writer, tables?.writes ?? null);
  }
  if (indexes.length > 0) writeNames(writer.text("indexes"), indexes);
  writer.text("limits").array(5);
  writeLimits(writer, limits).integer(limits.speculationFuel);
  if (withSecrets.length > 0) writer.text("secrets").map(withSecrets.length);
  for (const name of withSecrets) writeNames(writer.text(name), secrets[name]!.toSorted());
  if (called.length > 0) writer.text("services").map(called.length);
  for (const name of called) writeServiceRules(writer.text(name), services[name]!);
  if (ruled.length > 0) writer.text("tables").map(ruled.length);
  for (const name of ruled) writeTableRules(writer.text(name), rules[name]!);
  if (withRules.length > 0) writer.text("tasks").map(withRules.length);
  for (const name of withRules) writeTaskRules(writer.text(name), tasks[name]!);
  return writer.bytes(wasm).bytes(rwWasm).finish();
}

/** Those that each module has, in their order in the map. */
const SECTIONS = ["handlers", "limits"] as const;

function readSections(reader: CborReader, abi: number): Described {
  const count = reader.map();
  const names: string[] = [];
  let handlers: Described["handlers"] = {};
  let limits = DEFAULT_LIMITS;
  const more: {
    -readonly [Name in "indexes" | "secrets" | "services" | "tables" | "tasks"]?: NonNullable<ModuleContent[Name]>;
  } = {};
  for (let left = count; left > 0; left--) {
    const name = nextName(reader, names, "section");
    if (name === "handlers") handlers = readHandlers(reader, abi);
    else if (name === "indexes" && abi >= INDEXES_SINCE) more.indexes = readIndexes(reader);
    else if (name === "limits") limits = readLimits(reader, reader.array(), 5);
    else if (name === "secrets" && abi >= SECRETS_SINCE) more.secrets = readRules(reader, name, readSecretNames);
    else if (name === "services" && abi >= TASKS_SINCE) more.services = readRules(reader, name, readServiceRules);
    else if (name === "tables" && abi >= TABLES_SINCE) more.tables = readRules(reader, name, readTableRules);
    else if (name === "tasks" && abi >= TASKS_SINCE) more.tasks = readRules(reader, name, readTaskRules);
    else throw new UnknownSectionError(name);
  }
  const missing = SECTIONS.find((section) => !names.includes(section));
  if (missing !== undefined) throw new MalformedError(`the module has no section ${missing}`);
  const { secrets = {}, services = {}, tasks = {} } = more;
  const shared = Object.keys(services).find((name) => Object.hasOwn(handlers, name));
  if (shared !== undefined) throw new MalformedError(`${shared} is a handler and a service`);
  const unknown = (section: object): string | undefined =>
    Object.keys(section).find((name) => !Object.hasOwn(handlers, name) && !Object.hasOwn(services, name));
  const [withRules, withSecrets] = [unknown(tasks), unknown(secrets)];
  if (withRules !== undefined) throw new MalformedError(`rules of tasks for ${withRules}, which is not a handler`);
  if (withSecrets !== undefined) throw new MalformedError(`secrets of ${withSecrets}, which is not a handler`);
  return { handlers, limits, ...more };
}

/** A section with rules by name. */
function readRules<Rules>(
  reader: CborReader,
  section: string,
  read: (reader: CborReader, name: string) => Rules,
): Readonly<Record<string, Rules>> {
  const names: string[] = [];
  const rules: [name: string, rules: Rules][] = [];
  for (let left = reader.map(); left > 0; left--) {
    const name = nextName(reader, names, "name");
    rules.push([name, read(reader, name)]);
  }
  if (names.length === 0) throw new MalformedError(`the section ${section} is empty`);
  return Object.fromEntries(rules);
}

function readSecretNames(reader: CborReader): readonly string[] {
  const names: string[] = [];
  for (let left = reader.array(); left > 0; left--) nextName(reader, names, "parameter");
  if (names.length === 0) throw new MalformedError("a handler without secrets is among those with secrets");
  return names;
}

function readIndexes(reader: CborReader): readonly string[] {
  const names: string[] = [];
  for (let left = reader.array(); left > 0; left--)
    if (!isIndexName(nextName(reader, names, "index"))) throw new MalformedError("malformed name of an index");
  if (names.length === 0) throw new MalformedError("the section indexes is empty");
  return names;
}

function readHandlers(reader: CborReader, abi: number): Described["handlers"] {
  const names: string[] = [];
  const handlers: [name: string, handler: HandlerContent][] = [];
  for (let left = reader.map(); left > 0; left--) {
    const name = nextName(reader, names, "handler");
    if (reader.array() !== 3) throw new MalformedError(`handler ${name} is malformed`);
    const plan = readPlan(reader, abi);
    const [reads, writes] = [readNames(reader), readNames(reader)];
    if ((reads === null) !== (writes === null)) throw new MalformedError(`handler ${name} names half of its tables`);
    handlers.push([name, { plan, tables: reads === null || writes === null ? null : { reads, writes } }]);
  }
  return Object.fromEntries(handlers);
}

function writeNames(writer: CborWriter, names: readonly string[] | null): void {
  if (names === null) return void writer.null();
  writer.array(names.length);
  for (const name of names) writer.text(name);
}

function readNames(reader: CborReader): readonly string[] | null {
  if (reader.nullIfNext()) return null;
  const names: string[] = [];
  for (let left = reader.array(); left > 0; left--) nextName(reader, names, "table");
  return names;
}

/** One form only, since the hash names the bytes: names ascend, and none comes twice. */
function nextName(reader: CborReader, before: string[], noun: string): string {
  const name = reader.text();
  const last = before.at(-1);
  if (last !== undefined && name <= last) throw new MalformedError(`${noun} ${name} is not in order`);
  before.push(name);
  return name;
}

function readPlan(reader: CborReader, abi: number): HandlerPlan {
  const words = reader.text();
  const plan = HANDLER_PLANS.find((candidate) => candidate === words);
  if (plan === undefined || (plan === "workflow" && abi < TASKS_SINCE))
    throw new MalformedError(`unknown plan ${words}`);
  return plan;
}

function writeLimits(writer: CborWriter, limits: Limits): CborWriter {
  return writer.integer(limits.memoryPages).integer(limits.accesses).integer(limits.fuel).integer(limits.stackBytes);
}

function readLimits(reader: CborReader, fields: number, expected: 4 | 5): Limits {
  if (fields !== expected) throw new MalformedError("the limits are malformed");
  const limit = (name: keyof Limits): number => reader.integerIn(1, MAX_LIMITS[name]);
  const ofAllVersions = {
    memoryPages: limit("memoryPages"),
    accesses: limit("accesses"),
    fuel: limit("fuel"),
    stackBytes: limit("stackBytes"),
  };
  const { fuel } = ofAllVersions;
  return { ...ofAllVersions, speculationFuel: expected === 5 ? reader.integerIn(1, fuel) : fuel };
}

/** A module of ABI version 3 or 4: its fields stand in one array, and it names no tables. */
function encodeFields({ abi, limits, handlers, wasm, rwWasm }: ModuleContent): Uint8Array {
  const writer = new CborWriter().array(fieldsOf(abi)).integer(abi);
  writeLimits(writer, limits);
  if (abi >= SPECULATION_FUEL_SINCE) writer.integer(limits.speculationFuel);
  const names = Object.keys(handlers).toSorted();
  writer.map(names.length);
  for (const name of names) writer.text(name).text(handlers[name]!.plan);
  return writer.bytes(wasm).bytes(rwWasm).finish();
}

function readFields(reader: CborReader, abi: number): Described {
  const expected = abi >= SPECULATION_FUEL_SINCE ? 5 : 4;
  const limits = readLimits(reader, expected, expected);
  const names: string[] = [];
  const handlers: [name: string, handler: HandlerContent][] = [];
  for (let left = reader.map(); left > 0; left--) {
    const name = nextName(reader, names, "handler");
    handlers.push([name, { plan: readPlan(reader, abi), tables: null }]);
  }
  return { limits, handlers: Object.fromEntries(handlers) };
}

/** A module of an ABI version that this release does not run. */
export class UnknownAbiError extends MalformedError {
  readonly hint: string;

  constructor(abi: number) {
    super(
      `the module has ABI version ${abi}, and this release of Radical runs ${OLDEST_ABI_VERSION} to ${ABI_VERSION}`,
    );
    this.hint =
      abi > ABI_VERSION
        ? "a newer release has built it: upgrade this one, the primary before its locations"
        : "an older release has built it: build the handlers again with this one";
  }
}

/** A module with a section that this release does not know. */
export class UnknownSectionError extends MalformedError {
  readonly hint = "a newer release has built it: upgrade this one, the primary before its locations";

  constructor(name: string) {
    super(`the module has a section "${name}", which this release of Radical does not know`);
  }
}
