import {
  type CommitId,
  commitId,
  entryOf,
  type ExecutionId,
  type Line,
  type ModuleHash,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { expect, test } from "vitest";
import type { LocationEffect } from "./effects.ts";
import type { ExecutionInput } from "./execution.ts";
import { LocationCore } from "./location.ts";

const UNIT = unitId("notes", "a");
const OTHER = unitId("notes", "b");

const INPUT: ExecutionInput = {
  executionId: "0123456789abcdef0123456789abcdef" as ExecutionId,
  module: "ab".repeat(32) as ModuleHash,
  handler: "follow",
  args: Uint8Array.of(0xa0),
  environment: { timeMs: 1_000, seed: new Uint8Array(16), caller: "ann" },
  location: "VA",
  plan: "near-storage",
  retained: false,
  repeatKey: "execution-0123456789abcdef0123456789abcdef",
  mustNotWrite: false,
  mayEffect: false,
  prefersSpeculative: false,
  speculative: false,
  watches: false,
  takesLeases: true,
  undeclaredTables: [],
};

const newLocation = (): LocationCore => new LocationCore({ servers: 2, listener: "isolate" });
const free = (location: LocationCore, atMs: number): readonly LocationEffect[] =>
  location.step({ kind: "free", location: "VA", atMs });

/** The first LVI request of a new execution says this. */
function asked(location: LocationCore): { readonly server: number; readonly seen: CommitId | null } {
  const [effect] = location.execution(INPUT).step({ kind: "started", atMs: 0 });
  if (effect?.kind !== "send") throw new Error("It sends nothing.");
  return { server: effect.server, seen: effect.request.seen };
}

test("what one execution is told of the primary, the next one knows: who leads, and how far it has come", () => {
  const location = newLocation();
  expect(asked(location)).toEqual({ server: 0, seen: null });
  const execution = location.execution(INPUT);
  execution.step({ kind: "started", atMs: 0 });
  execution.step({ kind: "not-leading", reason: "it waits", atMs: 0 });
  expect(asked(location)).toEqual({ server: 1, seen: null });
  const times = { receivedAtMs: 0, sentAtMs: 0 };
  const reply = {
    kind: "executed",
    cause: "requested",
    outcome: { kind: "result", value: new Uint8Array() },
    repairs: [],
    times,
    asOf: commitId(2, 3),
  } as const;
  execution.step({ kind: "replied", reply, atMs: 0 });
  expect(asked(location)).toEqual({ server: 1, seen: commitId(2, 3) });
});

test("one request listens at a time; after a shift the next one does, under the same name", () => {
  const location = newLocation();
  const question = { location: "VA", listener: "isolate", session: null, heard: 0, ends: null };
  expect(free(location, 0)).toEqual([{ kind: "listen", shift: 1, server: 0, question }]);
  expect(free(location, 14_999)).toEqual([]);
  expect(free(location, 15_000)).toEqual([{ kind: "listen", shift: 2, server: 0, question }]);
  // The end of the first shift changes nothing: the second one listens.
  location.step({ kind: "listened", shift: 1, isOver: true, atMs: 15_001 });
  expect(free(location, 15_001)).toEqual([]);
  location.step({ kind: "listened", shift: 2, isOver: true, atMs: 15_002 });
  expect(free(location, 15_002)).toHaveLength(1);
});

test("a failure is not tried again by every request", () => {
  const location = newLocation();
  free(location, 0);
  location.step({ kind: "listened", shift: 1, isOver: false, atMs: 0 });
  expect(free(location, 4_999)).toEqual([]);
  expect(free(location, 5_000)).toHaveLength(1);
});

test("memory takes updates with a unit that it holds, or that is leased with them, and else none of them", () => {
  const location = newLocation();
  free(location, 0);
  const entries = [UNIT, OTHER].map((unit) => ({ unit, entry: entryOf(commitId(1, 1), Uint8Array.of(7)) }));
  const hint: Line = { kind: "hint", entries };
  const lease: Line = { kind: "lease", n: 1, units: [{ unit: UNIT, version: entries[0]!.entry.version }] };
  const told = (lines: readonly Line[], held: readonly UnitId[]): readonly LocationEffect[] =>
    location.step({ kind: "told", shift: 1, lines, held, atMs: 0 });
  expect(told([hint], [])).toEqual([]);
  expect(told([hint], [OTHER])).toEqual([{ kind: "refresh", entries }]);
  expect(told([hint, lease], [])).toEqual([{ kind: "refresh", entries }]);
});
