/** The handlers that the project's documents show are handlers that build. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { buildApplication } from "./index.ts";
import { buildInput } from "./testing/library.ts";

const root = new URL("../../../", import.meta.url);

test.each([
  "README.md",
  "docs/handlers.md",
  "docs/language.md",
  "docs/how-to/auth.md",
  "docs/how-to/log.md",
  "docs/how-to/tables.md",
  "docs/how-to/shared-objects.md",
  "docs/how-to/blobs.md",
  "docs/worker.md",
  "docs/analysis.md",
  "templates/minimal/AGENTS.md",
])("the handlers of %s", async (path) => {
  const text = readFileSync(new URL(path, root), "utf8");
  const examples = [...text.matchAll(/^```ts\n(.*?)^```/gms)].flatMap(([, code]) =>
    code?.includes('from "@radical/sdk"') === true ? [code] : [],
  );
  expect(examples).not.toEqual([]);
  for (const code of examples) {
    const result = await buildApplication({ ...buildInput({ "handlers/example.ts": code }), optimize: false });
    // Where a transformation is refused, a diagnostic names the expensive part that stays.
    expect(result.diagnostics.filter(({ code: name }) => name !== "expensive_read_write_set")).toEqual([]);
    // Each handler that is not sliced has a tag.
    expect(result.handlers.filter(({ plan }) => plan.kind === "recorded")).toEqual([]);
  }
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
