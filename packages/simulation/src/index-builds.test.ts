import { expect, test } from "vitest";
import { simulateIndexBuilds } from "./index-builds.ts";

test(
  "while an index is built, dropped and built again, an entry exists exactly if its item has the fields",
  { timeout: 300_000 },
  () => {
    for (let seed = 1; seed <= 150; seed++) {
      const { problems } = simulateIndexBuilds({ seed });
      expect({ seed, problems }).toEqual({ seed, problems: [] });
    }
  },
);
