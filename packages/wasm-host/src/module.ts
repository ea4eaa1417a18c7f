/**
 * Modules as the host runs them.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { encodeModuleContent, type Limits, type ModuleContent, type ModuleHash } from "@radical/protocol";
import { compileWasm, type CompiledModule } from "./web-assembly.ts";

/** One build of an application's handlers, compiled. */
export interface HandlerModule {
  readonly hash: ModuleHash;
  /** The handlers: a `WebAssembly.Module`. */
  readonly f: CompiledModule;
  /** The read/write-set functions: a `WebAssembly.Module`. */
  readonly rw: CompiledModule;
  readonly limits: Limits;
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
