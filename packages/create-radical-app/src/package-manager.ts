/** The package managers that an application can be made for: their words, and the files that they need. */
import { runProgram, type ProgramOptions } from "./program.ts";
import { ScaffoldError } from "./scaffold-error.ts";

export const PACKAGE_MANAGERS = ["npm", "pnpm", "yarn", "bun"] as const;
export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

/** Throws a ScaffoldError for a name of none. */
export function packageManagerOf(name: string): PackageManager {
  const found = PACKAGE_MANAGERS.find((candidate) => candidate === name);
  if (found !== undefined) return found;
  throw new ScaffoldError(
    `The package manager "${name}" is not supported.`,
    `--pm takes one of ${PACKAGE_MANAGERS.join(", ")}`,
  );
}

/** The one that has started this command, by the text in which each names itself: `pnpm/12.21.0 npm/? node/v24.21.0 linux x64`. */
export function startedBy(userAgent: string | undefined): PackageManager {
  const name = userAgent?.split("/")[0];
  return PACKAGE_MANAGERS.find((candidate) => candidate === name) ?? "npm";
}

/** Throws a ScaffoldError if it is not on this machine. */
export async function versionOf(manager: PackageManager, { signal }: ProgramOptions): Promise<string> {
  const { code, output } = await runProgram(manager, ["--version"], { signal });
  const version = output.trim().split("\n").at(-1) ?? "";
  if (code === 0 && /^\d+\./.test(version)) return version;
  throw new ScaffoldError(
    code === null ? `${manager} is not installed.` : `${manager} --version failed: ${output.trim()}`,
    `Install ${manager}, or choose another package manager with --pm.`,
  );
}

/** The least Node that an application runs with. */
export const LEAST_NODE_MAJOR = 24;

/** Whether an application runs with this Node; else it brings one. `version`: without the `v`. */
export function isLateNode(version: string): boolean {
  return Number.parseInt(version, 10) >= LEAST_NODE_MAJOR;
}

/** Throws a ScaffoldError if the scripts of an application can't run here. `node`: the version of this process, without the `v`. */
export function checkNode(manager: PackageManager, node: string): void {
  if (manager !== "yarn" || isLateNode(node)) return;
  throw new ScaffoldError(
    `Yarn runs scripts with its own Node, which is ${node} here, and Radical needs Node ${LEAST_NODE_MAJOR}.`,
    `Start Yarn with Node ${LEAST_NODE_MAJOR} or later. Or choose npm, pnpm or bun with --pm: they run the Node that the application brings.`,
  );
}

const INSTALL: Readonly<Record<PackageManager, readonly string[]>> = {
  npm: ["install", "--no-audit", "--no-fund", "--loglevel=error"],
  pnpm: ["install"],
  yarn: ["install"],
  bun: ["install"],
};

/** Runs the installation, and shows its output only if it fails. */
export async function install(manager: PackageManager, directory: string, { signal }: ProgramOptions): Promise<void> {
  const { code, output } = await runProgram(manager, INSTALL[manager], { cwd: directory, signal });
  if (code === 0) return;
  throw new ScaffoldError(
    code === null ? `${manager} is not installed.` : `${manager} install failed:\n${output.trim()}`,
    `The application is in ${directory}: repeat \`${manager} install\` there.`,
  );
}

/** Packages whose install scripts must run: they fetch or check the binary of the platform. */
const BUILT_PACKAGES: readonly string[] = ["esbuild", "node", "workerd"];

/** The words of npm in texts of the templates, and those of the others. */
const WORDS: Readonly<Record<Exclude<PackageManager, "npm">, readonly (readonly [npm: string, other: string])[]>> = {
  pnpm: [
    ["npm", "pnpm"],
    ["npx", "pnpm exec"],
  ],
  yarn: [
    ["npm", "yarn"],
    ["npx", "yarn run"],
  ],
  bun: [
    // `bun test` is another command.
    ["npm test", "bun run test"],
    ["npm", "bun"],
    ["npx", "bun run"],
  ],
};

/** A text of a template, with its commands as the package manager has them. */
export function inWordsOf(manager: PackageManager, text: string): string {
  if (manager === "npm") return text;
  let changed = text;
  for (const [from, to] of WORDS[manager])
    changed = changed.replaceAll(new RegExp(String.raw`(?<![\w/.-])${from}\b(?!\.)`, "g"), to);
  return changed;
}

/** Files of the application's that only this package manager reads, by path. */
export function filesFor(manager: PackageManager): Readonly<Record<string, string>> {
  switch (manager) {
    case "npm":
    case "bun":
      return {};
    case "pnpm":
      return {
        "pnpm-workspace.yaml": [
          "packages:",
          "  - .",
          "# Install scripts that may run: pnpm 11 and later read the map, pnpm 10 reads the list.",
          "allowBuilds:",
          ...BUILT_PACKAGES.map((name) => `  ${name}: true`),
          "onlyBuiltDependencies:",
          ...BUILT_PACKAGES.map((name) => `  - ${name}`),
          "",
        ].join("\n"),
      };
    case "yarn":
      // For Yarn 2 and later: the compiler reads the files of packages.
      return { ".yarnrc.yml": "nodeLinker: node-modules\n" };
  }
}

/** Fields of package.json that only this package manager reads. */
export function fieldsFor(manager: PackageManager, version: string | null): Readonly<Record<string, unknown>> {
  switch (manager) {
    case "npm":
    case "pnpm":
      return {};
    case "yarn":
      return {
        ...(version === null || isClassic(version) ? {} : { packageManager: `yarn@${version}` }),
        dependenciesMeta: Object.fromEntries(BUILT_PACKAGES.map((name) => [name, { built: true }])),
      };
    case "bun":
      return { trustedDependencies: BUILT_PACKAGES };
  }
}

/** Packages that npm, pnpm and bun install by themselves, as others ask for them. */
export function peersFor(manager: PackageManager): Readonly<Record<string, string>> {
  return manager === "yarn" ? { vite: "8.3.8" } : {};
}

/** Yarn 1. */
function isClassic(version: string): boolean {
  return version.startsWith("1.") || version.startsWith("0.");
}

/** The steps of a CI job that get the package manager, Node and the dependencies. */
export function ciSteps(manager: PackageManager, version: string | null): readonly string[] {
  const major = version?.split(".")[0];
  const node = (cache: string): readonly string[] => [
    "- uses: actions/setup-node@249970729cb0ef3589644e2896645e5dc5ba9c38 # v6.5.0",
    "  with:",
    "    node-version: 24",
    `    cache: ${cache}`,
  ];
  switch (manager) {
    case "npm":
      return [...node("npm"), "- run: npm ci"];
    case "pnpm":
      return [
        "- uses: pnpm/action-setup@fe02b34f77f8bc703788d5817da081398fad5dd2 # v4.0.0",
        "  with:",
        `    version: ${major ?? "latest"}`,
        ...node("pnpm"),
        "- run: pnpm install --frozen-lockfile",
      ];
    case "yarn":
      return version === null || isClassic(version)
        ? [...node("yarn"), "- run: yarn install --frozen-lockfile"]
        : ["- run: corepack enable", ...node("yarn"), "- run: yarn install --immutable"];
    case "bun":
      return [
        "- uses: oven-sh/setup-bun@0c5077e51419868618aeaa5fe8019c62421857d6 # v2.2.0",
        "  with:",
        `    bun-version: ${version ?? "latest"}`,
        "- uses: actions/setup-node@249970729cb0ef3589644e2896645e5dc5ba9c38 # v6.5.0",
        "  with:",
        "    node-version: 24",
        "- run: bun install --frozen-lockfile",
      ];
  }
}
