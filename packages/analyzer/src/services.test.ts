/** Services: `/** @service *\/ export declare function`, from the source to the effects of a run. */
import { encodeArguments, type RunEffect } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { readService } from "./schema/service-tags.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { call } from "./testing/run.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  return buildWith({ ...buildInput(files), optimize: false }, slicer);
}

const SERVICES = `
  export class Line { item: string = ""; cents: i64 = 0; }
  export class Receipt { id: string = ""; }
  /** Takes the money.
   *  @param order the order
   *  @service keyWindow=25m
   *  @retry 5
   *  @limit 3 */
  export declare function charge(order: string, lines: Line[], note?: string): Receipt;
  /** @service once */
  export declare function sendMail(to: string, subject: string): void;
`;
const HANDLERS = `
  import { Table, enqueue } from "@radical/sdk";
  import { charge, sendMail, Line } from "../services";
  const orders = new Table<string>("orders");
  export function buy(order: string, buyer: string): string {
    orders.put(order, buyer);
    const line: Line = { item: "pen", cents: 900 };
    enqueue(sendMail(buyer, "Order " + order), { key: buyer });
    return enqueue(charge(order, [line]), { delay: 5 });
  }
`;

describe("a service", () => {
  const built = build({ "services.ts": SERVICES, "handlers/shop.ts": HANDLERS });

  test("is no handler, and has the types and rules of its declaration", () => {
    expect(built.diagnostics).toEqual([]);
    expect(built.handlers.map(({ name }) => name)).toEqual(["buy"]);
    expect(built.services).toEqual([
      {
        name: "charge",
        file: "services.ts",
        line: 9,
        parameters: [
          { name: "order", type: { kind: "string" }, optional: false, description: "the order" },
          { name: "lines", type: { kind: "array", element: { kind: "record", name: "Line" } }, optional: false },
          { name: "note", type: { kind: "string" }, optional: true, absent: true },
        ],
        result: { kind: "record", name: "Receipt" },
        keyWindowMs: 1_500_000,
        once: false,
        tasks: { attempts: 5, limit: { running: 3, rate: null } },
        description: "Takes the money.",
      },
      {
        name: "sendMail",
        file: "services.ts",
        line: 11,
        parameters: [
          { name: "to", type: { kind: "string" }, optional: false },
          { name: "subject", type: { kind: "string" }, optional: false },
        ],
        result: null,
        keyWindowMs: 72_000_000,
        once: true,
        tasks: null,
        description: null,
      },
    ]);
    expect(Object.keys(built.records).toSorted()).toEqual(["Line", "Receipt"]);
  });

  test("is called by a task, with arguments as a client would send them", () => {
    const { run } = call(built, new Map(), "buy", { order: "o1", buyer: "ann" });
    const { parameters } = built.services[0]!;
    const args = encodeArguments(parameters, built.records, { order: "o1", lines: [{ item: "pen", cents: 900 }] });
    expect(args.kind).toBe("encoded");
    expect(run.effects).toMatchObject([
      { kind: "enqueue", callee: "sendMail", key: "ann", delayMs: 0 },
      {
        kind: "enqueue",
        callee: "charge",
        args: args.kind === "encoded" ? args.bytes : new Uint8Array(),
        delayMs: 5,
        key: null,
      },
    ] satisfies Partial<RunEffect>[]);
  });

  test("leaves its arguments out of the read/write set", () => {
    const { plan, rwSource, mayEffect } = built.handlers[0]!;
    expect([plan.kind, mayEffect]).toEqual(["sliced", true]);
    expect(rwSource).not.toContain("pen");
  });

  test("may stand in a file of handlers, and is not called by clients", () => {
    const text = `${SERVICES.replaceAll("note?: string", "")}${HANDLERS.replace(/import .* from "..\/services";/, "")}`;
    const one = build({ "handlers/shop.ts": text });
    expect(one.diagnostics).toEqual([]);
    expect([one.handlers.map(({ name }) => name), one.services.map(({ name }) => name)]).toEqual([
      ["buy"],
      ["charge", "sendMail"],
    ]);
  });
});

describe("a mistake is refused at its place", () => {
  const HEAD = `import { Table, enqueue } from "@radical/sdk";
    const log = new Table<string>("log");
    /** @service */ export declare function charge(order: string): string;
    /** @service */ export declare function mail(to: string): void;
    `;
  test.each([
    [
      "a call",
      `export function h(): string { return charge("a"); }`,
      `charge("a")`,
      "unquoted_service",
      "enqueue(charge(…))",
    ],
    [
      "a call without a result",
      `export function h(): void { mail("a"); }`,
      `mail("a")`,
      "unquoted_service",
      "enqueue(mail(…))",
    ],
    [
      "a call in a helper",
      `function f(): void { mail("a"); } export function h(): void { f(); }`,
      `mail("a")`,
      "unquoted_service",
      "more than once",
    ],
    ["arguments of another type", `export function h(): void { enqueue(charge(5)); }`, "5)", "type_error", ""],
    [
      "too few arguments",
      `export function h(): void { enqueue(charge()); }`,
      "charge()",
      "quoted_call",
      "another number",
    ],
    [
      "a body",
      `/** @service */ export function fax(to: string): void {} export function h(): void {}`,
      "fax",
      "service_declaration",
      "has a body",
    ],
    [
      "type parameters",
      `/** @service */ export declare function fax<T>(to: T): void; export function h(): void {}`,
      "fax",
      "service_declaration",
      "type parameters",
    ],
    [
      "a type that can't be sent",
      `/** @service */ export declare function fax(to: Set<string>): void; export function h(): void {}`,
      "Set<string>",
      "unsupported_type",
      "of service fax",
    ],
    [
      "another option",
      `/** @service fast */ export declare function fax(to: string): void; export function h(): void {}`,
      "@service fast",
      "unknown_tag",
      "does not know",
    ],
    [
      "a reading service",
      `/** @service read */ export declare function rate(to: string): f64; export function h(): void {}`,
      "@service read",
      "unknown_tag",
      "step of a workflow",
    ],
    [
      "a tag before a class",
      `/** @service */ class Pen {} export function h(): void {}`,
      "@service */ class".slice(0, 8),
      "misplaced_tag",
      "does not stand before a function",
    ],
    [
      "a tag of handlers",
      `/** @service\n * @nearstorage */ export declare function fax(to: string): void; export function h(): void {}`,
      "@nearstorage",
      "misplaced_tag",
      "not a handler",
    ],
    [
      "another declaration without a body",
      `declare function fax(to: string): void; export function h(): void {}`,
      "fax",
      "host_import",
      "@service",
    ],
  ])("%s", (_what, code, at, diagnosticCode, words) => {
    const text = `${HEAD}${code}\n`;
    const errors = build({ "handlers/h.ts": text }).diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map((error) => error.code)).toEqual([diagnosticCode]);
    expect(`${errors[0]!.message} ${errors[0]!.help ?? ""}`).toContain(words);
    expect(errors[0]!.primary.start).toBe(text.indexOf(at, HEAD.length));
  });

  test("its value is refused at its declaration", () => {
    const text = `${HEAD}export function h(): void { const f = charge; f("a"); }\n`;
    const [error, ...others] = build({ "handlers/h.ts": text }).diagnostics;
    expect([error?.code, error?.primary.start, others]).toEqual(["unquoted_service", text.indexOf("charge"), []]);
  });

  test("the name of a handler, or of another service", () => {
    const handler = build({
      "services.ts": `/** @service */ export declare function pay(to: string): void;`,
      "handlers/h.ts": `import { pay as other } from "../services"; import { enqueue } from "@radical/sdk";
        export function pay(): void { enqueue(other("a")); }`,
    });
    expect(handler.diagnostics).toMatchObject([{ code: "duplicate_handler", primary: { file: "services.ts" } }]);
    const service = build({
      "a.ts": `/** @service */ export declare function pay(to: string): void;`,
      "handlers/h.ts": `import { pay as other } from "../a"; import { enqueue } from "@radical/sdk";
        /** @service */ export declare function pay(to: string): void;
        export function h(): void { enqueue(other("a")); }`,
    });
    expect(service.diagnostics.map(({ code }) => code)).toEqual(["duplicate_handler"]);
  });
});

test("the options of @service", () => {
  expect(readService([])).toEqual({ keyWindowMs: 72_000_000, once: false });
  expect(readService(["once"])).toEqual({ keyWindowMs: 72_000_000, once: true });
  expect(readService(["keyWindow=24h"])).toEqual({ keyWindowMs: 86_400_000, once: false });
  for (const words of [["keyWindow=5s"], ["keyWindow=soon"], ["once", "once"], ["once", "keyWindow=5m"], ["keyWindow"]])
    expect(typeof readService(words)).toBe("string");
});
