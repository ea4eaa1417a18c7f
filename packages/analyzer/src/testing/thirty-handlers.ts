/**
 * For benchmarks: an application of 30 handlers in several files, made of those in `fixtures/`: a social network, hotels
 * and a forum, 17 handlers, and 13 of the collection of constructs.
 */
import { fixture } from "./fixtures.ts";

const CONSTRUCTS = 13;

/** Files by path. */
export function thirtyHandlers(): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const name of ["social", "hotel", "forum", "constructs"]) {
    for (const [path, text] of Object.entries(fixture(name))) {
      if (name === "constructs" && path.startsWith("handlers/") && path !== "handlers/constructs.ts") continue;
      files[path.replace(/^lib\//, `lib/${name}/`)] = text.replaceAll('"../lib/', `"../lib/${name}/`);
    }
  }
  let exported = 0;
  const rest = files["handlers/constructs.ts"]!;
  // What is not exported is no handler: clients can't call it, and it is not compiled.
  files["handlers/constructs.ts"] = rest.replaceAll(/^export function/gm, (match) =>
    exported++ < CONSTRUCTS ? match : "function",
  );
  return files;
}
