/** A module for tests: handlers written against the raw host functions, compiled once. Values and arguments are tiny. */
import asc from "assemblyscript/asc";
import {
  limitsWithFuel,
  ABI_VERSION,
  DEFAULT_LIMITS,
  MAX_LIMITS,
  encodeModuleContent,
  type HandlerPlan,
  handlersWith,
  type ModuleContent,
  type ModuleHash,
} from "@radical/protocol";
import { metered, moduleHash } from "@radical/wasm-host";

const IMPORTS = `
@external("radical", "args_size") declare function args_size(): i32;
@external("radical", "args_read") declare function args_read(destination: usize): void;
@external("radical", "result") declare function result(pointer: usize, length: i32): void;
@external("radical", "get") declare function get(table: string, key: string): i32;
@external("radical", "take") declare function take(destination: usize): void;
@external("radical", "put") declare function put(table: string, key: string, pointer: usize, length: i32): void;
@external("radical", "abort") declare function abort_(status: i32, code: string, message: string): void;
@external("radical", "scan") declare function scan(table: string, lo: string, hi: string, limit: i32, reversed: i32): i32;
@external("radical", "count") declare function count(table: string, lo: string, hi: string): i64;
@external("radical", "touch") declare function touch(table: string, key: string): void;
@external("radical", "will_write") declare function will_write(table: string, key: string): void;

/** The arguments are the key as text. */
function argument(): string {
  const bytes = new ArrayBuffer(args_size());
  args_read(changetype<usize>(bytes));
  return String.UTF8.decode(bytes);
}
/** A counter's value: one byte, a small CBOR integer; absent is 0. */
function counter(key: string): u8 {
  const length = get("counters", key);
  if (length < 0) return 0;
  const bytes = new ArrayBuffer(length);
  take(changetype<usize>(bytes));
  return load<u8>(changetype<usize>(bytes));
}
function add(key: string): void {
  const bytes = new ArrayBuffer(1);
  store<u8>(changetype<usize>(bytes), counter(key) + 1);
  put("counters", key, changetype<usize>(bytes), 1);
  result(changetype<usize>(bytes), 1);
}
/** The counter that a link names. */
function linked(key: string): string {
  const length = get("links", key);
  if (length < 0) return key;
  const bytes = new ArrayBuffer(length);
  take(changetype<usize>(bytes));
  return String.UTF8.decode(bytes);
}
`;

const HANDLERS = `${IMPORTS}
export function increment(): void { add(argument()); }
export function read(): void {
  const bytes = new ArrayBuffer(1);
  store<u8>(changetype<usize>(bytes), counter(argument()));
  result(changetype<usize>(bytes), 1);
}
export function nothing(): void { result(0, 0); }
export function incrementLinked(): void { add(linked(argument())); }
/** \`from>to\` */
export function link(): void {
  const parts = argument().split(">");
  const bytes = String.UTF8.encode(parts[1]);
  put("links", parts[0], changetype<usize>(bytes), bytes.byteLength);
}
/** \`key=name\`: a record of fewer than 24 characters, as values are encoded. */
export function remember(): void {
  const parts = argument().split("=");
  const name = String.UTF8.encode(parts[1]);
  const bytes = new StaticArray<u8>(7 + name.byteLength);
  bytes[0] = 0xa1;
  bytes[1] = 0x64;
  memory.copy(changetype<usize>(bytes) + 2, changetype<usize>(String.UTF8.encode("name")), 4);
  bytes[6] = 0x60 + <u8>name.byteLength;
  memory.copy(changetype<usize>(bytes) + 7, changetype<usize>(name), name.byteLength);
  put("people", parts[0], changetype<usize>(bytes), bytes.length);
  result(0, 0);
}
export function incrementUndeclared(): void { const key = argument(); add(key); add(key + "-shadow"); }
export function incrementRecorded(): void { add(linked(argument())); }
export function incrementNearStorage(): void { add(argument()); }
/** Ends on what is there, never on absences. */
export function searchNearStorage(): void { while (counter(argument()) == 0) {} add("found"); }
/** So many items of a table. */
export function readBulkNearStorage(): void {
  const count = I32.parseInt(argument());
  for (let i = 0; i < count; i++) get("bulk", i.toString());
  result(0, 0);
}
/** The first rows of a table from a key on: \`key:limit\`. */
export function walkNearStorage(): void {
  const parts = argument().split(":");
  scan("bulk", parts[0], "", I32.parseInt(parts[1]), 0);
  result(0, 0);
}
export function countNearStorage(): void {
  const number = count("bulk", argument(), "");
  const bytes = new ArrayBuffer(8);
  store<i64>(changetype<usize>(bytes), number);
  result(changetype<usize>(bytes), 8);
}
/** A table of bytes, of which an item holds many. */
function bytesOf(key: string): ArrayBuffer {
  const length = get("bytes", key);
  const bytes = new ArrayBuffer(max(0, length));
  if (length >= 0) take(changetype<usize>(bytes));
  return bytes;
}
function putBytes(key: string, bytes: ArrayBuffer): void {
  put("bytes", key, changetype<usize>(bytes), bytes.byteLength);
}
/**
 * \`object:bytes:+3,-7,…\`: operations on entries of so many bytes, which are items of their own. Those with a plus write. A byte of
 * each entry counts how often it was written.
 */
export function workOnEntries(): void {
  const parts = argument().split(":");
  const operations = parts[2].split(",");
  for (let i = 0; i < operations.length; i++) {
    const key = parts[0] + "/" + operations[i].substring(1);
    let entry = bytesOf(key);
    if (operations[i].charAt(0) == "-") continue;
    if (entry.byteLength == 0) entry = new ArrayBuffer(I32.parseInt(parts[1]));
    store<u8>(changetype<usize>(entry), load<u8>(changetype<usize>(entry)) + 1);
    putBytes(key, entry);
  }
  result(0, 0);
}
/** The same on an object that is one item: \`object:bytes of an entry:entries:+3,-7,…\`. */
export function workOnWhole(): void {
  const parts = argument().split(":");
  const size = I32.parseInt(parts[1]);
  const operations = parts[3].split(",");
  let whole = bytesOf(parts[0]);
  if (whole.byteLength == 0) whole = new ArrayBuffer(size * I32.parseInt(parts[2]));
  let written = false;
  for (let i = 0; i < operations.length; i++) {
    if (operations[i].charAt(0) == "-") continue;
    const place = changetype<usize>(whole) + size * I32.parseInt(operations[i].substring(1));
    store<u8>(place, load<u8>(place) + 1);
    written = true;
  }
  if (written) putBytes(parts[0], whole);
  result(0, 0);
}
/** \`name:password\`; the result is a token, of which nothing is in the items. */
function name(): string { return argument().split(":")[0]; }
function signInAs(name: string): void {
  const token = String.UTF8.encode("t0ken-of-" + argument().split(":")[1].split("").reverse().join(""));
  const bytes = new ArrayBuffer(1);
  store<u8>(changetype<usize>(bytes), counter(name) + 1);
  put("counters", name, changetype<usize>(bytes), 1);
  result(changetype<usize>(token), token.byteLength);
}
export function signIn(): void { signInAs(name()); }
export function signInNearStorage(): void { signInAs(name()); }
export function refuse(): void { counter(argument()); abort_(409, "taken", "it is taken"); }
export function trap(): void { counter(argument()); assert(false, "it had to be"); }
export function spin(): void { counter(argument()); for (;;) {} }
/** Its read/write-set function never ends. */
export function spinDeriving(): void { add(argument()); }
/** Ends, after a while. */
export function compute(): void {
  let hash: u32 = 1;
  for (let i = 0; i < 100_000_000; i++) hash = (hash ^ i) * 16777619;
  const bytes = new ArrayBuffer(1);
  store<u8>(changetype<usize>(bytes), (hash & 0x0f) as u8);
  result(changetype<usize>(bytes), 1);
}
/**
 * \`key:rounds\`: so many accesses in a random order to 48 MiB, which take far longer than others of as much fuel; then it
 * increments the counter.
 */
export function scatter(): void {
  const parts = argument().split(":");
  const cells = new StaticArray<u32>(12 << 20);
  let at: u32 = counter(parts[0]);
  for (let left = I64.parseInt(parts[1]); left > 0; left--) {
    const cell = ((at ^ (at >>> 15)) * 2654435761) % <u32>cells.length;
    cells[cell] += 1;
    at = cells[cell] * 1664525 + at * 22695477 + 1013904223;
  }
  add(parts[0]);
}
export function hog(): void { for (;;) store<u8>(changetype<usize>(new ArrayBuffer(1 << 20)), 1); }
function nested(depth: i32): i32 { return depth < 0 ? 0 : nested(depth + 1) * 2 + nested(depth + 2); }
export function nest(): void { if (nested(1) == 7) add(argument()); }
`;

const READ_WRITE_SETS = `${IMPORTS}
function updates(key: string): void { touch("counters", key); will_write("counters", key); }
export function increment(): void { updates(argument()); }
export function read(): void { touch("counters", argument()); }
export function nothing(): void {}
export function incrementLinked(): void { updates(linked(argument())); }
export function link(): void { will_write("links", argument().split(">")[0]); }
export function remember(): void { will_write("people", argument().split("=")[0]); }
export function incrementUndeclared(): void { updates(argument()); }
export function signIn(): void { updates(argument().split(":")[0]); }
export function refuse(): void { touch("counters", argument()); }
export function trap(): void { touch("counters", argument()); }
export function spin(): void { touch("counters", argument()); }
export function spinDeriving(): void { touch("counters", argument()); for (;;) {} }
export function compute(): void {}
export function scatter(): void { updates(argument().split(":")[0]); }
export function hog(): void {}
export function nest(): void { touch("counters", argument()); }
export function workOnEntries(): void {
  const parts = argument().split(":");
  const operations = parts[2].split(",");
  for (let i = 0; i < operations.length; i++) {
    const key = parts[0] + "/" + operations[i].substring(1);
    touch("bytes", key);
    if (operations[i].charAt(0) == "+") will_write("bytes", key);
  }
}
export function workOnWhole(): void {
  const parts = argument().split(":");
  touch("bytes", parts[0]);
  if (parts[3].includes("+")) will_write("bytes", parts[0]);
}
`;

export interface TestModule {
  readonly content: ModuleContent;
  readonly bytes: Uint8Array;
  readonly hash: ModuleHash;
}

let built: Promise<TestModule> | null = null;

export function testModule(): Promise<TestModule> {
  return (built ??= build());
}

async function build(): Promise<TestModule> {
  const plans = Object.fromEntries(
    [...HANDLERS.matchAll(/export function (\w+)/g)].map(([, name]) => [
      name!,
      name!.endsWith("NearStorage") ? "near-storage" : name === "incrementRecorded" ? "recorded" : "sliced",
    ]),
  ) as Readonly<Record<string, HandlerPlan>>;
  const content = {
    // What never ends is ended by a limit of the server.
    abi: ABI_VERSION,
    limits: limitsWithFuel(MAX_LIMITS.fuel),
    handlers: handlersWith(plans),
    wasm: await compile(HANDLERS),
    rwWasm: await compile(READ_WRITE_SETS),
  };
  return { content, bytes: encodeModuleContent(content), hash: moduleHash(content) };
}

/** The program of handlers against the raw host functions. */
export async function compile(source: string): Promise<Uint8Array> {
  let wasm: Uint8Array | null = null;
  const { error, stderr } = await asc.main(
    [
      "module.ts",
      "--outFile",
      "module.wasm",
      "--runtime",
      "stub",
      "--exportStart",
      "_start",
      "--maximumMemory",
      String(DEFAULT_LIMITS.memoryPages),
    ],
    {
      readFile: (name) => (name === "module.ts" ? source : null),
      writeFile: (name, contents) => {
        if (name === "module.wasm") wasm = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || wasm === null) throw new Error(stderr.toString());
  return metered(wasm);
}
