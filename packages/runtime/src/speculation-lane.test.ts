import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SpeculationLane } from "./speculation-lane.ts";

/** A millisecond is many turns. */
async function wait(ms: number): Promise<void> {
  for (let left = 1 + 100 * ms; left > 0; left--) await turn();
}

beforeEach(() => void vi.stubGlobal("scheduler", { wait }));
afterEach(() => void vi.unstubAllGlobals());

/** A request that runs in the lane; its answer needs three turns of the event loop. */
async function request(lane: SpeculationLane, name: string, order: string[]): Promise<void> {
  await lane.enter();
  order.push(`${name} runs`);
  const answering = (async () => {
    for (let left = 3; left > 0; left--) await turn();
    order.push(`${name} answers`);
  })();
  await Promise.all([answering, lane.leave()]);
}

test("each request is answered before the next one takes the CPU", async () => {
  const lane = new SpeculationLane();
  const order: string[] = [];
  await Promise.all(["a", "b", "c"].map((name) => request(lane, name, order)));
  expect(order).toEqual(["a runs", "a answers", "b runs", "b answers", "c runs", "c answers"]);
});

test("the gap is there for a request that comes to it late, too", async () => {
  const lane = new SpeculationLane();
  const order: string[] = [];
  const first = request(lane, "a", order);
  await turn();
  await Promise.all([first, request(lane, "b", order)]);
  expect(order).toEqual(["a runs", "a answers", "b runs", "b answers"]);
});

test("a free lane is entered without a turn", async () => {
  const waiting = vi.fn<typeof wait>(wait);
  vi.stubGlobal("scheduler", { wait: waiting });
  const lane = new SpeculationLane();
  await lane.enter();
  expect(waiting).not.toHaveBeenCalled();
  await lane.leave();
  waiting.mockClear();
  await lane.enter();
  expect(waiting).not.toHaveBeenCalled();
});

test("a request that was cut off in the lane does not block the others", async () => {
  const lane = new SpeculationLane();
  await lane.enter();
  const order: string[] = [];
  await request(lane, "next", order);
  expect(order).toEqual(["next runs", "next answers"]);
});
