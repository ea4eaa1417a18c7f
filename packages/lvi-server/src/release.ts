/** The release that this server is of: the version of its package. */
import { readFileSync } from "node:fs";

export const RELEASE: string = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { readonly version: string }
).version;
