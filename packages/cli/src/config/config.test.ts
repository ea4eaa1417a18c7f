import { expect, test } from "vitest";
import { CommandError } from "../command-error.ts";
import { PAPER_LOCATIONS, parseLocations, parsePort, resolveConfig } from "./config.ts";

const FILE = "radical.config.ts";

test("a name is enough; everything else has a default", () => {
  expect(resolveConfig({ name: "social" }, FILE)).toEqual({
    name: "social",
    handlers: "handlers",
    outDir: "dist",
    dev: { port: 8787, locations: PAPER_LOCATIONS },
  });
});

test("what is given is kept, locations in their order", () => {
  const config = resolveConfig(
    { name: "a", handlers: "src/h/", outDir: "out", dev: { port: 0, locations: { JP: 146, VA: 7.5 } } },
    FILE,
  );
  expect(config.handlers).toBe("src/h");
  expect(config.dev.locations).toEqual([
    { name: "JP", roundTripMs: 146 },
    { name: "VA", roundTripMs: 7.5 },
  ]);
});

test.each([
  [undefined, /must export an object by default/],
  [{}, /name must be/],
  [{ name: "Social" }, /name must be .* not "Social"/],
  [{ name: "a", port: 3 }, /port is not a field/],
  [{ name: "a", handlers: "../x" }, /handlers must be/],
  [{ name: "a", outDir: "/tmp" }, /outDir must be/],
  [{ name: "a", dev: 3 }, /dev must be an object/],
  [{ name: "a", dev: { port: "80" } }, /dev\.port must be an integer from 0 to 65535, not "80"/],
  [{ name: "a", dev: { locations: {} } }, /dev\.locations must be/],
  [{ name: "a", dev: { locations: { VA: "7" } } }, /dev\.locations\.VA must be a round trip/],
  [{ name: "a", dev: { locations: { "V A": 7 } } }, /dev\.locations\.V A must be named by/],
])("%j is refused, the field named, with the exit code of wrong usage", (config, message) => {
  const error = thrownBy(() => resolveConfig(config, FILE));
  expect(error.message).toMatch(message);
  expect(error.message).toContain(FILE);
  expect(error.exitCode).toBe(2);
});

test("every wrong field is named at once", () => {
  const error = thrownBy(() => resolveConfig({ name: 1, dev: { port: -1 } }, FILE));
  expect(error.message.split("\n")).toHaveLength(2);
});

test("--locations", () => {
  expect(parseLocations("VA=7, CA=74.5")).toEqual([
    { name: "VA", roundTripMs: 7 },
    { name: "CA", roundTripMs: 74.5 },
  ]);
  for (const text of ["", "VA", "VA=", "VA=-1", "VA=7,VA=8", "VA=99999", "=7"]) {
    expect(thrownBy(() => parseLocations(text)).message).toContain("--locations");
  }
});

test("--port", () => {
  expect(parsePort("0")).toBe(0);
  expect(parsePort("65535")).toBe(65_535);
  for (const text of ["", "-1", "65536", "8e3", "http"])
    expect(thrownBy(() => parsePort(text)).message).toContain("--port");
});

function thrownBy(run: () => unknown): CommandError {
  try {
    run();
  } catch (error) {
    if (error instanceof CommandError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
