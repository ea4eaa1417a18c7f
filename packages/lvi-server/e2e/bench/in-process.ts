/** The protocol core without its driver, and the lock table: nanoseconds of one operation, by the number of units. */
import { randomBytes } from "node:crypto";
import {
  type AccessedUnit,
  commitId,
  compareKeys,
  entryOf,
  type ExecutionId,
  type LviRequest,
  type ModuleHash,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { LockTable } from "../../src/core/lock-table.ts";
import { DEFAULT_CORE_OPTIONS } from "../../src/core/core-options.ts";
import { LviCore } from "../../src/core/lvi-core.ts";
import { KeyRing } from "../../src/http/keys.ts";
import type { StoredItem } from "../../src/core/version-table.ts";
import { type Effort, type Figure, figure, median, type Progress } from "./figure.ts";

const UNITS = [1, 10, 100, 1_000];
const MODULE = "a".repeat(64) as ModuleHash;
const ITEM: StoredItem = { commitId: commitId(1, 1), value: new Uint8Array(32) };
const NOW = { monotonicMs: 1_000, wallMs: 1_700_000_000_000 };

export function benchInProcess(effort: Effort, progress: Progress): readonly Figure[] {
  return UNITS.flatMap((count) => {
    progress(`${count} units`);
    // About as much work for each.
    const operations = Math.max(20, Math.ceil((effort.requests * 4) / (count + 4)));
    return [
      figure(`read-only request validated, ${count} units`, median(validations(count, operations, effort.turns)), "ns"),
      figure(`locks taken and freed, ${count} units`, median(locks(count, operations, effort.turns)), "ns"),
    ];
  });
}

/** Of each turn. */
function validations(count: number, operations: number, turns: number): readonly number[] {
  const core = new LviCore(
    DEFAULT_CORE_OPTIONS,
    { epoch: 2, pending: [], leadership: null, modules: new Map([[MODULE, new Map([["f", "sliced"]])]]) },
    NOW,
    new KeyRing({ locations: new Map([["bench", randomBytes(32)]]), administration: new Map() }).callHashes,
  );
  const { version } = entryOf(ITEM.commitId, ITEM.value);
  const units: readonly AccessedUnit[] = unitsOf(count).map((unit) => ({ unit, mode: "read", version }));
  let callers = 0;
  const request = (): LviRequest => ({
    executionId: randomBytes(16).toString("hex") as ExecutionId,
    module: MODULE,
    handler: "f",
    args: new Uint8Array(8),
    environment: { timeMs: NOW.wallMs, seed: randomBytes(16), caller: null },
    location: "bench",
    units,
    retained: false,
    mustNotWrite: false,
    mayEffect: false,
    lanes: [],
    session: null,
    deadlineMs: 10_000,
    attempt: 1,
    seen: commitId(2, 0),
  });
  const step = (one: LviRequest): ReturnType<LviCore["step"]> =>
    core.step(NOW, { kind: "lvi-request", caller: ++callers, request: one });
  // The first one loads.
  for (const effect of step(request())) {
    if (effect.kind !== "load") continue;
    core.step(NOW, {
      kind: "loaded",
      operation: effect.operation,
      items: new Map(effect.units.map((unit) => [unit, ITEM])),
    });
  }
  return timed(turns, () => {
    const requests = Array.from({ length: operations }, request);
    return () => {
      for (const one of requests) {
        const reply = step(one).find(({ kind }) => kind === "reply");
        if (reply?.kind !== "reply" || reply.reply.kind !== "valid") throw new Error("not valid");
      }
      return operations;
    };
  });
}

function locks(count: number, operations: number, turns: number): readonly number[] {
  const table = new LockTable<{ readonly id: number }>();
  const accesses = unitsOf(count).map((unit) => ({ unit, mode: "exclusive" as const }));
  return timed(turns, () => () => {
    for (let id = 0; id < operations; id++) {
      const owner = { id };
      if (!table.acquire(owner, accesses, id)) throw new Error("somebody holds them");
      table.release(owner);
    }
    return operations;
  });
}

function unitsOf(count: number): readonly UnitId[] {
  return Array.from({ length: count }, (_, index) => unitId("items", `key-${index}`)).toSorted(compareKeys);
}

/** `prepare` is not counted; nor is the first turn. */
function timed(turns: number, prepare: () => () => number): readonly number[] {
  const times: number[] = [];
  for (let turn = 0; turn <= turns; turn++) {
    const run = prepare();
    const startedAtMs = performance.now();
    const operations = run();
    if (turn > 0) times.push(((performance.now() - startedAtMs) * 1e6) / operations);
  }
  return times;
}
