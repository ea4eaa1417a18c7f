/**
 * Modules as the host runs them.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import {
  abiOfImports,
  ASSEMBLYSCRIPT_ABORT,
  encodeModuleContent,
  HOST_FUNCTIONS,
  HOST_NAMESPACE,
  METER_EXPORTS,
  type Limits,
  hasReadWriteSetFunction,
  leastAbi,
  type ModuleContent,
  type ModuleHash,
  type ModuleNeeds,
} from "@radical/protocol";
import type { Pace } from "./pace.ts";
import { compileWasm, type CompiledModule, exportsOf, importsOf } from "./web-assembly.ts";

/** One build of an application's handlers, compiled. */
export interface HandlerModule {
  readonly hash: ModuleHash;
  /** The handlers: a `WebAssembly.Module`. */
  readonly f: CompiledModule;
  /** The read/write-set functions: a `WebAssembly.Module`. */
  readonly rw: CompiledModule;
  readonly limits: Limits;
  /** Only benchmarks have one. */
  readonly pace?: Pace | undefined;
}

/** SHA-256 over everything that decides what an execution does. */
export function moduleHash(content: ModuleContent): ModuleHash {
  return bytesToHex(sha256(encodeModuleContent(content))) as ModuleHash;
}

/** Compiles a module from its bytes. Throws the engine's error for bytes that are not valid WebAssembly. */
export function compileModule(content: ModuleContent): HandlerModule {
  return {
    hash: moduleHash(content),
    f: compileWasm(content.wasm),
    rw: compileWasm(content.rwWasm),
    limits: content.limits,
  };
}

/** The version of the ABI that a module of these programs states. */
export function abiOf(programs: readonly Uint8Array[], needs: ModuleNeeds = {}): number {
  return leastAbi(
    programs.flatMap((program) => importsOf(compileWasm(program)).map(({ name }) => name)),
    needs,
  );
}

/**
 * Why a module can't be run although it is valid WebAssembly; null: it can. It may import what the host or the stated
 * version of the ABI does not have, or lack a handler, memory or counter.
 */
export function faultOf(
  { f, rw }: Pick<HandlerModule, "f" | "rw">,
  { abi, handlers }: Pick<ModuleContent, "abi" | "handlers">,
): string | null {
  const names = Object.keys(handlers);
  return (
    faultOfProgram("the handlers", f, abi, names) ??
    faultOfProgram(
      "the read/write-set functions",
      rw,
      abi,
      names.filter((name) => hasReadWriteSetFunction(handlers[name]!.plan)),
    )
  );
}

function faultOfProgram(
  noun: string,
  program: CompiledModule,
  abi: number,
  functions: readonly string[],
): string | null {
  for (const { module, name, kind } of importsOf(program)) {
    const known =
      module === HOST_NAMESPACE
        ? Object.hasOwn(HOST_FUNCTIONS, name)
        : module === ASSEMBLYSCRIPT_ABORT.module && name === ASSEMBLYSCRIPT_ABORT.name;
    if (!known || kind !== "function") return `${noun} import ${kind} ${module}.${name}, which the host does not have`;
    const since = abiOfImports([name]);
    if (since > abi) return `${noun} import ${module}.${name}, which ABI version ${abi} does not have`;
  }
  const exports = new Map(exportsOf(program).map(({ name, kind }) => [name, kind]));
  const missing = functions.find((name) => exports.get(name) !== "function");
  if (missing !== undefined) return `${noun} lack the function ${missing}`;
  if (functions.length === 0) return null;
  if (Object.values(METER_EXPORTS).some((name) => exports.get(name) !== "function")) return `${noun} are not metered`;
  return exports.get("memory") === "memory" ? null : `${noun} export no memory`;
}
