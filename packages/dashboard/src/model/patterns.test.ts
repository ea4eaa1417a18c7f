import { type LifeUnit, spanId, type UnitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { resolve } from "./patterns.ts";

const unit = (name: string, mode: LifeUnit[1] = "read"): LifeUnit => [name as UnitId, mode, null];
const names = (units: readonly LifeUnit[]): readonly string[] => units.map(([name]) => name);

test("each item stands at the pattern that says most of its key", () => {
  const patterns = ["posts/{id}", "posts/pinned-{each ids of timelines/{me}}", "users/{author of posts/{id}}"];
  const units = ["posts/7", "posts/pinned-8", "users/ada", "likes/7"].map((name) => unit(name));
  const { patterns: found, others } = resolve(patterns, units);
  expect(found.map(({ units: own }) => names(own))).toEqual([["posts/7"], ["posts/pinned-8"], ["users/ada"]]);
  expect(names(others)).toEqual(["likes/7"]);
});

test("of two that say as much, the one stands whose values come from an item that the call has read", () => {
  const keys = ["likes/{id}/{name of sessions/nobody}", "likes/{id}/{name of sessions/{caller}}"];
  const units = ["sessions/5c6c62", "likes/7/ada"].map((name) => unit(name));
  const { patterns } = resolve(["sessions/nobody", "sessions/{caller}", ...keys], units);
  expect(patterns.map(({ units: own }) => names(own))).toEqual([[], ["sessions/5c6c62"], [], ["likes/7/ada"]]);
});

test("text around values counts, whatever it is", () => {
  const { patterns, others } = resolve(
    ["nights/{id of hotels/{each hotels of areas/{= a * 2}}}@{= day}", "sets/{{{x}}}", "fronts/front"],
    ["nights/h1@3", "nights/h1", "sets/{ada}", "fronts/front", "fronts/frontal"].map((name) => unit(name)),
  );
  expect(patterns.map(({ units: own }) => names(own))).toEqual([["nights/h1@3"], ["sets/{ada}"], ["fronts/front"]]);
  expect(names(others)).toEqual(["nights/h1", "fronts/frontal"]);
});

test("a range has its span and the items of its rows", () => {
  const span = spanId({ table: "posts", kind: "rows", lo: "ada/", hi: "ada0" });
  const count = spanId({ table: "followers", kind: "count", lo: "bob/", hi: "bob0" });
  const units = [span, count, "posts/ada/1", "posts/x"].map((name) => unit(name));
  const { patterns, others } = resolve(["posts/{name}/…, last 20", "followers/{other}/…, count"], units);
  expect(patterns.map(({ units: own }) => names(own))).toEqual([[span, "posts/ada/1"], [count]]);
  expect(names(others)).toEqual(["posts/x"]);
});

test("a range from a cursor, and one of a whole table", () => {
  const span = spanId({ table: "feed", kind: "rows", lo: "ada/5", hi: "ada0" });
  const all = spanId({ table: "rooms", kind: "rows", lo: "", hi: "" });
  const between = spanId({ table: "nights", kind: "rows", lo: "h1@3", hi: "h1@9" });
  expect(resolve(["nights/from {hotel}@{a} … to {hotel}@{b}, first 9"], [unit(between)]).others).toEqual([]);
  const { patterns } = resolve(
    ["feed/{me}/… before {cursor}, last {limit}", "rooms/…, first 100"],
    [unit(span), unit(all)],
  );
  expect(patterns.map(({ units: own }) => names(own))).toEqual([[span], [all]]);
});
