import { commitId, entryOf, type UnitId, unitId, type UpdatesQuestion } from "@radical/protocol";
import { expect, test } from "vitest";
import { MemoryCache } from "./cache/memory-cache.ts";
import { Leader } from "./core/leader.ts";
import { entriesOf, Updates } from "./updates.ts";

const UNIT = unitId("notes", "a");

/** A primary that ends what it tells when it is told to. */
function listening() {
  const asked: UpdatesQuestion[] = [];
  const ends: ((isOver: boolean) => void)[] = [];
  const clock = { ms: 0 };
  const memory = new MemoryCache();
  const updates = new Updates({
    memory,
    leader: new Leader(2),
    now: () => clock.ms,
    primary: {
      listen: (server, question, take) => {
        expect(server).toBe(0);
        asked.push(question);
        const { version } = entryOf(commitId(1, asked.length), Uint8Array.of(7));
        take(JSON.stringify([[UNIT, version.commitId, version.hash, "Bw=="]]));
        return new Promise((resolve) => ends.push(resolve));
      },
    },
  });
  return { asked, ends, clock, memory, updates };
}

test("one request listens at a time; after a shift the next one does, under the same name", async () => {
  const { asked, ends, clock, updates } = listening();
  const first = updates.listen("VA");
  clock.ms = 14_999;
  await updates.listen("VA");
  expect(asked).toHaveLength(1);
  clock.ms = 15_000;
  const second = updates.listen("VA");
  expect(asked).toHaveLength(2);
  expect(asked[0]).toEqual(asked[1]);
  // That the first one ends is no news: the second one listens.
  ends[0]!(true);
  await first;
  await updates.listen("VA");
  expect(asked).toHaveLength(2);
  ends[1]!(true);
  await second;
  void updates.listen("VA");
  expect(asked).toHaveLength(3);
});

test("what fails is not tried again by every request", async () => {
  const { asked, ends, clock, updates } = listening();
  const first = updates.listen("VA");
  ends[0]!(false);
  await first;
  clock.ms = 4_999;
  await updates.listen("VA");
  expect(asked).toHaveLength(1);
  clock.ms = 5_000;
  void updates.listen("VA");
  expect(asked).toHaveLength(2);
});

test("memory takes updates with something that it holds, and only forward", () => {
  const { clock, memory, updates } = listening();
  void updates.listen("VA");
  expect(memory.peek(UNIT)).toBeUndefined();
  memory.put([{ unit: UNIT, entry: entryOf(commitId(1, 1), Uint8Array.of(1)) }]);
  clock.ms = 15_000;
  void updates.listen("VA");
  expect(memory.peek(UNIT)).toEqual(entryOf(commitId(1, 2), Uint8Array.of(7)));
  memory.put([{ unit: UNIT, entry: entryOf(commitId(9, 9), Uint8Array.of(9)) }]);
  clock.ms = 30_000;
  void updates.listen("VA");
  expect(memory.peek(UNIT)?.version.commitId).toBe(commitId(9, 9));
});

test("what is no update is left out", () => {
  const { version } = entryOf(commitId(1, 1), Uint8Array.of(7));
  const { commitId: id, hash } = version;
  const whole = ["notes/a" as UnitId, id, hash, "Bw=="] as const;
  expect(entriesOf(JSON.stringify([whole]))).toEqual([{ unit: UNIT, entry: { version, value: Uint8Array.of(7) } }]);
  expect(entriesOf(JSON.stringify([["notes/a", id, null, null]]))).toEqual([{ unit: UNIT, entry: entryOf(id, null) }]);
  for (const line of ["", "[", "{}", "[null]", "[[]]"]) expect(entriesOf(line)).toEqual([]);
  for (const damaged of [
    [1, id, hash, "Bw=="],
    [UNIT, "soon", hash, "Bw=="],
    [UNIT, id, "hash", "Bw=="],
    [UNIT, id, null, "Bw=="],
    [UNIT, id, hash, null],
    [UNIT, id, hash, "Cw=="],
    [UNIT, id, hash, "%"],
  ])
    expect(entriesOf(JSON.stringify([damaged, whole]))).toHaveLength(1);
});
