/** The name of a new application: that of its folder, its package and, in `radical.config.ts`, its caches. */
import { basename, resolve } from "node:path";

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

/** The name that a target folder gives. */
export function appNameOf(directory: string): string {
  return basename(resolve(directory));
}

/** Why the name can't be used, or null. */
export function problemOfName(name: string): string | null {
  if (NAME.test(name)) return null;
  return `"${name}" is not a valid application name: use 1 to 63 lowercase letters, digits and dashes, a letter first`;
}
