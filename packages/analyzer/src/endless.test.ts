import { deriveAccessSet } from "@radical/wasm-host";
import { expect, test } from "vitest";
import { buildWith } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { call, invocation, moduleOf, snapshotOf, type Items } from "./testing/run.ts";

const HEAD = `import { Table } from "@radical/sdk";
class Pace { step: i32 = 1; }
const paces = new Table<Pace>("paces");
const log = new Table<string>("log");
function stepOf(name: string): i32 { const pace = paces.get(name); return pace == null ? 0 : pace.step; }
`;
/** A loop that goes on forever where there is no pace. */
const WALK = "let rounds = 0; for (let i = 0; i < 10; i += stepOf_) rounds++; log.has(rounds.toString());";

const build = buildWith(
  {
    ...buildInput({
      "handlers/h.ts": `${HEAD}
export function setPace(name: string, step: i32): void { const pace = new Pace(); pace.step = step; paces.put(name, pace); }
export function walk(name: string): void { const stepOf_ = stepOf(name); ${WALK} }
export function search(name: string): void {
  const text = "a".repeat(30000) + "b"; const step = stepOf(name); let found = 0;
  for (let i = 0; i < 10; i += step) found += text.indexOf("ab");
  log.has(found.toString());
}
export function walkGiven(name: string): void { log.has("given"); }
/** @readwrite walkGiven */
function walkGivenSet(name: string): void { const stepOf_ = stepOf(name); log.touch("given"); ${WALK} }`,
    }),
    optimize: false,
  },
  slicer,
);

test.each(["walk", "search", "walkGiven"])("%s ends, wherever a guess may lead it", (handler) => {
  const module = moduleOf(build);
  const items: Items = new Map();
  const invoked = invocation(build, handler, { name: "a" });
  // Nothing is known yet: what it says is provisional, however it ended.
  expect(deriveAccessSet(module, invoked, () => undefined)).toMatchObject({ kind: "derived", missing: ["paces/a"] });
  // It is really so: there is no set.
  expect(deriveAccessSet(module, invoked, snapshotOf(items))).toEqual({
    kind: "failed",
    reason: "the read/write-set function trapped: the handler used up its fuel",
  });
  call(build, items, "setPace", { name: "a", step: 3 });
  const derived = deriveAccessSet(module, invoked, snapshotOf(items));
  expect(derived).toMatchObject({ kind: "derived", missing: [] });
  expect(derived.kind === "derived" && derived.set.reads.size).toBeGreaterThan(1);
  // Each run has all fuel.
  for (let run = 0; run < 3; run++) expect(deriveAccessSet(module, invoked, snapshotOf(items))).toEqual(derived);
});
