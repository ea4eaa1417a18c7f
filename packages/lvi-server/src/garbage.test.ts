import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Garbage } from "./garbage.ts";

function collecting() {
  let [nowMs, times, external, kept] = [0, 0, 0, 0];
  const garbage = new Garbage(1_000, {
    now: () => nowMs,
    external: () => external,
    collect: () => {
      times++;
      nowMs += 10;
      external = kept;
    },
  });
  const look = (atMs: number, memoryBytes: number, outside: number, isKept = 0): number => {
    [nowMs, external, kept] = [atMs, outside, isKept];
    garbage.look(memoryBytes, false);
    return times;
  };
  return { look };
}

test("garbage is collected while much of the memory is in use, for a twentieth of the time at most", () => {
  const { look } = collecting();
  expect(look(0, 500, 300)).toBe(0);
  expect(look(1, 501, 300)).toBe(1);
  expect(look(210, 999, 300)).toBe(1);
  expect(look(211, 999, 300)).toBe(2);
  expect(look(9_000, 500, 300)).toBe(2);
});

test("memory that is in use for good is not looked through again and again", () => {
  const { look } = collecting();
  expect(look(0, 900, 400, 400)).toBe(1);
  for (let atMs = 1_000; atMs < 100_000; atMs += 100) expect(look(atMs, 900, 449, 400)).toBe(1);
  expect(look(100_000, 900, 450, 400)).toBe(2);
  // V8 was faster.
  expect(look(200_000, 900, 100)).toBe(2);
  expect(look(200_100, 900, 150)).toBe(3);
});

test("V8 gives back what nobody has", async () => {
  const held = released();
  // V8 keeps what a weak reference was made of until the turn is over.
  await setImmediate();
  new Garbage(1).look(2, false);
  expect(held.deref()?.byteLength).toBeUndefined();
});

/** A function of its own, so that no frame of the test has the buffer. */
function released(): WeakRef<Uint8Array> {
  return new WeakRef(new Uint8Array(1_000_000));
}
