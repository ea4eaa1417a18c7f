import { expect, test } from "vitest";
import { renderTable, rowsOf } from "./table.ts";
import type { Sample } from "./workload.ts";

test("medians and paths per handler and location, the baseline apart", () => {
  const sample = (ms: number, path: Sample["path"], baseline = false): Sample => ({
    handler: "follow",
    location: "JP",
    baseline,
    path,
    ms,
  });
  const rows = rowsOf(
    [
      sample(150, "speculative"),
      sample(300, "near-storage"),
      sample(152, "speculative"),
      sample(4, "leased"),
      sample(200, "near-storage", true),
      sample(202, "near-storage", true),
      { handler: "login", location: "VA", baseline: false, path: null, ms: 1 },
    ],
    ["VA", "JP"],
  );
  expect(rows[0]).toMatchObject({ handler: "login", location: "VA", speculative: 0, leased: 0, nearStorage: 0 });
  expect(rows[1]).toEqual({
    handler: "follow",
    location: "JP",
    speculative: 2,
    leased: 1,
    nearStorage: 1,
    p50: 151,
    centralP50: 201,
  });
  expect(renderTable(rows)).toMatch(/follow +JP +1 +2 +1 +151\.0 +201\.0 +25 %/);
});
