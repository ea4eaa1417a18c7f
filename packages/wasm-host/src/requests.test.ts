/** The requests of a run beside its writes, at the edge of each limit. */
import {
  decodeEffects,
  encodeEffects,
  entryOf,
  MAX_EFFECTS,
  MAX_TASK_ARGUMENT_BYTES,
  MAX_TASK_DELAY_MS,
  MAX_WRITTEN_BYTES,
  NO_COMMIT,
  NO_EXECUTION,
} from "@radical/protocol";
import { beforeAll, describe, expect, test } from "vitest";
import type { HandlerModule } from "./module.ts";
import { type CompletedRun, recordHandler } from "./run.ts";
import { programs } from "./testing/programs.ts";

let module: HandlerModule;

beforeAll(async () => {
  module = await programs({
    f: `
      const id = memory.data(64);
      const arrays = new StaticArray<u8>(${MAX_TASK_ARGUMENT_BYTES + 1});
      /** The arguments are one number. */
      function number(): i64 { const at = memory.data(8); host_args_read(at); return load<i64>(at); }
      /** Bytes, as a value of CBOR. */
      function bytes(length: i32): usize {
        const at = changetype<usize>(arrays);
        store<u8>(at, 0x5a);
        store<u32>(at + 1, bswap<u32>(length - 5));
        return at;
      }
      export function many(): void {
        const count = number();
        for (let n: i64 = 0; n < count; n++) {
          store<u8>(id, 0xa0);
          if (n % 3 == 0) host_cancel("${"8".repeat(32)}");
          else if (n % 3 == 1) host_send("${"8".repeat(32)}", "s", id, 1);
          else host_enqueue(id, "t", 0, changetype<string>(0), id, 1);
        }
      }
      export function delayed(): void { store<u8>(id, 0xa0); host_enqueue(id, "t", number(), changetype<string>(0), id, 1); }
      export function keyed(): void { store<u8>(id, 0xa0); host_enqueue(id, "t", 0, "\\u00e9".repeat(i32(number())), id, 1); }
      export function lone(): void { store<u8>(id, 0xa0); host_enqueue(id, "t", 0, String.fromCharCode(0xd800), id, 1); }
      export function large(): void { const n = i32(number()); host_enqueue(id, "t", 0, changetype<string>(0), bytes(n), n); }
      /** So many tasks of 256 KiB, and one value. */
      export function together(): void {
        const value = bytes(262_144);
        for (let n = number(); n > 0; n--) host_enqueue(id, "t", 0, changetype<string>(0), value, 262_144);
        store<u8>(id, 1);
        host_put("t", "k", id, 1);
      }
      export function nobody(): void { host_cancel("me"); }
      export function steps(): void { host_sleep(1, "h.ts:1:1"); }
    `,
  });
});

function run(handler: string, number: number): CompletedRun {
  const args = new Uint8Array(8);
  new DataView(args.buffer).setBigInt64(0, BigInt(number), true);
  const environment = { timeMs: 1_700_000_000_000, seed: new Uint8Array(16), caller: null };
  const invocation = { executionId: NO_EXECUTION, handler, args, environment };
  const { run: ended } = recordHandler(module, invocation, () => entryOf(NO_COMMIT, null), { guess: false });
  if (ended === null) throw new Error("the handler did not end");
  return ended;
}

describe("the largest is taken, and one more is a trap that leaves nothing", () => {
  test.each([
    ["effects of one execution", "many", MAX_EFFECTS],
    ["delay of a task", "delayed", MAX_TASK_DELAY_MS],
    ["key of a task in UTF-8", "keyed", 256],
    ["arguments of one task", "large", MAX_TASK_ARGUMENT_BYTES],
    ["arguments of all tasks with all values", "together", MAX_WRITTEN_BYTES / 262_144 - 1],
  ])("%s", (_what, handler, most) => {
    const taken = run(handler, most);
    expect(taken.outcome.kind).toBe("result");
    const { effects = [] } = taken;
    expect(effects.length).toBeGreaterThan(0);
    // A message may carry all that a run may ask for.
    expect(decodeEffects(encodeEffects(effects))).toEqual(effects);
    const refused = run(handler, most + 1);
    expect(refused.outcome.kind).toBe("trap");
    expect([refused.effects ?? [], [...refused.writes]]).toEqual([[], []]);
  });

  test("a delay below nothing is none, and a key has one byte at least", () => {
    expect(run("delayed", -5).effects).toMatchObject([{ kind: "enqueue", delayMs: 0 }]);
    expect(run("keyed", 0).outcome).toMatchObject({ kind: "trap", code: "invalid_access" });
  });

  test.each(["lone", "nobody", "steps"])("%s: what is none is a trap", (handler) => {
    expect(run(handler, 0).outcome).toMatchObject({ kind: "trap", code: "invalid_access" });
  });
});
