import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SpeculationLane } from "./speculation-lane.ts";

beforeEach(() => void vi.stubGlobal("scheduler", { wait: () => turn() }));
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
  const wait = vi.fn<() => Promise<void>>(() => turn());
  vi.stubGlobal("scheduler", { wait });
  await new SpeculationLane().enter();
  expect(wait).not.toHaveBeenCalled();
});

test("a request that was cut off in the lane does not block the others", async () => {
  const lane = new SpeculationLane();
  await lane.enter();
  const order: string[] = [];
  await request(lane, "next", order);
  expect(order).toEqual(["next runs", "next answers"]);
});
