/** The least level that handlers log, as a file of the SDK: calls below it are compiled to nothing but their arguments. */
import { LEAST_LEVELS, type LeastLevel } from "@radical/protocol";
import type { SourceFile } from "../diagnostics/diagnostic.ts";

const FILE = "log-level.ts";

/** The files of the SDK by path, with this level. */
export function sdkWithLevel(sdk: readonly SourceFile[], least: LeastLevel): ReadonlyMap<string, string> {
  const files = new Map(sdk.map(({ path, text }) => [path, text]));
  return files.set(FILE, `export const LEAST_LEVEL: i32 = ${LEAST_LEVELS.indexOf(least)};\n`);
}
