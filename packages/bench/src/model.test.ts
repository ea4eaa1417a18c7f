import { fileURLToPath } from "node:url";
import { loadProject } from "@radical/app";
import { Random } from "@radical/history";
import { valueToJson } from "@radical/protocol";
import { expect, test } from "vitest";
import { argumentsOf } from "./arguments.ts";
import { buildForBenchmark } from "./measurement.ts";
import { prepared, runOn } from "./model.ts";

const FORUM = fileURLToPath(new URL("../../../templates/forum", import.meta.url));

test("prepared data is older than what handlers keep for minutes: the forum's front page is full at once", async () => {
  const { app, module, benchmark } = await buildForBenchmark(await loadProject(FORUM));
  const items = prepared(app, module, benchmark, [], new Random(1, 0.99).fork("prepare"));
  const handler = "homepage";
  const environment = { timeMs: Date.now(), seed: new Uint8Array(16), caller: null };
  const args = argumentsOf(app.manifest, handler, {});
  const { outcome } = runOn(items, module, { handler, args, environment });
  expect(outcome).toMatchObject({ kind: "result" });
  if (outcome.kind === "result") expect(JSON.parse(valueToJson(outcome.value))).toHaveLength(20);
});
