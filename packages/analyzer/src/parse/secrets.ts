/** `Secret` of the SDK: a text, by another name. */
import type { as } from "./assemblyscript.ts";
import { withoutAliases, type WrittenType } from "./written-types.ts";

const SECRET = "~lib/@radical/sdk/index/Secret";

/** Whether a type is written as `Secret`, or as a name for it, with `| null` or without. */
export function isSecret(program: as.Program, written: WrittenType): boolean {
  const names = new Set<as.Element>();
  withoutAliases(program, written, names);
  return [...names].some(({ internalName }) => internalName === SECRET);
}
