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

  test("a stale read after an answer is found", () => {
    const history = [w, operation("r", "read", "a", [3, 4], "item/a=")];
    expect(checkVersions(history, [applied("w", 1, "", "a")])).not.toEqual([]);
  });

  test("what was asked for twice lies between the first question and the first answer", () => {
    const first = operation("r", "read", "a", [0, null], "item/a=");
    const again = operation("r", "read", "a", [3, 4], "item/a=");
    expect(checkVersions([first, w, again], [applied("w", 1, "", "a")])).toEqual([]);
    expect(checkVersions([w, { ...first, invokedAt: 2.5 }, again], [applied("w", 1, "", "a")])).not.toEqual([]);
  });

  test("what was applied and never answered has read what its outcome says", () => {
    const history = [w, operation("u", "update", "a", [3, null], "")];
    expect(checkVersions(history, [applied("w", 1, "", "a"), applied("u", 2, "item/a=w", "a")])).toEqual([]);
    expect(checkVersions(history, [applied("w", 1, "", "a"), applied("u", 2, "item/a=", "a")])).not.toEqual([]);
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

  test("a unit that was deleted is absent again", () => {
    const log = [applied("w", 1, "", "a"), applied("d", 2, "item/a=w", "a", null)];
    const history = [w, operation("d", "remove", "a", [3, 4], "item/a=w")];
    expect(checkVersions([...history, operation("r", "read", "a", [5, 6], "item/a=")], log)).toEqual([]);
    expect(checkVersions([...history, operation("r", "read", "a", [2.4, 2.6], "item/a=")], log)).not.toEqual([]);
  });

  test("a writer that wrote a unit twice is found", () => {
    const log = [applied("w", 1, "", "a"), applied("w", 2, "", "a")];
    expect(checkVersions([w], log).join()).toContain("w wrote item/a twice");
  });
});
