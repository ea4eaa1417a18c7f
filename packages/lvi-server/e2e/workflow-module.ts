/** A module for tests with workflows against the raw host functions. Arguments are text; the handlers count in items. */
import { ABI_VERSION, DEFAULT_LIMITS, encodeModuleContent, type HandlerPlan, handlersWith } from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { compile, type TestModule } from "./test-module.ts";

const PROGRAM = (version: number): string => `
@external("radical", "args_size") declare function args_size(): i32;
@external("radical", "args_read") declare function args_read(destination: usize): void;
@external("radical", "result") declare function result(pointer: usize, length: i32): void;
@external("radical", "get") declare function get(table: string, key: string): i32;
@external("radical", "take") declare function take(destination: usize): void;
@external("radical", "put") declare function put(table: string, key: string, pointer: usize, length: i32): void;
@external("radical", "abort") declare function abort_(status: i32, code: string, message: string): void;
@external("radical", "start") declare function start_(callee: string, place: string, pointer: usize, length: i32): i32;
@external("radical", "undo") declare function undo_(callee: string, place: string, pointer: usize, length: i32): void;
@external("radical", "await") declare function await_(isForOne: i32, pointer: usize, count: i32): i32;
@external("radical", "settled") declare function settled(step: i32): i32;
@external("radical", "sleep") declare function sleep(ms: i64, place: string): void;
@external("radical", "receive") declare function receive(name: string, ms: i64, place: string): i32;
@external("radical", "send") declare function send(workflow: string, name: string, pointer: usize, length: i32): void;
@external("radical", "enqueue") declare function enqueue(id: usize, callee: string, ms: i64, key: usize, pointer: usize, length: i32): void;
@external("radical", "again") declare function again_(pointer: usize, length: i32): void;

const VERSION: u8 = ${version};

function argument(): string {
  const bytes = new ArrayBuffer(args_size());
  args_read(changetype<usize>(bytes));
  return String.UTF8.decode(bytes);
}
function counter(key: string): u8 {
  const length = get("counters", key);
  if (length < 0) return 0;
  const bytes = new ArrayBuffer(length);
  take(changetype<usize>(bytes));
  return load<u8>(changetype<usize>(bytes));
}
function respond(value: u8): void {
  const bytes = new ArrayBuffer(1);
  store<u8>(changetype<usize>(bytes), value);
  result(changetype<usize>(bytes), 1);
}
export function increment(): void {
  const key = argument();
  const bytes = new ArrayBuffer(1);
  store<u8>(changetype<usize>(bytes), counter(key) + 1);
  put("counters", key, changetype<usize>(bytes), 1);
  respond(counter(key));
}
export function read(): void { respond(counter(argument())); }
/** \`workflow\`: to the signal \`go\`. */
export function tell(): void {
  const bytes = new ArrayBuffer(1);
  store<u8>(changetype<usize>(bytes), 5);
  send(argument(), "go", changetype<usize>(bytes), 1);
  respond(1);
}

/** \`ms:key\`: a workflow that begins so much later. */
export function hire(): void {
  const parts = argument().split(":");
  const key = String.UTF8.encode(parts[1]);
  const id = changetype<usize>(new ArrayBuffer(32));
  enqueue(id, "listen", I64.parseInt(parts[0]), 0, changetype<usize>(key), key.byteLength);
  respond(1);
}

function start(callee: string, key: string): i32 {
  const bytes = String.UTF8.encode(key);
  return start_(callee, "", changetype<usize>(bytes), bytes.byteLength);
}
function undo(callee: string, key: string): void {
  const bytes = String.UTF8.encode(key);
  undo_(callee, "", changetype<usize>(bytes), bytes.byteLength);
}
function wait(isForOne: i32, from: i32, to: i32): i32 {
  const numbers = new StaticArray<i32>(to - from);
  for (let i = from; i < to; i++) numbers[i - from] = i;
  return await_(isForOne, changetype<usize>(numbers), to - from);
}
function run(callee: string, key: string): void {
  const step = start(callee, key);
  wait(0, step, step + 1);
}

/** Steps that write, steps that read, several at once, one of several, and undos. It fails if its key begins with \`bad\`. */
export function journey(): void {
  const key = argument();
  undo("increment", key + "-undone");
  run("increment", key + "-a");
  run("increment", key + "-b");
  const reads = start("read", key + "-a");
  start("read", key + "-b");
  start("read", key + "-c");
  wait(0, reads, reads + 3);
  const first = start("increment", key + "-x");
  start("increment", key + "-y");
  wait(1, first, first + 2);
  if (key.startsWith("bad")) abort_(402, "declined", "no money");
  respond(VERSION);
}
/** \`callee:number:key\`: so many at once. */
export function fan(): void {
  const parts = argument().split(":");
  const number = I32.parseInt(parts[1]);
  for (let i = 0; i < number; i++) start(parts[0], parts[2] + i.toString());
  wait(0, 0, number);
  respond(VERSION);
}
/** The same, one after the other. */
export function sequence(): void {
  const parts = argument().split(":");
  const number = I32.parseInt(parts[1]);
  for (let i = 0; i < number; i++) run(parts[0], parts[2] + i.toString());
  respond(VERSION);
}
/** \`ms:key\`. */
export function nap(): void {
  const parts = argument().split(":");
  run("increment", parts[1] + "-before");
  sleep(I64.parseInt(parts[0]), "");
  run("increment", parts[1] + "-after");
  respond(VERSION);
}
export function listen(): void {
  receive("go", -1, "");
  run("increment", argument());
  respond(VERSION);
}
/** Counts down, each time with an empty journal: \`rounds:key\`. */
export function rounds(): void {
  const parts = argument().split(":");
  const left = I32.parseInt(parts[0]);
  run("increment", parts[1]);
  if (left > 1) {
    const next = String.UTF8.encode((left - 1).toString() + ":" + parts[1]);
    again_(changetype<usize>(next), next.byteLength);
  }
  respond(VERSION);
}
export function faulty(): void {
  run("increment", argument());
  assert(false, "it had to be");
}
`;

const WORKFLOWS = ["journey", "fan", "sequence", "nap", "listen", "rounds", "faulty"];
const HANDLERS = ["increment", "read", "tell", "hire"];
const NEAR_STORAGE = new Set(["tell", "hire"]);

/** `version`: what its workflows return. */
export async function workflowModule(version: number): Promise<TestModule> {
  const plans: Record<string, HandlerPlan> = {};
  for (const name of WORKFLOWS) plans[name] = "workflow";
  for (const name of HANDLERS) plans[name] = NEAR_STORAGE.has(name) ? "near-storage" : "recorded";
  const content = {
    abi: ABI_VERSION,
    limits: DEFAULT_LIMITS,
    handlers: handlersWith(plans),
    wasm: await compile(PROGRAM(version)),
    rwWasm: await compile("export function nothing(): void {}"),
  };
  return { content, bytes: encodeModuleContent(content), hash: moduleHash(content) };
}
