import { expect, test } from "vitest";
import { type Env, readSettings } from "./settings.ts";

const ENV: Env = { RADICAL_KEY_ID: "k", RADICAL_KEY: "00".repeat(16), RADICAL_PRIMARY_URL: "http://one:1" };
type Binding = NonNullable<Env["RADICAL_PRIMARY_A"]>;
const fetcher = (): Binding => ({ fetch: () => Promise.reject(new Error("not asked")) });

test("origins of servers, in their order; more than one is searched for longer", () => {
  expect(readSettings(ENV)).toMatchObject({ ways: [{ origin: "http://one:1" }], location: null });
  const several = readSettings({ ...ENV, RADICAL_PRIMARY_URL: "http://one:1, https://two" });
  expect(several.ways).toEqual([
    { kind: "url", origin: "http://one:1" },
    { kind: "url", origin: "https://two" },
  ]);
  expect(several.bounds.attempts).toBeGreaterThan(readSettings(ENV).bounds.attempts);
});

test("bindings win over origins, and need none; one of them is enough", () => {
  const [a, b] = [fetcher(), fetcher()];
  const { RADICAL_PRIMARY_URL: _, ...without } = ENV;
  expect(readSettings({ ...ENV, RADICAL_PRIMARY_A: a, RADICAL_PRIMARY_B: b }).ways.map((way) => way.kind)).toEqual([
    "binding",
    "binding",
  ]);
  expect(readSettings({ ...without, RADICAL_PRIMARY_B: b }).ways).toEqual([{ kind: "binding", fetcher: b }]);
});

test.each(["", "nowhere", "http://one:1,"])("an origin that is none is told: %j", (url) => {
  expect(() => readSettings({ ...ENV, RADICAL_PRIMARY_URL: url })).toThrow(/RADICAL_PRIMARY_URL must be/);
});
