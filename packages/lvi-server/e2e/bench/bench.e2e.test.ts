/** That the benchmark runs, and says what programs can read; nothing here depends on how fast anything is. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { Figure } from "./figure.ts";

const COMMAND = fileURLToPath(new URL("main.ts", import.meta.url));

function run(...args: readonly string[]): ReturnType<typeof spawnSync> {
  return spawnSync(process.execPath, ["--conditions=source", COMMAND, ...args], { encoding: "utf8" });
}

test("a short run of what takes no time by itself", () => {
  const effort = ["--turns", "1", "--requests", "64", "--versions", "100"];
  const { status, stdout } = run("reads", "writes", "core", "calls", "memory", "audits", ...effort, "--json");
  expect(status).toBe(0);
  const { results } = JSON.parse(stdout as string) as { results: { name: string; figures: Figure[] }[] };
  expect(results.map(({ name }) => name)).toEqual(["reads", "writes", "core", "calls", "memory", "audits"]);
  for (const { figures } of results) {
    expect(figures.length).toBeGreaterThan(0);
    for (const { value } of figures) expect(value).toEqual(expect.any(Number));
  }
  // Of these the machine has no say.
  const calls = results.find(({ name }) => name === "calls")!.figures.filter(({ goal }) => goal !== null);
  expect(calls.map(({ value, goal }) => [value, goal])).toEqual(
    calls.map(({ goal }) => [goal !== null && "atMost" in goal ? goal.atMost : Number.NaN, goal]),
  );
});

test("an unknown benchmark is a wrong option", () => {
  const { status, stderr } = run("speed");
  expect(status).toBe(2);
  expect(stderr).toMatch(/must be one of reads, writes.*"speed"/);
});
