/** For tests: the applications in `fixtures/`. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../../fixtures/", import.meta.url));

/** The files of one application by path, without its golden outputs. */
export function fixture(name: string): Record<string, string> {
  const folder = join(FOLDER, name);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.parentPath.endsWith("golden"),
  );
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(folder, path).replaceAll("\\", "/"), readFileSync(path, "utf8")];
    }),
  );
}

/** Where the expected read/write-set function of a handler is. */
export function golden(name: string, handler: string): string {
  return join(FOLDER, name, "golden", `${handler}.rw.ts`);
}

/** The applications and what they are explored with. */
export const APPLICATIONS = [
  {
    name: "social",
    strings: ["ann", "bob", "ann-0", "c"],
    integers: [0, 1, 2, 3],
  },
  { name: "hotel", strings: ["a", "b", "r0", "0_0"], integers: [0, 1, 2, 3] },
  {
    name: "forum",
    strings: ["a", "b", "front", "ua"],
    integers: [0, 1, 2, 5],
  },
  {
    name: "constructs",
    strings: ["a", "b", "y", "two"],
    integers: [0, 1, 2, 3, 4, 5, 6, 7],
  },
  { name: "dispatch", strings: ["a", "b", "y", "two"], integers: [0, 1, 2, 3, 4] },
  {
    name: "start",
    strings: ["a", "b", "configuration"],
    integers: [0, 1, 2, 3],
  },
] as const;
