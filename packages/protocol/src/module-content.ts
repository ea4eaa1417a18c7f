/**
 * A module: one build of an application's handlers, identified by the hash of everything that decides what an
 * execution does. The LVI server keeps every module that an open intent names and runs exactly that one.
 */
import { CborReader, CborWriter } from "./cbor.ts";
import { MalformedError } from "./malformed-error.ts";
import { ABI_VERSION, OLDEST_ABI_VERSION } from "./wire-version.ts";

/**
 * How the accesses of a handler are known before its LVI request leaves:
 *
 * - `sliced`: by its read/write-set function f^rw, derived from its source.
 * - `recorded`: by running f itself at the location, on the snapshot, while the host records what it touches.
 * - `given`: by a function that the developer wrote, compiled as its f^rw.
 * - `near-storage`: not at all. The primary runs f.
 */
export const HANDLER_PLANS = ["sliced", "recorded", "given", "near-storage"] as const;
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
  /** What one execution of a handler may compute: about the number of WebAssembly instructions. */
  readonly fuel: number;
  /** How deep calls may be nested: the bytes that their frames take, by the build's estimate. */
  readonly stackBytes: number;
  /**
   * What a run at a location may compute, and a re-execution in its place: at most `fuel`. A run that needs more stops there
   * at the same point everywhere, has no outcome, and happens near storage.
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

/** From this version of the ABI on a module names its `speculationFuel`; before, it is all of the fuel. */
const SPECULATION_FUEL_SINCE = 4;

export interface ModuleContent {
  /** Version of the ABI that it was built for. */
  readonly abi: number;
  readonly limits: Limits;
  /** By handler name. */
  readonly plans: Readonly<Record<string, HandlerPlan>>;
  /** The handlers, f. */
  readonly wasm: Uint8Array;
  /** The read/write-set functions, f^rw, of the handlers that are sliced or given. */
  readonly rwWasm: Uint8Array;
}

/** Canonical bytes of a module: what is hashed (SHA-256), and what is registered at the LVI server. */
export function encodeModuleContent(content: ModuleContent): Uint8Array {
  const writer = new CborWriter();
  const { abi, limits } = content;
  const names = Object.keys(content.plans).toSorted();
  writer
    .array(fieldsOf(abi))
    .integer(abi)
    .integer(limits.memoryPages)
    .integer(limits.accesses)
    .integer(limits.fuel)
    .integer(limits.stackBytes);
  if (abi >= SPECULATION_FUEL_SINCE) writer.integer(limits.speculationFuel);
  writer.map(names.length);
  for (const name of names) writer.text(name).text(content.plans[name]!);
  writer.bytes(content.wasm).bytes(content.rwWasm);
  return writer.finish();
}

function fieldsOf(abi: number): number {
  return abi >= SPECULATION_FUEL_SINCE ? 9 : 8;
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

/** Throws a MalformedError; an UnknownAbiError for a module of an ABI version that is not run here. */
export function decodeModuleContent(bytes: Uint8Array): ModuleContent {
  const reader = new CborReader(bytes);
  const fields = reader.array();
  const abi = reader.integerIn(0, Number.MAX_SAFE_INTEGER);
  if (abi < OLDEST_ABI_VERSION || abi > ABI_VERSION) throw new UnknownAbiError(abi);
  if (fields !== fieldsOf(abi)) throw new MalformedError("malformed module");
  const limit = (name: keyof Limits): number => reader.integerIn(1, MAX_LIMITS[name]);
  const ofAllVersions = {
    memoryPages: limit("memoryPages"),
    accesses: limit("accesses"),
    fuel: limit("fuel"),
    stackBytes: limit("stackBytes"),
  };
  const { fuel } = ofAllVersions;
  const speculationFuel = abi >= SPECULATION_FUEL_SINCE ? reader.integerIn(1, fuel) : fuel;
  const limits: Limits = { ...ofAllVersions, speculationFuel };
  const plans: [name: string, plan: HandlerPlan][] = [];
  for (let i = reader.map(); i > 0; i--) {
    const name = reader.text();
    // One form only, since the bytes are what the hash names: no handler twice, too.
    const before = plans.at(-1)?.[0];
    if (before !== undefined && name <= before) throw new MalformedError(`handler ${name} is not in order`);
    const words = reader.text();
    const plan = HANDLER_PLANS.find((candidate) => candidate === words);
    if (plan === undefined) throw new MalformedError(`unknown plan ${words}`);
    plans.push([name, plan]);
  }
  const content: ModuleContent = {
    abi,
    limits,
    plans: Object.fromEntries(plans),
    wasm: reader.bytes().slice(),
    rwWasm: reader.bytes().slice(),
  };
  reader.end();
  return content;
}
