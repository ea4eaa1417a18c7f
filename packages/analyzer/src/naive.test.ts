/**
 * Files of handlers as TypeScript developers write them who do not know Radical yet. A build tells all of their mistakes
 * at once, few lines are to be changed, and then they do what they do as JavaScript.
 */
import { valueToJson } from "@radical/protocol";
import { deriveAccessSet, recordHandler, runHandler, type HandlerModule } from "@radical/wasm-host";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Diagnostic } from "./diagnostics/diagnostic.ts";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { JavaScriptHandlers, type Ending } from "./testing/as-javascript.ts";
import { buildInput } from "./testing/library.ts";
import { changed, changesBetween, isChanged, linesOf, naiveFile, type Change } from "./testing/naive-files.ts";
import { invocation, moduleOf, snapshotOf, type Items } from "./testing/run.ts";

const PATH = "handlers/naive.ts";

function built(text: string): BuildResult {
  return buildWith({ ...buildInput({ [PATH]: text }), optimize: false }, slicer);
}

function errorsOf(text: string): readonly Diagnostic[] {
  return built(text).diagnostics.filter(({ severity }) => severity === "error");
}

/** A call with arguments by name; `#1` in a text is the first id that the handlers have drawn. */
interface Call {
  readonly handler: string;
  readonly json: Readonly<Record<string, unknown>>;
  readonly caller: string | null;
  readonly timeMs: number;
}

type Values = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** Arguments of calls by handler; one that is undefined is left out. */
function callsOf(handlers: Readonly<Record<string, Values>>): fc.Arbitrary<Call> {
  return fc.oneof(
    ...Object.entries(handlers).map(([handler, values]) =>
      fc.record({
        handler: fc.constant(handler),
        json: fc
          .record(values)
          .map((json) => Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined))),
        caller: fc.oneof({ arbitrary: fc.constantFrom("ann", "bob", "cyd"), weight: 9 }, fc.constant(null)),
        timeMs: fc.constantFrom(0, 1, 4, 6, 60, 24 * 60, 5 * 24 * 60).map((minutes) => START + minutes * 60_000),
      }),
    ),
  );
}

const START = 1_700_000_000_000;
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { maxLength: 3 });

const event = fc.constantFrom("#1", "#1", "#2");
const seat = fc.constantFrom("Stalls/A1", "Stalls/A2", "Stalls/B1", "Box/A1", "Box/Z9");
const section = fc.record({
  name: fc.constantFrom("Stalls", "Box"),
  priceCents: fc.constantFrom(1999, 500),
  rows: fc.constantFrom(1, 2),
  seatsPerRow: fc.constantFrom(2, 3),
});
const project = fc.constantFrom("APP", "APP", "APP", "WEB");
const role = fc.constantFrom("owner", "member", "guest");
const issue = fc.constantFrom("APP-1", "app-1", " APP-2 ", "APP-3", "WEB-1", "APP-x");
const FILES = [
  {
    name: "tickets",
    lines: 9,
    first: [
      {
        handler: "createEvent",
        json: {
          title: "Hamlet",
          startsAt: "2026-01-31",
          sections: [{ name: "Stalls", priceCents: 1999, rows: 2, seatsPerRow: 2 }],
        },
      },
      { handler: "hold", json: { eventId: "#1", labels: ["Stalls/A1", "Stalls/B1"] } },
      { handler: "buy", json: { eventId: "#1" } },
    ].map((call): Call => ({ ...call, caller: "ann", timeMs: START })),
    calls: callsOf({
      createEvent: {
        title: fc.constantFrom("Hamlet", " Faust "),
        startsAt: fc.constantFrom("2026-01-31", "2026-01-30T19:30:00+01:00"),
        sections: some(section),
      },
      listEvents: { limit: optional(fc.constantFrom(1, 2)) },
      seatMap: { eventId: event },
      hold: { eventId: event, labels: some(seat) },
      buy: { eventId: event, coupon: optional(fc.constantFrom("half", "FREE", "")) },
      joinWaitingList: { eventId: event, wanted: optional(fc.constantFrom(1, 2)) },
      refund: { orderId: fc.constantFrom("#2", "#3", "#4") },
      addCoupon: {
        eventId: event,
        code: fc.constantFrom("HALF", "FREE", "no"),
        percentOff: fc.constantFrom(50, 33),
        uses: fc.constantFrom(1, 2),
      },
      dashboard: { eventId: event },
    }),
  },
  {
    name: "issues",
    lines: 3,
    first: [
      { handler: "createProject", json: { key: "APP" } },
      { handler: "report", json: { key: "APP", input: { title: "It is slow", labels: ["Speed", "speed"] } } },
      { handler: "addMember", json: { key: "APP", user: "bob" } },
    ].map((call): Call => ({ ...call, caller: "ann", timeMs: START })),
    calls: callsOf({
      createProject: { key: project, name: optional(fc.constantFrom("Web", "")) },
      addMember: { key: project, user: fc.constantFrom("ann", "bob", "cyd"), role: optional(role) },
      report: {
        key: project,
        input: fc
          .record({
            title: fc.constantFrom("It is slow", " no ", "It crashes "),
            body: optional(fc.constantFrom("", "Since today")),
            labels: optional(some(fc.constantFrom("Speed", "speed", "UI"))),
          })
          .map((json) => Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined))),
        priority: optional(fc.constantFrom("low", "normal", "high", "urgent")),
        estimate: optional(fc.constantFrom(0, 0.5, 3)),
      },
      update: {
        reference: issue,
        status: optional(fc.constantFrom("open", "in_progress", "done")),
        assignee: optional(fc.constantFrom("ann", "bob", "")),
        dueInDays: optional(fc.constantFrom(-1, 0, 2, 5)),
      },
      comment: { reference: issue, text: fc.constantFrom("@ann look", "it works @bob @dan", "") },
      vote: { reference: issue },
      board: {
        key: project,
        order: optional(fc.constantFrom("priority", "votes", "newest")),
        label: optional(fc.constantFrom("speed", "ui", "")),
      },
      workload: { key: project },
      exportProject: { key: project },
      feed: { key: project, limit: optional(fc.constantFrom(0, 3)) },
    }),
  },
] as const;

describe.each(FILES)("the file $name", ({ name, lines, first, calls }) => {
  const { naive, built: mended } = naiveFile(name);
  const changes = changesBetween(naive, mended);
  /** The changes that the mistakes ask for, with the lines that are only added. */
  const needed = (): Change[] => {
    const found = errorsOf(naive);
    return changes.filter((change) => change.before.length === 0 || isTold(change, found, naive));
  };

  test("one build tells all of its mistakes, at lines that are to be changed", () => {
    const found = errorsOf(naive);
    expect(found.filter((error) => !changes.some((change) => isTold(change, [error], naive)))).toEqual([]);
    expect(errorsOf(changed(naive, needed()))).toEqual([]);
  });

  test("few lines are to be changed", () => {
    expect(linesOf(needed())).toBeLessThanOrEqual(lines);
  });

  test("each message is in the words of the developer, and says what to write", () => {
    for (const { message, help } of errorsOf(naive)) {
      expect(`${message} ${help ?? ""}`).not.toMatch(/<object>|\bauto\b|\b[iu]size\b|\$t\d/);
      expect(help).toBeTruthy();
    }
  });

  describe("as it builds", () => {
    let build: BuildResult;
    let module: HandlerModule;

    beforeAll(() => {
      build = built(changed(naive, needed()));
      module = moduleOf(build);
    });

    test("each handler is sliced", () => {
      expect(build.handlers.filter(({ plan }) => plan.kind !== "sliced").map((handler) => handler.name)).toEqual([]);
    });

    test("it does what the naive file does as JavaScript", () => {
      const endings = new Map<string, number>();
      fc.assert(
        fc.property(fc.array(calls, { minLength: 10, maxLength: 40 }), (random) => {
          const history = [...first, ...random];
          const javaScript = new JavaScriptHandlers(naive);
          const [ids, namesakes] = [new Ids(), new Ids()];
          const items: Items = new Map();
          for (const [index, call] of history.entries()) {
            const { parameters } = build.handlers.find((handler) => handler.name === call.handler)!;
            const json = ids.real(call.json) as Call["json"];
            const args = parameters.map((parameter) => json[parameter.name]);
            const wanted = ids.named(javaScript.call({ ...call, args }));
            const found = run(
              build,
              module,
              items,
              { ...call, json: namesakes.real(call.json) as Call["json"] },
              index,
            );
            expect([call, parsed(namesakes.named(found))]).toEqual([call, parsed(wanted)]);
            const ending = `${call.handler} ${found.kind}`;
            endings.set(ending, (endings.get(ending) ?? 0) + 1);
          }
        }),
        { numRuns: 60, seed: 1 },
      );
      for (const handler of build.handlers) expect(endings.get(`${handler.name} result`) ?? 0).toBeGreaterThan(3);
    });
  });
});

/** Whether a mistake is told at a line that is changed, or in the statement that ends there. */
function isTold(change: Change, found: readonly Diagnostic[], text: string): boolean {
  return found.some(({ primary, related, code }) => {
    const lines = [primary, ...related.map(({ span }) => span)].map(({ line }) => line);
    if (code === "try_statement") lines.push(...linesOfTry(text.split("\n"), primary.line));
    return lines.some((line) => isChanged(change, line));
  });
}

/** The lines of a `try` that have no statement of its blocks but those of `catch`. */
function linesOfTry(lines: readonly string[], from: number): number[] {
  const indent = /^ */.exec(lines[from - 1]!)![0];
  const middle = lines.findIndex((line, index) => index >= from && line.startsWith(`${indent}} catch`));
  const end = lines.findIndex((line, index) => index > middle && line === `${indent}}`);
  return [from, ...Array.from({ length: end - middle + 1 }, (_, index) => middle + 1 + index)];
}

/** The ids that handlers have drawn, by the order in which they are seen. */
class Ids {
  readonly #seen: string[] = [];

  /** The value with `#1` in place of the first id. */
  named(value: unknown): unknown {
    const named = JSON.stringify(value, sorted).replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, (id) => {
      if (!this.#seen.includes(id)) this.#seen.push(id);
      return `#${this.#seen.indexOf(id) + 1}`;
    });
    return JSON.parse(named);
  }

  /** The value with the first id in place of `#1`. */
  real(value: unknown): unknown {
    const real = JSON.stringify(value).replaceAll(/#(\d+)/g, (text, place) => this.#seen[Number(place) - 1] ?? text);
    return JSON.parse(real);
  }
}

/** The ending with the texts that are JSON parsed: their fields have the order of the type, or that in which they were set. */
function parsed(ending: unknown): unknown {
  const { result } = ending as { readonly result?: Readonly<Record<string, unknown>> | null };
  if (result === null || typeof result !== "object") return ending;
  const members = Object.entries(result).map(([name, value]) =>
    JSON_MEMBERS.has(name) ? ([name, JSON.parse(value as string) as unknown] as const) : ([name, value] as const),
  );
  return { ...(ending as object), result: Array.isArray(result) ? result : Object.fromEntries(members) };
}

const JSON_MEMBERS: ReadonlySet<string> = new Set(["raw", "json"]);

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Runs a handler on the items, and within the set that is derived for it. */
function run(build: BuildResult, module: HandlerModule, items: Items, call: Call, seed: number): Ending {
  const invoked = invocation(build, call.handler, call.json, seed, call.caller);
  const timed = { ...invoked, environment: { ...invoked.environment, timeMs: call.timeMs } };
  const snapshot = snapshotOf(items);
  const recorded = recordHandler(module, timed, snapshot, { guess: false }).run!;
  const { outcome, writes } = recorded;
  const derived = deriveAccessSet(module, timed, snapshot);
  // Where a handler ends early, its set may end too.
  if (outcome.kind === "result") expect(derived.kind).not.toBe("failed");
  if (derived.kind !== "failed") expect(runHandler(module, timed, snapshot, derived.set)).toEqual(recorded);
  for (const { unit, value } of writes) {
    if (value === null) items.delete(unit);
    else items.set(unit, value);
  }
  switch (outcome.kind) {
    case "result":
      return { kind: "result", result: JSON.parse(valueToJson(outcome.value)) as unknown };
    case "abort": {
      const { status: code, code: word, message } = outcome;
      return { kind: "abort", status: code, code: word, message };
    }
    case "trap":
      return { kind: "trap" };
  }
}
