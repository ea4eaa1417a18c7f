import { expect, test } from "vitest";
import { devLine } from "./dev-lines.ts";
import { createTerminal } from "./terminal.ts";

test.each([
  [{ level: "info", event: "module_registered" }, null],
  [{ level: "warn", event: "refused", detail: "in_doubt: an earlier server may have answered this attempt" }, null],
  [{ level: "warn", event: "refused", detail: "busy: the queue is full" }, "refused detail=busy: the queue is full"],
  [{ level: "error", event: "storage_failed", status: 7 }, "storage_failed status=7"],
])("of the LVI server's log %j is shown as %j", (line, shown) => {
  const words = devLine({ event: "server_log", line }, createTerminal({ quiet: true }));
  expect(words).toBe(shown === null ? null : `! LVI server: ${shown}`);
});
