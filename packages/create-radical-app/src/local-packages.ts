/**
 * Packages from a folder of tarballs in place of the registry, as `npm pack` writes them: for trying a version that
 * is not published. The application's own dependencies point at the files, and overrides make the packages among
 * themselves do so too.
 */
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { PackageManager } from "./package-manager.ts";
import { ScaffoldError } from "./scaffold-error.ts";

/** Path of the tarball by package name. */
export type LocalPackages = ReadonlyMap<string, string>;

/** An application depends on it once it is deployed. npm refuses a direct dependency that an override names otherwise. */
const OPTIONAL = "@radical/deploy";

const TARBALL = /^(radical-[a-z-]+?)-\d+\.\d+\.\d+.*\.tgz$/;

/** Throws a ScaffoldError if there are none. */
export async function findLocalPackages(folder: string): Promise<LocalPackages> {
  const found = new Map<string, string>();
  for (const file of await readdir(folder).catch(() => [])) {
    const match = TARBALL.exec(file);
    // npm writes @radical/cli as radical-cli.
    if (match?.[1] !== undefined)
      found.set(`@radical/${match[1].slice("radical-".length)}`, resolve(join(folder, file)));
  }
  if (found.size === 0)
    throw new ScaffoldError(
      `The folder ${folder} has no packed @radical packages.`,
      "Fill it with `pnpm run pack:all`.",
    );
  return found;
}

export interface PackageJson {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Makes packages take these tarballs for the packages that they ask for among themselves. */
export interface Overriding {
  /** Fields of package.json. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Lines of `pnpm-workspace.yaml`. */
  readonly workspace: readonly string[];
}

/** The package.json of the application with the packages in place. */
export function withLocalPackages<T extends PackageJson>(manifest: T, packages: LocalPackages): T {
  const replace = (group: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(group).map(([name, wanted]) => [name, specOf(packages, name) ?? wanted]));
  return {
    ...manifest,
    dependencies: replace(manifest.dependencies),
    devDependencies: replace(manifest.devDependencies),
  };
}

/** `manifest`: with the packages in place. */
export function overriding(manager: PackageManager, manifest: PackageJson, packages: LocalPackages): Overriding {
  const names = [...packages.keys()].filter((name) => name !== OPTIONAL);
  const specs = Object.fromEntries(names.map((name) => [name, specOf(packages, name) ?? ""]));
  switch (manager) {
    case "npm": {
      // npm refuses an override that differs from a direct dependency's own spec; `$name` means that spec.
      const direct = { ...manifest.dependencies, ...manifest.devDependencies };
      const overrides = names.map((name) => [name, name in direct ? `$${name}` : specs[name]] as const);
      return { fields: { overrides: Object.fromEntries(overrides) }, workspace: [] };
    }
    case "pnpm": {
      const lines = names.map((name) => `  ${JSON.stringify(name)}: ${JSON.stringify(specs[name])}`);
      return { fields: {}, workspace: ["overrides:", ...lines] };
    }
    case "yarn":
      return { fields: { resolutions: specs }, workspace: [] };
    case "bun":
      return { fields: { overrides: specs }, workspace: [] };
  }
}

function specOf(packages: LocalPackages, name: string): string | undefined {
  const path = packages.get(name);
  return path === undefined ? undefined : `file:${path}`;
}
