import { lifeIn } from "@radical/protocol";
import { expect, test } from "vitest";
import type { RequestLine } from "../dev/dev-events.ts";
import { lifeOfRequest } from "./request-life.ts";

const LINE: RequestLine = {
  level: "info",
  event: "request",
  location: "NRT",
  handler: "like",
  execution: "a".repeat(32),
  trace: null,
  status: 200,
  path: "speculative",
  reason: "valid",
  verdict: null,
  code: null,
  fuel: 7,
  ms: {
    rw: 2,
    cache: 1,
    lvi: 150,
    f: 30,
    total: 154,
  },
};

test("phases become spans: the question and the run begin together", () => {
  const life = lifeOfRequest(LINE, 10_000);
  expect(life).toMatchObject({ place: "NRT", attempt: 1, atMs: 9_846, tookUs: 154_000, reason: "valid", fuel: 7 });
  expect(life?.spans).toEqual([
    ["set", 0, 2_000],
    ["fetch", 2_000, 1_000],
    ["run", 3_000, 30_000],
    ["send", 3_000, 150_000],
  ]);
  // As any other life.
  expect(lifeIn(JSON.parse(JSON.stringify(life)))).toEqual(life);
});

test("what asked nobody has no attempt; what is not an execution has no life", () => {
  expect(lifeOfRequest({ ...LINE, ms: { f: 1, total: 1 } }, 0)).toMatchObject({ attempt: 0 });
  expect(lifeOfRequest({ ...LINE, execution: null }, 0)).toBeNull();
});
