import { scheduler } from "node:timers/promises";
import { agesOf, type CacheChoice, DEFAULT_CACHE, unitId } from "@radical/protocol";
import { describe, expect, test, vi } from "vitest";
import { item } from "../../e2e/cache-conformance.ts";
import { openCache } from "./open-cache.ts";
import { PurgeMark } from "./purge-mark.ts";

// As workerd has it.
vi.stubGlobal("scheduler", scheduler);

const UNBOUND = {};

test.each<[CacheChoice, string]>([
  [DEFAULT_CACHE, "RADICAL_CACHE must be bound to the Durable Object class RadicalCache"],
  [{ kind: "kv", memoryBytes: 0, timeoutMs: 1, maxAgeHours: 168 }, "RADICAL_CACHE_KV must be bound to a KV namespace"],
])("$kind without its binding is told, with the binding's name", (choice, message) => {
  expect(() => openCache(choice, "app", UNBOUND)).toThrow(message);
});

test("memory needs no binding", () => {
  expect(openCache({ kind: "memory", memoryBytes: 1, maxAgeHours: 168 }, "app", UNBOUND).of).toBeTypeOf("function");
});

const PLACE = { location: "FRA", hint: "weur" } as const;
const a = unitId("notes", "a");
const HOUR_MS = 3_600_000;
const noError = (): void => undefined;

describe("age", () => {
  test("both tiers together have the age that was chosen", () => {
    for (const choice of [DEFAULT_CACHE, { kind: "memory", memoryBytes: 1, maxAgeHours: 24 } as const]) {
      const { memoryMs, behindMs } = agesOf(choice);
      expect(memoryMs + behindMs).toBe(choice.maxAgeHours * HOUR_MS);
    }
  });

  test("memory that is too old is empty at the next request", () => {
    let nowMs = 1e12;
    const { of, memory } = openCache({ kind: "memory", memoryBytes: 10_000, maxAgeHours: 1 }, "app", UNBOUND, {
      mark: new PurgeMark(),
      now: () => nowMs,
    });
    memory.put([{ unit: a, entry: item(1, "one") }]);
    nowMs += HOUR_MS - 1;
    expect(of(PLACE, noError).peek(a)).toEqual(item(1, "one"));
    nowMs++;
    expect(of(PLACE, noError).peek(a)).toBeUndefined();
    memory.put([{ unit: a, entry: item(1, "one") }]);
    expect(of(PLACE, noError).peek(a)).toEqual(item(1, "one"));
  });
});

describe("purges", () => {
  /** A namespace whose objects say when they were purged last. */
  function opened(choice: CacheChoice = DEFAULT_CACHE) {
    const told = { purgedAtMs: 0, looks: 0, ids: [] as string[] };
    const namespaceOf = (within: string): object => ({
      idFromName: (name: string) => (told.ids.push(`${within}${name}`), name),
      get: () => ({ purgedAt: () => (told.looks++, Promise.resolve(told.purgedAtMs)) }),
      jurisdiction: (name: string) => namespaceOf(`${name}:`),
    });
    const clock = { nowMs: 1e12 };
    const bindings = { RADICAL_CACHE: namespaceOf("") as never };
    return { told, clock, ...openCache(choice, "app", bindings, { mark: new PurgeMark(), now: () => clock.nowMs }) };
  }

  test("an isolate that is used hears of one within a minute, and forgets everything", async () => {
    const { told, clock, of, memory, hearOfPurges } = opened();
    memory.put([{ unit: a, entry: item(1, "one") }]);
    await hearOfPurges(PLACE);
    clock.nowMs += 1;
    told.purgedAtMs = clock.nowMs;
    clock.nowMs += 59_000;
    await hearOfPurges(PLACE);
    expect(told.looks).toBe(1);
    expect(of(PLACE, noError).peek(a)).toEqual(item(1, "one"));
    clock.nowMs += 1_000;
    await hearOfPurges(PLACE);
    expect(told.looks).toBe(2);
    // At once: perhaps nobody calls any more.
    expect(memory.look(a)).toBeUndefined();
    // Once.
    memory.put([{ unit: a, entry: item(1, "one") }]);
    expect(of(PLACE, noError).peek(a)).toEqual(item(1, "one"));
  });

  test("one that was before the isolate began means nothing to it", async () => {
    const { told, of, memory, hearOfPurges } = opened();
    told.purgedAtMs = 1e12 - 1;
    memory.put([{ unit: a, entry: item(1, "one") }]);
    await hearOfPurges(PLACE);
    expect(of(PLACE, noError).peek(a)).toEqual(item(1, "one"));
  });

  test("a clock that is behind that of the cache forgets once, not at each request", async () => {
    const { told, of, memory, hearOfPurges } = opened();
    told.purgedAtMs = 1e12 + 5_000;
    await hearOfPurges(PLACE);
    of(PLACE, noError);
    memory.put([{ unit: a, entry: item(1, "one") }]);
    expect(of(PLACE, noError).peek(a)).toEqual(item(1, "one"));
  });

  test("in a jurisdiction objects are in its namespace, and far locations have none", async () => {
    const { told, behind, hearOfPurges } = opened({ ...DEFAULT_CACHE, jurisdiction: "eu" } as CacheChoice);
    await hearOfPurges(PLACE);
    expect(told.ids).toEqual(["eu:app/FRA"]);
    expect(behind({ location: "NRT", hint: "apac" }, noError)).toBeNull();
    expect(behind({ location: "unknown", hint: null }, noError)).not.toBeNull();
  });
});
