/** The handlers that the project's documents show are handlers that build. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { buildApplication } from "./index.ts";
import { buildInput } from "./testing/library.ts";

const root = new URL("../../../", import.meta.url);

test.each(["README.md", "docs/handlers.md", "templates/social/AGENTS.md", "templates/minimal/AGENTS.md"])(
  "the handlers of %s",
  async (path) => {
    const text = readFileSync(new URL(path, root), "utf8");
    const examples = [...text.matchAll(/^```ts\n(.*?)^```/gms)].flatMap(([, code]) =>
      code?.includes('from "@radical/sdk"') === true ? [code] : [],
    );
    expect(examples).not.toEqual([]);
    for (const code of examples) {
      const result = await buildApplication({ ...buildInput({ "handlers/example.ts": code }), optimize: false });
      expect(result.diagnostics).toEqual([]);
      // What is not sliced says so by a tag.
      expect(result.handlers.filter(({ plan }) => plan.kind === "recorded")).toEqual([]);
    }
  },
);
