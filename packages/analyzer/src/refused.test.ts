/**
 * The list of refusals in ANALYSIS.md is exact: the analyzer refuses all that it lists, and it lists all that the analyzer
 * can refuse.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { CATALOGUE } from "./diagnostics/catalogue.ts";
import { refusalReasons } from "./lower/library.ts";
import { buildWith } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";

const SOURCES = fileURLToPath(new URL(".", import.meta.url));
const PAGE = readFileSync(new URL("../ANALYSIS.md", import.meta.url), "utf8");
const HEAD = `import { Row, Table, abort, random, enqueue, verifyPassword } from "@radical/sdk";
class Item { n: i32 = 0; s: string = ""; }
const items = new Table<Item>("items");
`;

function section(heading: string): string {
  const text = PAGE.split(/^### /m).find((part) => part.startsWith(`${heading}\n`));
  if (text === undefined) throw new Error(`ANALYSIS.md has no section ${heading}`);
  return text;
}

/** `* words (`code`): `example`` */
const LISTED = [...section("No rule").matchAll(/^\* .*? \(`(\w+)`\): `(.*)`$/gm)].map(
  ([, code = "", example = ""]) => ({
    code,
    example,
  }),
);

const GUARDS = [...section("Guards").matchAll(/^\* (.*)$/gm)].map(([, message = ""]) => message);

/** The reason that the example's handler is given. */
function reasonOf(example: string): { readonly code: string; readonly message: string } {
  const { handlers, diagnostics } = buildWith(
    { ...buildInput({ "handlers/h.ts": HEAD + example }), optimize: false },
    slicer,
  );
  const [handler] = handlers;
  if (handler?.plan.kind === "recorded") return handler.plan.reason;
  return { code: handler?.plan.kind ?? "", message: diagnostics[0]?.message ?? "" };
}

const REASONS = new Map(LISTED.map(({ example }) => [example, reasonOf(example)]));
const MESSAGES = [...REASONS.values()].map(({ message }) => message);

/** The messages of all refusals in the analyzer, as they are written there. */
function messagesInSource(): readonly string[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".ts") && !path.endsWith(".test.ts"),
  );
  return files.flatMap((path) => {
    const text = readFileSync(SOURCES + path, "utf8");
    const written = [...text.matchAll(/new Refusal\(\s*"\w+",\s*\{\s*message:\s*(?:"([^"]*)"|`([^`]*)`)/g)];
    // None is made in a way that this would not see.
    expect([path, written.length]).toEqual([path, text.split("new Refusal(").length - 1]);
    return written.map(([, plain, template]) => plain ?? template ?? "");
  });
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\$\{[^}]*\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`);
}

test.each(LISTED)("$code: $example", ({ code, example }) => {
  expect(REASONS.get(example)?.code).toBe(code);
});

test("each refusal of the analyzer is listed with an example, or as a guard, and nothing else is", () => {
  const templates = messagesInSource();
  expect(templates.length).toBeGreaterThan(20);
  const reached = (template: string): boolean => MESSAGES.some((message) => patternOf(template).test(message));
  const shown = (template: string): string => template.replaceAll(/\$\{[^}]*\}/g, "…");
  expect(new Set(templates.filter((template) => !reached(template)).map(shown))).toEqual(new Set(GUARDS));
});

test("each reason why a member of the library has no model is listed with an example, or refused before", () => {
  const before = section("Told before");
  const missing = [...refusalReasons()].filter(
    (reason) => !MESSAGES.some((message) => message.includes(`: ${reason}.`)) && !before.includes(`* ${reason}\n`),
  );
  expect(missing).toEqual([]);
  const listed = [...before.matchAll(/^\* (.*)$/gm)].map(([, reason = ""]) => reason);
  expect(listed.filter((reason) => !refusalReasons().has(reason))).toEqual([]);
  expect(listed.filter((reason) => MESSAGES.some((message) => message.includes(`: ${reason}.`)))).toEqual([]);
});

test("each code that can be told of a handler is on the page, by what it means for the handler", () => {
  const codes = (heading: string): string[] =>
    [...section(heading).matchAll(/`([a-z_]+)`/g)].map(([, code = ""]) => code);
  const known = Object.entries(CATALOGUE);
  const warnings = known.filter(([, { severity }]) => severity !== "error").map(([code]) => code);
  const told = new Set([...LISTED.map(({ code }) => code), ...codes("Other falls"), ...codes("Guards")]);
  expect([...told].toSorted()).toEqual(warnings.toSorted());
  const errors = known.filter(([, { severity }]) => severity === "error").map(([code]) => code);
  expect(codes("Errors").toSorted()).toEqual(errors.toSorted());
});
