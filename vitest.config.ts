import { availableParallelism } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { shortTier } from "./packages/command-line/src/short-tier.ts";

// Tests run against the sources of the workspace: the condition `source` of each package's exports. Threads and
// processes that a test starts from its own process inherit it through execArgv.
const source = ["source"];
const fromSource = {
  resolve: { conditions: source },
  ssr: { resolve: { conditions: source, externalConditions: source } },
};
const execArgv = ["--conditions=source"];

// Node keeps compiled code, by content, for all test processes and those that they start: half of a start.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/node-compile", import.meta.url));
const exclude = ["**/node_modules/**", "**/dist/**", ...(shortTier()?.leftOut ?? [])];
/** Tells how long each file takes. */
const setupFiles = ["scripts/test-times.setup.ts"];

/** Files that take long for their size. */
const LONG =
  /(random-programs-\d|traps|unions|derive|crash|process|dev|deploy|deploy-aws|packed-app|operate|takeover|execution|pages|differential|failures)(\.e2e)?\.test\.ts$/;
/** Files that keep all cores busy by themselves. */
const THREADED = /(mutation|simulation)\.test\.ts$/;

/** So that no core is without work at the end: long files first, and last those that spread over all cores. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number =>
      LONG.test(moduleId) ? 0 : THREADED.test(moduleId) ? 2 : 1;
    // oxlint-disable-next-line unicorn/no-array-sort -- it is no array that sorts
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      {
        ...fromSource,
        test: {
          name: "unit",
          setupFiles,
          // By default one core is left alone, also of two.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          // They start nothing that outlives them, so that the compiler is loaded once for all files of a worker.
          isolate: false,
          include: ["packages/*/src/**/*.test.ts", "scripts/*.test.ts", "scripts/{demo,docs,evaluation}/*.test.ts"],
          exclude,
          // The compiler and the analyzer make much that does not live long: a tenth less processor time.
          execArgv: [...execArgv, "--min-semi-space-size=16", "--max-semi-space-size=64"],
          // A machine that does something else besides may take ten times as long.
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        ...fromSource,
        test: {
          // Real processes and ports, which wait for each other as often as they work.
          name: "e2e",
          setupFiles,
          globalSetup: "scripts/compile-cache.ts",
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          include: [
            "packages/*/e2e/**/*.e2e.test.ts",
            "{templates,docs/examples}/*/tests/**/*.test.ts",
            "scripts/e2e/**/*.e2e.test.ts",
          ],
          exclude,
          execArgv,
          testTimeout: 300_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
