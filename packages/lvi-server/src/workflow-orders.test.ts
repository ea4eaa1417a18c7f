import { type ExecutionId, RadicalError } from "@radical/protocol";
import { expect, test } from "vitest";
import { orderEach } from "./workflow-orders.ts";

const IDS = ["a", "b", "c"].map((letter) => letter.repeat(32) as ExecutionId);
const STOPPED = new RadicalError("not_serving", "This server has stopped.", "Ask the next one.");

test("an order tells what has become of each workflow, though the server stops in between", async () => {
  const { results } = await orderEach(IDS, (id, { answered, failed }) => {
    if (id === IDS[1]) failed(STOPPED);
    else answered(id === IDS[0] ? "done" : "not-stuck");
  });
  expect(results.map(({ outcome }) => outcome)).toEqual(["done", "in-doubt", "not-stuck"]);
  expect(results.map(({ id }) => id)).toEqual(IDS);
});

test("an order that no workflow has heard of fails as a whole, so that it is sent to the next server", async () => {
  await expect(orderEach(IDS, (_id, { failed }) => failed(STOPPED))).rejects.toThrow(STOPPED);
});
