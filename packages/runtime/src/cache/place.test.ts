import { expect, test } from "vitest";
import { NO_PLACE, placeOf } from "./place.ts";

test("the data centre is the location", () => {
  expect(placeOf({ colo: "AMS" })).toEqual({ location: "AMS", hint: null });
  expect(placeOf({})).toBe(NO_PLACE);
});

test.each([
  ["NA", "-122.4", "wnam"],
  ["NA", "-77.5", "enam"],
  ["EU", "4.9", "weur"],
  ["EU", "26.1", "eeur"],
  ["AS", "55.3", "me"],
  ["AS", "139.7", "apac"],
  ["SA", "-46.6", "sam"],
  ["AF", "28.0", "afr"],
  ["OC", "151.2", "oc"],
  ["AN", undefined, "oc"],
] as const)("in %s at %s° east its cache is created in %s", (continent, longitude, hint) => {
  expect(placeOf({ colo: "ZZZ", continent, ...(longitude === undefined ? {} : { longitude }) }).hint).toBe(hint);
});
