import { defineConfig } from "vitest/config";

// Tests run against the sources of the workspace: the condition `source` of each package's exports. Threads and
// processes that a test starts from its own process inherit it through execArgv.
const source = ["source"];
const fromSource = {
  resolve: { conditions: source },
  ssr: { resolve: { conditions: source, externalConditions: source } },
};
const execArgv = ["--conditions=source"];
const exclude = ["**/node_modules/**", "**/dist/**"];

export default defineConfig({
  test: {
    projects: [
      {
        ...fromSource,
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "scripts/*.test.ts", "scripts/demo/*.test.ts"],
          exclude,
          execArgv,
          testTimeout: 20_000,
        },
      },
      {
        ...fromSource,
        test: {
          // Real processes and ports: one file after the other, so that two cores are enough.
          name: "e2e",
          include: [
            "packages/*/e2e/**/*.e2e.test.ts",
            "templates/*/tests/**/*.test.ts",
            "scripts/e2e/**/*.e2e.test.ts",
          ],
          exclude,
          execArgv,
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
