import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Garbage } from "./garbage.ts";

function collecting() {
  let [nowMs, times, external, kept] = [0, 0, 0, 0];
  let resident = 0;
  const garbage = new Garbage(1_000, {
    now: () => nowMs,
    resident: () => resident,
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
  const receive = (bytes: number, memoryBytes: number, outside: number): number => {
    [resident, external] = [memoryBytes, outside];
    garbage.received(bytes);
    return times;
  };
  return { look, receive };
}

test("garbage is collected while much of the memory is in use, for a twentieth of the time at most", () => {
  const { look } = collecting();
  expect(look(0, 500, 300)).toBe(0);
  expect(look(1, 501, 300)).toBe(1);
  expect(look(210, 750, 300)).toBe(1);
  expect(look(211, 750, 300)).toBe(2);
  expect(look(9_000, 500, 300)).toBe(2);
});

test("while three quarters are in use, what has grown is collected at once", () => {
  const { look } = collecting();
  expect(look(0, 600, 300)).toBe(1);
  expect(look(20, 750, 100)).toBe(1);
  expect(look(30, 751, 49)).toBe(1);
  expect(look(40, 751, 50)).toBe(2);
  expect(look(60, 751, 50)).toBe(3);
});

test("bodies that come between two looks are not waited for", () => {
  const { look, receive } = collecting();
  expect(look(0, 760, 300)).toBe(1);
  expect(receive(49, 900, 49)).toBe(1);
  expect(receive(1, 900, 50)).toBe(2);
  expect(receive(49, 900, 100)).toBe(2);
  // As little as this grows is not looked for.
  expect(receive(1, 900, 20)).toBe(2);
  expect(receive(50, 500, 90)).toBe(2);
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

test("the buffers that nobody has are freed when a collection ends", async () => {
  const before = process.memoryUsage().arrayBuffers;
  manyReleased();
  await setImmediate();
  new Garbage(1).look(2, false);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(CHUNKS * CHUNK_BYTES * 0.1);
});

const CHUNKS = 1_000;
const CHUNK_BYTES = 65_536;

function manyReleased(): void {
  const chunks = Array.from({ length: CHUNKS }, () => new Uint8Array(CHUNK_BYTES));
  expect(chunks).toHaveLength(CHUNKS);
}

/** A function of its own, so that no frame of the test has the buffer. */
function released(): WeakRef<Uint8Array> {
  return new WeakRef(new Uint8Array(1_000_000));
}
