import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    // Starting the application takes a few seconds.
    hookTimeout: 120_000,
    testTimeout: 30_000,
  },
});
