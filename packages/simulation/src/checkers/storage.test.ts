import type { ExecutionId, Outcome, UnitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Operation } from "../history.ts";
import type { Applied } from "../model-storage.ts";
import { bytesOf, MODULES, type ProgramName } from "../programs.ts";
import { checkStorage } from "./storage.ts";
import { checkVersions } from "./versions.ts";

const unit = (key: string): UnitId => `item/${key}` as UnitId;
const result = (seen: string): Outcome => ({ kind: "result", value: bytesOf(`|${seen}`) });

/** `seen`: what the execution saw, as `item/a=writer,…`. */
function operation(
  name: string,
  program: ProgramName,
  keys: string,
  [invokedAt, answeredAt]: readonly [number, number | null],
  seen: string,
): Operation {
  const units = Array.from(keys, unit);
  const executionId = name.padStart(32, "0") as ExecutionId;
  const outcome = answeredAt === null ? null : result(seen);
  return { name, executionId, program, units, amount: 0, mustNotWrite: false, invokedAt, answeredAt, outcome };
}

function applied(name: string, commit: number, seen: string, keys: string, value: string | null = name): Applied {
  return {
    executionId: name.padStart(32, "0") as ExecutionId,
    commitId: `00000001-00000000000${commit}` as Applied["commitId"],
    module: MODULES[0],
    environment: { timeMs: 0, seed: new Uint8Array(16), caller: null },
    outcome: result(seen),
    writes: Array.from(keys, (key) => ({ unit: unit(key), value: value === null ? null : bytesOf(`${value}:`) })),
  };
}

function storage(log: readonly Applied[]): Parameters<typeof checkStorage>[1] {
  const items = new Map<UnitId, { commitId: Applied["commitId"]; value: Uint8Array }>();
  for (const { commitId, writes } of log)
    for (const { unit: written, value } of writes) {
      if (value === null) items.delete(written);
      else items.set(written, { commitId, value });
    }
  return { applied: [...log], items, intents: new Map() };
}

describe("storage at the end", () => {
  const write = operation("w", "overwrite", "a", [1, 2], "");
  const log = [applied("w", 1, "", "a")];

  test("is accepted as it should be", () => {
    expect(checkStorage([write], storage(log))).toEqual([]);
  });

  test("a GET that has written is found", () => {
    const get = { ...operation("w", "overwrite", "a", [1, null], ""), mustNotWrite: true };
    expect(checkStorage([get], storage(log))).toContain("w must not write, and has written");
  });

  test("a write that was answered and is not there is found", () => {
    expect(checkStorage([write], storage([]))).toContain("w was answered, but its writes are lost");
    const { applied: all } = storage(log);
    expect(checkStorage([write], { applied: all, items: new Map(), intents: new Map() })).toContain(
      "item/a is not what commit 00000001-000000000001 made of it",
    );
  });

  test("a write that is there twice is found", () => {
    const twice = [...log, applied("w", 2, "", "a")];
    expect(checkStorage([write], storage(twice))).toContain(`execution ${"w".padStart(32, "0")} was applied twice`);
  });

  test("another answer than the first, or than storage has, is found", () => {
    const again = operation("r", "read", "a", [3, 4], "item/a=w");
    const other = operation("r", "read", "a", [5, 6], "item/a=");
    expect(checkStorage([write, again, other], storage(log)).join()).toContain("elsewhere it is |item/a=w");
    expect(checkStorage([{ ...write, outcome: result("item/a=") }], storage(log))).not.toEqual([]);
  });

  test("an outcome or a write that no run of the program gives is found", () => {
    const wrong = [applied("w", 1, "", "ab")];
    expect(checkStorage([write], storage(wrong))).toContain("w is not what a run on what it saw gives");
    const read = operation("r", "read", "ab", [3, 4], "item/a=w");
    expect(checkStorage([write, read], storage(log))).toContain("r is not what a run on what it saw gives");
  });

  test("an intent that is pending is found", () => {
    const intents = new Map([["x" as ExecutionId, { state: "pending" } as never]]);
    expect(checkStorage([], { ...storage([]), intents })).toEqual(["intent x is pending at the end"]);
  });
});

describe("strict serializability", () => {
  const w = operation("w", "overwrite", "a", [1, 2], "");

  test("a serial history is accepted", () => {
    const history = [w, operation("r", "read", "a", [3, 4], "item/a=w")];
    expect(checkVersions(history, [applied("w", 1, "", "a")])).toEqual([]);
  });

  test("executions at the same time may be in any order", () => {
    const history = [
      { ...w, invokedAt: 1, answeredAt: 6 },
      operation("r", "read", "a", [2, 3], "item/a=w"),
      operation("s", "read", "a", [4, 5], "item/a=w"),
    ];
    expect(checkVersions(history, [applied("w", 1, "", "a")])).toEqual([]);
  });

  test("a stale read after an answer is found", () => {
    const history = [w, operation("r", "read", "a", [3, 4], "item/a=")];
    expect(checkVersions(history, [applied("w", 1, "", "a")])).not.toEqual([]);
  });

  test("a value that is gone again by the time of its second reader is found", () => {
    const history = [
      { ...w, answeredAt: 8 },
      operation("r", "read", "a", [2, 3], "item/a=w"),
      operation("s", "read", "a", [4, 5], "item/a="),
    ];
    expect(checkVersions(history, [applied("w", 1, "", "a")])).not.toEqual([]);
  });

  test("write skew is found", () => {
    const history = [
      operation("v", "claim", "ba", [1, 3], "item/a=,item/b="),
      operation("w", "claim", "ab", [2, 4], "item/b=,item/a="),
    ];
    const log = [applied("v", 1, "item/a=,item/b=", "b"), applied("w", 2, "item/b=,item/a=", "a")];
    expect(checkVersions(history, log).join()).toContain("no order is possible");
  });

  test("a lost update is found", () => {
    const history = [
      operation("v", "update", "a", [1, 3], "item/a="),
      operation("w", "update", "a", [2, 4], "item/a="),
    ];
    const log = [applied("v", 1, "item/a=", "a"), applied("w", 2, "item/a=", "a")];
    expect(checkVersions(history, log)).not.toEqual([]);
  });

  test("a torn read is found", () => {
    const history = [
      operation("w", "overwrite", "ab", [1, 4], ""),
      operation("r", "read", "ab", [2, 3], "item/a=w,item/b="),
    ];
    expect(checkVersions(history, [applied("w", 1, "", "ab")])).not.toEqual([]);
  });

  test("two readers that see two writes in different orders are found", () => {
    const history = [
      operation("v", "overwrite", "a", [1, 9], ""),
      operation("w", "overwrite", "b", [2, 10], ""),
      operation("r", "read", "ab", [3, 5], "item/a=v,item/b="),
      operation("s", "read", "ab", [4, 6], "item/a=,item/b=w"),
    ];
    expect(checkVersions(history, [applied("v", 1, "", "a"), applied("w", 2, "", "b")])).not.toEqual([]);
  });

  test("commit ids that do not grow, a value that never was, and a writer nobody knows are found", () => {
    const both = [applied("w", 2, "", "a"), applied("v", 1, "", "a")];
    const v = operation("v", "overwrite", "a", [3, 4], "");
    expect(checkVersions([w, v], both).join()).toContain("after");
    expect(checkVersions([w, operation("r", "read", "a", [3, 4], "item/a=x")], [applied("w", 1, "", "a")])).toEqual([
      "r saw item/a=x, which never was",
    ]);
    expect(checkVersions([], [applied("w", 1, "", "a")])).not.toEqual([]);
  });

  describe("of a unit that was absent several times", () => {
    const writes = [
      operation("v", "overwrite", "a", [1, 2], ""),
      operation("d", "remove", "a", [3, 4], "item/a=v"),
      operation("w", "overwrite", "a", [5, 6], ""),
    ];
    const log = [applied("v", 1, "", "a"), applied("d", 2, "item/a=v", "a", null), applied("w", 3, "", "a")];

    test("either time may be meant", () => {
      const early = operation("r", "read", "a", [0, 7], "item/a=");
      expect(checkVersions([...writes, early], log)).toEqual([]);
    });

    test("a time that real time rules out is not", () => {
      const between = operation("r", "read", "a", [2.4, 2.6], "item/a=");
      expect(checkVersions([...writes, between], log).join()).toContain("saw something absent that was there");
      const late = operation("r", "read", "a", [7, 8], "item/a=");
      expect(checkVersions([...writes, late], log)).not.toEqual([]);
    });

    test("an edge is drawn when one time is left, and closes a cycle with others", () => {
      // It read b before x wrote it, and a after d: but d began after x had ended.
      const x = operation("x", "overwrite", "b", [2.1, 2.2], "");
      const reader = operation("r", "read", "ab", [2, 9], "item/a=,item/b=");
      expect(checkVersions([...writes, x, reader], [...log, applied("x", 4, "", "b")])).not.toEqual([]);
    });
  });
});
