import { ABI_VERSION, DEFAULT_LIMITS, type ModuleContent, type ModuleHash } from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { expect, test } from "vitest";
import { checkModule, maximumPages } from "./module-check.ts";

const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
/** `(module (type (func)) (memory …))`, with the memory's limits as given. */
const withMemory = (...limits: number[]): Uint8Array =>
  Uint8Array.of(...EMPTY, 1, 4, 1, 0x60, 0, 0, 5, limits.length + 1, 1, ...limits);
const UP_TO_1024 = withMemory(1, 1, 0x80, 0x08);
const UNBOUNDED = withMemory(0, 1);

const contentOf = (wasm: Uint8Array, memoryPages = 1_024, rwWasm: Uint8Array = EMPTY): ModuleContent => ({
  abi: ABI_VERSION,
  limits: { ...DEFAULT_LIMITS, memoryPages },
  handlers: {},
  wasm,
  rwWasm,
});
const checked = (content: ModuleContent): void => checkModule(moduleHash(content), content);

test("the maximum that a program declares for its memory", () => {
  expect(maximumPages(EMPTY)).toBe(0);
  expect(maximumPages(UP_TO_1024)).toBe(1_024);
  expect(maximumPages(withMemory(1, 1, 1))).toBe(1);
  expect(maximumPages(UNBOUNDED)).toBe(Infinity);
});

test("memory must be bounded, by the module's own limit, and that by the server's", () => {
  expect(() => checked(contentOf(UP_TO_1024))).not.toThrow();
  expect(() => checked(contentOf(UP_TO_1024, 1_023))).toThrow(/may grow to 1024 pages; its limit is 1023/);
  expect(() => checked(contentOf(UNBOUNDED))).toThrow(/may grow to Infinity pages/);
  expect(() => checked(contentOf(EMPTY, 1_024, UNBOUNDED))).toThrow(/may grow to Infinity pages/);
  expect(() => checked(contentOf(UP_TO_1024, 5_000))).toThrow(/wants 5000 pages of memory; at most 4096/);
});

test("a module under another hash, or that is no WebAssembly", () => {
  const content = contentOf(EMPTY);
  expect(() => checkModule("0".repeat(64) as ModuleHash, content)).toThrow(/has the hash/);
  expect(() => checked(contentOf(Uint8Array.of(1, 2, 3)))).toThrow(/not valid WebAssembly/);
});
