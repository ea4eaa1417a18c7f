/**
 * The part of the WebAssembly JavaScript interface that the host uses. It is on the global object in Node and in workerd,
 * and declared here because the package sees the ECMAScript library only.
 */

/** A `WebAssembly.Module`. */
export type CompiledModule = object;

/** A `WebAssembly.Memory`. */
export interface Memory {
  readonly buffer: ArrayBuffer;
}

type HostFunctions = Readonly<Record<string, (...operands: never[]) => unknown>>;

interface Import {
  readonly module: string;
  readonly name: string;
  readonly kind: string;
}

interface Export {
  readonly name: string;
  readonly kind: string;
}

interface WebAssembly {
  readonly Module: {
    new (bytes: Uint8Array): CompiledModule;
    imports(module: CompiledModule): readonly Import[];
    exports(module: CompiledModule): readonly Export[];
  };
  readonly Instance: new (
    module: CompiledModule,
    imports: Readonly<Record<string, HostFunctions>>,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly RuntimeError: new () => Error;
}

const platform = (globalThis as unknown as { readonly WebAssembly: WebAssembly }).WebAssembly;

/** Compiles synchronously. Edge platforms refuse it: there, modules are part of the bundle. */
export function compileWasm(bytes: Uint8Array): CompiledModule {
  return new platform.Module(bytes);
}

/** The imports of a module. */
export function importsOf(module: CompiledModule): readonly Import[] {
  return platform.Module.imports(module);
}

/** The exports of a module. */
export function exportsOf(module: CompiledModule): readonly Export[] {
  return platform.Module.exports(module);
}

/** A fresh instance of a module and what it exports. */
export class Instance {
  readonly memory: Memory;
  readonly #exports: Readonly<Record<string, unknown>>;

  constructor(module: CompiledModule, imports: Readonly<Record<string, HostFunctions>>) {
    this.#exports = new platform.Instance(module, imports).exports;
    this.memory = this.#exports["memory"] as Memory;
  }

  /** The exported function of that name, or null. */
  function(name: string): (() => void) | null {
    const exported = Object.hasOwn(this.#exports, name) ? this.#exports[name] : undefined;
    return typeof exported === "function" ? (exported as () => void) : null;
  }
}

/** Whether WebAssembly code trapped with this error (host functions may throw anything else). */
export function isRuntimeError(error: unknown): error is Error {
  return error instanceof platform.RuntimeError;
}
