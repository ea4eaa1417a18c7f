/**
 * The language server of an application is that of its own installation of Radical, so that the editor says what the build
 * says. Applications of one installation share a server.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The command `radical` that an application has installed. */
export interface Install {
  /** Absolute path of the JavaScript that Node runs. */
  readonly main: string;
  /** The Node that the application depends on, or the one on the PATH. */
  readonly node: string;
}

export interface Server extends Install {
  /** Absolute paths of its applications. */
  readonly applications: readonly string[];
}

export interface Servers {
  readonly servers: readonly Server[];
  /** Applications without an installation. */
  readonly missing: readonly string[];
}

/** `node`: the path that the developer has set. */
export function serversOf(applications: readonly string[], node: string | null): Servers {
  const servers = new Map<string, Server>();
  const missing: string[] = [];
  for (const application of applications) {
    const main = mainOf(application);
    if (main === null) {
      missing.push(application);
      continue;
    }
    const known = servers.get(main);
    servers.set(main, {
      main,
      node: known?.node ?? node ?? nodeOf(application),
      applications: [...(known?.applications ?? []), application],
    });
  }
  return { servers: [...servers.values()], missing };
}

/** Of a language server: behind the path of Node. */
export function argumentsOf({ main }: Install): readonly string[] {
  return [main, "lsp", "--stdio"];
}

function mainOf(application: string): string | null {
  const folder = installed(application, "@radical/cli");
  if (folder === null) return null;
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly bin?: { readonly radical?: string };
  };
  const main = bin?.radical === undefined ? null : join(folder, bin.radical);
  return main !== null && existsSync(main) ? main : null;
}

function nodeOf(application: string): string {
  const folder = installed(application, "node");
  const node = folder === null ? null : join(folder, "bin", "node");
  return node !== null && existsSync(node) ? node : "node";
}

/** The folder of a package, as Node looks for it; null: it is not installed. */
function installed(from: string, name: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return found;
    if (folder === dirname(folder)) return null;
  }
}
