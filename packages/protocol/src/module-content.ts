/**
 * A module: one build of an application's handlers, identified by the hash of everything that decides what an
 * execution does. The LVI server keeps every module that an open intent names and runs exactly that one.
 */
import { CborReader, CborWriter } from "./cbor.ts";
import { ABI_VERSION } from "./host-functions.ts";
import { MalformedError } from "./malformed-error.ts";

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
}

/** Most of each that a module may have. */
export const MAX_LIMITS: Limits = { memoryPages: 65_536, accesses: 1_000_000, fuel: 1e12, stackBytes: 384 * 1024 };

export const DEFAULT_LIMITS: Limits = {
  memoryPages: 1024,
  accesses: 10_000,
  fuel: 50_000_000_000,
  stackBytes: MAX_LIMITS.stackBytes,
};

export interface ModuleContent {
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
  const names = Object.keys(content.plans).toSorted();
  writer
    .array(8)
    .integer(ABI_VERSION)
    .integer(content.limits.memoryPages)
    .integer(content.limits.accesses)
    .integer(content.limits.fuel)
    .integer(content.limits.stackBytes)
    .map(names.length);
  for (const name of names) writer.text(name).text(content.plans[name]!);
  writer.bytes(content.wasm).bytes(content.rwWasm);
  return writer.finish();
}

/** Throws a MalformedError, also for a module of another ABI version. */
export function decodeModuleContent(bytes: Uint8Array): ModuleContent {
  const reader = new CborReader(bytes);
  if (reader.array() !== 8) throw new MalformedError("malformed module");
  const abi = reader.integer();
  if (abi !== ABI_VERSION) throw new MalformedError(`module of ABI version ${abi}, this is ${ABI_VERSION}`);
  const limit = (name: keyof Limits): number => reader.integerIn(1, MAX_LIMITS[name]);
  const limits = {
    memoryPages: limit("memoryPages"),
    accesses: limit("accesses"),
    fuel: limit("fuel"),
    stackBytes: limit("stackBytes"),
  };
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
  const content = {
    limits,
    plans: Object.fromEntries(plans),
    wasm: reader.bytes().slice(),
    rwWasm: reader.bytes().slice(),
  };
  reader.end();
  return content;
}
