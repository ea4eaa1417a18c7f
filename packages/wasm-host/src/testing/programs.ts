/**
 * For tests: programs that call the host functions directly, without the SDK.
 */
import {
  limitsWithFuel,
  ABI_VERSION,
  DEFAULT_LIMITS,
  HOST_FUNCTIONS,
  type Limits,
  type ModuleContent,
} from "@radical/protocol";
import { compileString } from "assemblyscript/asc";
import { metered } from "../metering/meter.ts";
import { compileModule, type HandlerModule } from "../module.ts";

const TYPES = { i32: "i32", i64: "i64", f64: "f64", string: "string", pointer: "usize" } as const;

/** Declarations of all host functions, as `host_get` and so on. */
const PRELUDE = Object.entries(HOST_FUNCTIONS)
  .map(([name, { parameters, result }]) => {
    const list = parameters.map((type, index) => `p${index}: ${TYPES[type]}`).join(", ");
    return `@external("radical", "${name}") declare function host_${name}(${list}): ${result ?? "void"};`;
  })
  .join(" ");

/** Small words for the programs of tests: values are single bytes. */
const VOCABULARY = `
function respond(value: i32): void { const at = memory.data(8); store<u8>(at, value); host_result(at, 1); }
function put(table: string, key: string, value: i32): void { const at = memory.data(8); store<u8>(at, value); host_put(table, key, at, 1); }
function get(table: string, key: string): i32 {
  if (host_get(table, key) < 0) return -1;
  const at = memory.data(8);
  host_take(at);
  return load<u8>(at);
}
function ascii(at: usize, length: i32): string { return String.UTF8.decodeUnsafe(at, length); }
`;

async function compile(source: string, runtime: "incremental" | "stub", memoryPages: number): Promise<Uint8Array> {
  const { binary, stderr } = await compileString(PRELUDE + VOCABULARY + source, {
    runtime,
    exportStart: "_start",
    maximumMemory: memoryPages,
    optimizeLevel: 1,
  });
  if (binary === null) throw new Error(stderr.toString());
  return metered(Uint8Array.from(binary));
}

export interface Programs {
  /** Source of the handlers: exported functions without parameters. */
  readonly f: string;
  /** Source of the read/write-set functions. */
  readonly rw?: string;
  readonly limits?: Partial<Limits>;
}

export async function contentOf({ f, rw = "", limits }: Programs): Promise<ModuleContent> {
  const { fuel = DEFAULT_LIMITS.fuel } = limits ?? {};
  const bounds = { ...limitsWithFuel(fuel), ...limits };
  const [wasm, rwWasm] = await Promise.all([
    compile(f, "incremental", bounds.memoryPages),
    compile(rw, "stub", bounds.memoryPages),
  ]);
  return { abi: ABI_VERSION, limits: bounds, handlers: {}, wasm, rwWasm };
}

export async function programs(sources: Programs): Promise<HandlerModule> {
  return compileModule(await contentOf(sources));
}
