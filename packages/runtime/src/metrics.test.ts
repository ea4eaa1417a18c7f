import { expect, test } from "vitest";
import type { LogLine } from "./log.ts";
import { withMetrics } from "./metrics.ts";

const LINE: LogLine = {
  level: "info",
  event: "request",
  location: "IE",
  handler: "follow",
  execution: "0123456789abcdef0123456789abcdef",
  trace: null,
  status: 200,
  path: "near-storage",
  reason: "hot",
  verdict: "corrected",
  code: null,
  ms: { rw: 0.1, cache: 1, lvi: 74, total: 75.5 },
  fuel: 1_234,
};

test("each request is a data point, in the columns that the documentation names", () => {
  const lines: LogLine[] = [];
  const points: unknown[] = [];
  const log = withMetrics((line) => void lines.push(line), {
    writeDataPoint: (point?: unknown) => void points.push(point),
  });
  log(LINE);
  log({ level: "warn", event: "cache_failed", location: "IE", handler: null, execution: null, message: "" });
  expect(lines.map(({ event }) => event)).toEqual(["request", "cache_failed"]);
  expect(points).toEqual([
    {
      indexes: ["follow"],
      blobs: ["IE", "follow", "near-storage", "hot", "", "corrected"],
      doubles: [200, 75.5, 0.1, 1, 74, 0, 1_234],
    },
  ]);
});
