import type { IndexStatus } from "@radical/protocol";
import { expect, test } from "vitest";
import { untilIndexesBuilt } from "./built-indexes.ts";

const BUILDING: IndexStatus = { name: "users=email", phase: "building", items: 90, waitsFor: 0, faults: [] };
const READY: IndexStatus = { ...BUILDING, phase: "ready" };
const STOPPED: IndexStatus = {
  ...BUILDING,
  phase: "stopped",
  faults: [{ kind: "duplicates", fields: ["ann@example.org"], keys: ["u1", "u2"], items: 3 }],
};

test("the indexes of a module are waited for, and those of other modules are not", async () => {
  const answers = [[], [BUILDING], [READY, { ...STOPPED, name: "rooms=name" }]];
  let asked = 0;
  await untilIndexesBuilt({ indexes: ["users=email"], ask: () => Promise.resolve(answers[asked++]!) });
  expect(asked).toBe(3);
});

test("a module without indexes asks nobody", async () => {
  const waiting = untilIndexesBuilt({ indexes: undefined, ask: () => Promise.reject(new Error("asked")) });
  await expect(waiting).resolves.toBeUndefined();
});

test("an index that can't be built is an error that lists the items", async () => {
  const waiting = untilIndexesBuilt({ indexes: ["users=email"], ask: () => Promise.resolve([STOPPED]) });
  await expect(waiting).rejects.toMatchObject({
    message:
      "The index users=email can't be built: some items of users can't be indexed as they are.\n" +
      '  email "ann@example.org": the keys u1, u2 and 1 more',
  });
});
