/**
 * For benchmarks: an application of 30 handlers in several files, made of those in `fixtures/`. They are a social network,
 * hotels and a forum, and as many of the collection of constructs as are missing.
 */
import { fixture } from "./fixtures.ts";

const HANDLERS = 30;
const HANDLER = /^export function/gm;

/** Files by path. */
export function thirtyHandlers(): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const name of ["social", "hotel", "forum", "constructs"]) {
    for (const [path, text] of Object.entries(fixture(name))) {
      if (name === "constructs" && path.startsWith("handlers/") && path !== "handlers/constructs.ts") continue;
      files[path.replace(/^lib\//, `lib/${name}/`)] = text.replaceAll('"../lib/', `"../lib/${name}/`);
    }
  }
  const { "handlers/constructs.ts": rest = "", ...others } = files;
  let exported = Object.entries(others)
    .filter(([path]) => path.startsWith("handlers/"))
    .reduce((sum, [, text]) => sum + (text.match(HANDLER)?.length ?? 0), 0);
  // A function that is not exported is not a handler: clients can't call it, and it is not compiled.
  files["handlers/constructs.ts"] = rest.replaceAll(HANDLER, (match) => (exported++ < HANDLERS ? match : "function"));
  return files;
}
