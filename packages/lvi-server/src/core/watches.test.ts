/** Watches: a session hears of the next change of a unit that it has read, or finds out that it was not told. */
import {
  commitId,
  entryOf,
  type ExecutionId,
  type HeardReply,
  type Line,
  type ModuleHash,
  type SessionId,
  spanId,
  type UnitId,
  unitId,
} from "@radical/protocol";
import { beforeEach, expect, test } from "vitest";
import { DEFAULT_CORE_OPTIONS } from "./core-options.ts";
import type { Event } from "./events.ts";
import { Listeners } from "./listeners.ts";
import { LviCore } from "./lvi-core.ts";

const TERM_MS = 3_000;
const note = (key: string): UnitId => unitId("notes", key);

let listeners: Listeners;
let nowMs: number;
let lines: Line[];
let reply: HeardReply | null;
let listener: number;
let commits: number;

beforeEach(() => {
  listeners = new Listeners({
    epoch: 1,
    ground: { isWanted: () => false, versionOf: () => null, areNamed: () => true },
    emit: (effect) => {
      if (effect.kind === "tell") lines.push(effect.line);
      if (effect.kind === "heard-reply") ({ reply } = effect);
    },
  });
  [nowMs, listener, commits] = [0, 0, 0];
  lines = [];
});

const term = () => ({ nowMs, untilMs: nowMs + TERM_MS });

function listen(session: SessionId | null, heard = 0): SessionId {
  lines = [];
  const question = { location: "JP", name: "isolate", session, heard, ends: null };
  listeners.step({ kind: "listens", listener: ++listener, ...question }, term());
  const [first] = lines;
  if (first?.kind !== "session") throw new Error("The answer begins with no session.");
  lines = lines.slice(1);
  return first.session;
}

function hears(session: SessionId, n: number): HeardReply["kind"] {
  reply = null;
  listeners.step({ kind: "heard", caller: 1, session, n, served: [] }, term());
  return (reply as HeardReply | null)!.kind;
}

const watch = (session: SessionId, ...keys: readonly string[]): void =>
  listeners.watch({ id: session, heard: 0, watches: true }, keys.map(note), nowMs);

function write(...keys: readonly string[]): void {
  const writes = keys.map((key) => ({ unit: note(key), value: Uint8Array.of(1) }));
  listeners.applied(commitId(1, ++commits), writes, () => new Set(), term());
}

test("the next change of a unit is told, once, until the unit is watched again", () => {
  const session = listen(null);
  watch(session, "a", "b");
  write("a", "c");
  write("a");
  expect(lines).toEqual([{ kind: "changed", n: 1, units: [note("a")] }]);
  watch(session, "a");
  write("a", "b");
  expect(lines.at(-1)).toEqual({ kind: "changed", n: 2, units: [note("a"), note("b")] });
});

test("the next change inside a watched span is told, under the name of the span", () => {
  const session = listen(null);
  const page = spanId({ table: "notes", kind: "rows", lo: "b", hi: "d" });
  listeners.watch({ id: session, heard: 0, watches: true }, [page, note("c")], nowMs);
  write("a", "d");
  expect(lines).toEqual([]);
  write("c");
  expect(lines).toEqual([{ kind: "changed", n: 1, units: [note("c"), page] }]);
  write("b");
  expect(lines.length).toBe(1);
});

test("a change while no stream is open is told on the next one, until it is heard", () => {
  const session = listen(null);
  watch(session, "a");
  listeners.step({ kind: "stopped-listening", listener }, term());
  write("a");
  expect(listen(session)).toBe(session);
  expect(lines).toEqual([{ kind: "changed", n: 1, units: [note("a")] }]);
  expect(hears(session, 1)).toBe("renewed");
  listen(session, 1);
  expect(lines).toEqual([]);
});

test("a session whose stream does not arrive lapses, though its messages do: it is to read anew", () => {
  const session = listen(null);
  expect(hears(session, 0)).toBe("renewed");
  watch(session, "a");
  write("a");
  nowMs = 2_999;
  expect(hears(session, 0)).toBe("renewed");
  nowMs = 3_000;
  expect(hears(session, 0)).toBe("lapsed");
  expect(listen(session)).not.toBe(session);
});

test("a session that hears its lines lives as long as it says so", () => {
  const session = listen(null);
  for (let n = 1; n <= 5; n++) {
    watch(session, "a");
    write("a");
    nowMs += 2_000;
    expect(hears(session, n)).toBe("renewed");
  }
});

test.each([
  [false, ["lease"]],
  [true, []],
])(
  "reads of one location, with watches %s, earn %j: a read that comes after a change needs no lease",
  (watches, expected) => {
    const module = "a".repeat(64) as ModuleHash;
    const item = { commitId: commitId(1, 1), value: Uint8Array.of(1) };
    const core = new LviCore(
      DEFAULT_CORE_OPTIONS,
      {
        epoch: 2,
        pending: [],
        items: new Map([[note("a"), item]]),
        leadership: null,
        namedReadLeaseMs: DEFAULT_CORE_OPTIONS.readLeaseMs,
        modules: new Map([[module, new Map([["f", "sliced"] as const])]]),
        moduleUses: new Map(),
      },
      { monotonicMs: 0, wallMs: 0 },
      { hash: () => ({ key: "k", hash: "h" }), hashWith: () => ({ key: "k", hash: "h" }) },
    );
    const kinds = new Set<string>();
    let session: SessionId | null = null;
    let atMs = 0;
    const tell = (event: Event): void => {
      for (const effect of core.step({ monotonicMs: ++atMs, wallMs: atMs }, event)) {
        if (effect.kind === "load") {
          tell({ kind: "loaded", operation: effect.operation, items: new Map([[note("a"), item]]) });
        }
        if (effect.kind !== "tell") continue;
        if (effect.line.kind === "session") ({ session } = effect.line);
        else if (effect.line.kind !== "hint") kinds.add(effect.line.kind);
      }
    };
    tell({ kind: "listens", listener: 1, location: "JP", name: "isolate", session: null, heard: 0, ends: null });
    atMs += 150;
    tell({ kind: "heard", caller: 1, session: session!, n: 0, served: [] });
    for (let read = 0; read < 50; read++) {
      atMs += 20;
      const request = {
        executionId: read.toString(16).padStart(32, "0") as ExecutionId,
        module,
        handler: "f",
        args: Uint8Array.of(0xa0),
        environment: { timeMs: atMs, seed: new Uint8Array(16), caller: null },
        location: "JP",
        units: [{ unit: note("a"), mode: "read", version: entryOf(item.commitId, item.value).version }],
        retained: false,
        deadlineMs: 10_000,
        attempt: 1,
        seen: commitId(2, 0),
        mustNotWrite: true,
        mayEffect: false,
        lanes: [],
        session: { id: session!, heard: 0, watches },
      } as const;
      tell({ kind: "lvi-request", caller: read + 2, request });
    }
    expect([...kinds]).toEqual(expected);
  },
);

test("changes of many units go in lines that a location takes, each unit once", () => {
  const session = listen(null);
  const keys = Array.from({ length: 3_000 }, (_, index) => `${index} ${"x".repeat(400)}`);
  watch(session, ...keys);
  write(...keys);
  const told = lines.flatMap((line) => (line.kind === "changed" ? [line] : []));
  expect(told.map(({ n }) => n)).toEqual(told.map((_, index) => index + 1));
  expect(told.flatMap(({ units }) => units)).toEqual(keys.map(note));
  expect(told.length).toBeGreaterThan(1);
  for (const line of told) expect(JSON.stringify(line).length).toBeLessThan(512 * 1024);
  expect(hears(session, told.length)).toBe("renewed");
});
