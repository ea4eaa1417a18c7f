/**
 * The Node that runs a language server: the one that is set or installed, if it is new enough. The editor's own takes the
 * place of an older one.
 */
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";

/** Of Node, as `radical` wants it. */
const LEAST_MAJOR = 24;

export type Runtime =
  | { readonly kind: "found"; readonly command: string; readonly env: Readonly<Record<string, string>> }
  /** The sentence is for the developer. */
  | { readonly kind: "missing"; readonly words: string };

/** `own`: version and path of the Node that the editor brings. */
export async function runtimeOf(
  node: string,
  own: { readonly version: string; readonly path: string } = { version: process.version, path: process.execPath },
): Promise<Runtime> {
  const version = await versionOf(node);
  if (version !== null && majorOf(version) >= LEAST_MAJOR) return { kind: "found", command: node, env: {} };
  // A desktop editor is Electron, which is Node if it is told so.
  if (majorOf(own.version) >= LEAST_MAJOR)
    return { kind: "found", command: own.path, env: { ELECTRON_RUN_AS_NODE: "1" } };
  const found = version === null ? `\`${node}\` does not start` : `\`${node}\` is ${version}`;
  return {
    kind: "missing",
    words: `Radical needs Node ${LEAST_MAJOR} or later, and ${found}. Add the development dependency node@${LEAST_MAJOR} to the application, or name another Node in the setting radical.node.`,
  };
}

/** As Node prints it; null: it does not run. */
async function versionOf(node: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(node, ["--version"]);
    return stdout.trim();
  } catch {
    return null;
  }
}

function majorOf(version: string): number {
  return Number(/^v(\d+)\./.exec(version)?.[1] ?? 0);
}
