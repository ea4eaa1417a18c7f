/** The handlers that the project's documents show are handlers that build. */
import { globSync, readFileSync } from "node:fs";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { buildApplication } from "./index.ts";
import { buildInput } from "./testing/library.ts";

const root = new URL("../../../", import.meta.url);

/** Pages with a handler of their own. Parts that come from a file are handlers of an application with tests. */
const pages = [
  "README.md",
  "templates/minimal/AGENTS.md",
  ...globSync("docs/{,concepts/,how-to/}*.md", { cwd: fileURLToPath(root) }),
]
  .map((path) => path.split(sep).join("/"))
  .filter((path) => examplesOf(path).length > 0);

function examplesOf(path: string): readonly string[] {
  const text = readFileSync(new URL(path, root), "utf8").replace(/<!-- from: (?:code|sdk) [^]*?<!-- end -->/g, "");
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].flatMap(([, code]) =>
    code !== undefined && /from "@radical\/sdk"|^export function /m.test(code) ? [code] : [],
  );
}

test.each(pages)("the handlers of %s", async (path) => {
  for (const code of examplesOf(path)) {
    const result = await buildApplication({ ...buildInput({ "handlers/example.ts": code }), optimize: false });
    // Where a transformation is refused, a diagnostic names the expensive part that stays.
    expect(result.diagnostics.filter(({ code: name }) => name !== "expensive_read_write_set")).toEqual([]);
    // Each handler that is not sliced has a tag.
    expect(result.handlers.filter(({ plan }) => plan.kind === "recorded")).toEqual([]);
  }
});

test("pages that show handlers are among these", () => {
  expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/handlers.md", "docs/how-to/tables.md"]));
});

test("docs/analysis.md shows each transformation, and that one is refused", async () => {
  const text = readFileSync(new URL("docs/analysis.md", root), "utf8");
  const code = [...text.matchAll(/^```ts\n(.*?)^```/gms)].at(-1)?.[1] ?? "";
  const { handlers } = await buildApplication({ ...buildInput({ "handlers/example.ts": code }), optimize: false });
  expect(
    Object.fromEntries(handlers.map(({ name, transformations }) => [name, transformations.map(({ kind }) => kind)])),
  ).toEqual({ submit: ["union"], edit: ["dropped-guard"], front: ["widening"], exactFront: [] });
});

test("docs/tutorial.md shows what the analysis says of a handler of its application", async () => {
  const read = (file: string): string => readFileSync(new URL(file, root), "utf8");
  const code = read("docs/examples/booking/handlers/booking.ts");
  const { handlers } = await buildApplication({ ...buildInput({ "handlers/booking.ts": code }), optimize: false });
  const stay = handlers.find(({ name }) => name === "stay");
  const reads =
    stay?.reads.map(({ pattern, dependent }) => `  reads  ${pattern}${dependent ? "  dependent" : ""}`) ?? [];
  const writes = stay?.writes.map(({ pattern }) => `  writes ${pattern}`) ?? [];
  expect(writes).toHaveLength(2);
  expect(read("docs/tutorial.md")).toContain(["stay  sliced", ...reads, ...writes].join("\n"));
});
